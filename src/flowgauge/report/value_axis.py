"""The axis of a metric's values, in the words of its unit."""

from __future__ import annotations

from flowgauge.report.charts import DURATION_LABEL, Spec
from flowgauge.report.compare_words import kind_of

_LABELS = {"time": DURATION_LABEL, "money": "'$' + format(datum.value, '~g')"}


def value_axis(unit: str, ticks: int = 5) -> Spec:
    """Times are expected in ms; a unit that people named is never part of an expression."""
    label = _LABELS.get(kind_of(unit))
    axis: Spec = {"tickCount": ticks, "labelOverlap": True}
    return {**axis, "labelExpr": label} if label else axis
