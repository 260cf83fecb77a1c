"""A trend as Vega-Lite: a line with its intervals; steps are marked, drifts are shaded.

Labels that people chose are only ever data, never part of an expression.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from flowgauge.model.verdict import ChangePoint, Trend, TrendPoint
from flowgauge.report import words
from flowgauge.report.charts import ACCENT, INK, Spec, chart, layer, tones
from flowgauge.report.compare_words import change, scale_ms
from flowgauge.report.value_axis import value_axis

HEIGHT = 240
_TICK_CHARS = 12


def trend_charts(trends: Sequence[Trend], *, width: int = 620) -> dict[str, Spec]:
    """One a metric, of those that have a known value."""
    drawn = {f"trend {index}": trend_chart(trend, width) for index, trend in enumerate(trends)}
    return {name: one for name, one in drawn.items() if one is not None}


def trend_chart(trend: Trend, width: int) -> Spec | None:
    """Values from the oldest to the newest, with a gap where one is not known; None where none is."""
    labels = _labels(trend)
    values = [_value(label, one, scale_ms(trend.unit)) for label, one in zip(labels, trend.points, strict=True)]
    ends = [value[name] for value in values for name in ("low", "high") if value[name] is not None]
    if not ends:
        return None
    domain = _domain(min(ends), max(ends), crowded=bool(trend.changes))
    body = {"width": width, "height": HEIGHT, "data": {"values": values}, "layer": _layers(trend, labels, domain, width)}
    title = f"{trend.metric} of {trend.subject}: {trend.trend.replace('_', ' ')}"
    return chart(words.one_line(title, 90), _told(trend), body)


def _value(label: str, one: TrendPoint, scale: float) -> Spec:
    if one.value is None or not math.isfinite(one.value):
        return {"at": label, "value": None, "low": None, "high": None}
    bounds = (one.interval.low, one.interval.high) if one.interval else (one.value, one.value)
    low, high = (bound * scale if math.isfinite(bound) else one.value * scale for bound in bounds)
    return {"at": label, "value": one.value * scale, "low": low, "high": high}


def _domain(low: float, high: float, *, crowded: bool) -> list[float]:
    """A little more than the values need; room above for the words of changes."""
    span = high - low or abs(high) * 0.2 or 1.0
    return [low - 0.08 * span, high + (0.25 if crowded else 0.08) * span]


def _told(trend: Trend) -> str:
    parts = ["Band: 95 % interval." if any(point.interval for point in trend.points) else ""]
    kinds = {one.kind for one in trend.changes}
    parts += [text for kind, text in (("step", "Dashed line: step."), ("drift", "Shaded: drift.")) if kind in kinds]
    return " ".join(filter(None, (*parts, "Red: worse, green: better." if kinds else "")))


def _labels(trend: Trend) -> list[str]:
    """What stands on the axis: different from each other, also where two points are called alike."""
    seen: Counter[str] = Counter()
    labels = []
    for one in trend.points:
        label = words.one_line(one.label, _TICK_CHARS) or words.UNKNOWN
        seen[label] += 1
        labels.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return labels


def _layers(trend: Trend, labels: Sequence[str], domain: Sequence[float], width: int) -> list[Spec]:
    axis = {"labelAngle": 0, "labelOverlap": "greedy", "labelSeparation": 10, "grid": False, "labelLimit": max(60, width // 5)}
    x = {"type": "ordinal", "scale": {"domain": list(labels), "type": "point", "padding": 0.6}, "title": None, "axis": axis}
    y = {"type": "quantitative", "title": None, "scale": {"domain": list(domain), "nice": False}, "axis": value_axis(trend.unit)}
    place, value = {"x": {"field": "at", **x}}, {"field": "value", **y}
    return [
        *_changes(trend, labels, x),
        layer({"type": "area", "color": ACCENT, "opacity": 0.18}, {**place, "y": {"field": "low", **y}, "y2": {"field": "high"}}),
        layer({"type": "line", "color": ACCENT, "strokeWidth": 2}, {**place, "y": value}),
        layer({"type": "point", "filled": True, "color": ACCENT, "size": 40, "opacity": 1}, {**place, "y": value}),
    ]


def _changes(trend: Trend, labels: Sequence[str], x: Spec) -> list[Spec]:
    """Shades for drifts, lines for steps, and the words of both: to the right of their place, or to the left where it is late."""
    found = [_change(one, number, labels) for number, one in enumerate(trend.changes) if 0 <= one.index < len(labels)]
    colour, row = tones("tone"), {"field": "row", "type": "quantitative", "scale": None}
    at = {"x": {"field": "at", **x}}
    said = {**at, "y": row, "text": {"field": "text"}}
    text = {"type": "text", "baseline": "top", "color": INK, "fontSize": 12}

    def those(**wanted: object) -> Spec:
        return {"values": [one for one in found if all(one[name] == value for name, value in wanted.items())]}

    return [
        layer({"type": "rect", "opacity": 0.16}, {**at, "x2": {"field": "until"}, "color": colour}, data=those(kind="drift")),
        layer({"type": "rule", "strokeWidth": 2, "strokeDash": [5, 3]}, {**at, "color": colour}, data=those(kind="step")),
        layer({**text, "align": "left", "dx": 5}, said, data=those(late=False)),
        layer({**text, "align": "right", "dx": -5}, said, data=those(late=True)),
    ]


def _change(one: ChangePoint, number: int, labels: Sequence[str]) -> Spec:
    return {
        "kind": one.kind,
        "at": labels[one.index],
        "until": labels[min(one.index if one.until_index is None else one.until_index, len(labels) - 1)],
        "late": one.index > 0.6 * len(labels),
        "tone": "bad" if one.harmful else "good",
        "text": f"{one.kind} {change(one.change)}",
        "row": 2 + 16 * (number % 3),
    }
