"""What an adapter answered → metrics, or one clear word on why it is none.

Refuses what is no mapping, unknown fields, a direction that is none, values that
are no finite numbers, names and units that are too long or cannot be printed. A bool is 1 or 0. None stands: it could not be measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from flowgauge.model.figure import Metric

MOST_METRICS = 1000
_LONGEST_NAME, _LONGEST_UNIT = 200, 40
_FIELDS = frozenset(Metric.__struct_fields__)


class BadAnswer(Exception):
    """The answer is no set of metrics."""


def metrics_of(answer: Any) -> dict[str, Metric]:
    """Raises BadAnswer with the first thing that is wrong."""
    if not isinstance(answer, Mapping):
        raise BadAnswer(f"run() answered {_kind(answer)}, not a mapping of metrics")
    if len(answer) > MOST_METRICS:
        raise BadAnswer(f"run() answered {len(answer)} metrics; {MOST_METRICS} are the most")
    return {_name(name): _metric(name, given) for name, given in answer.items()}


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise BadAnswer(f"{name!r} is no name of a metric")
    if len(name) > _LONGEST_NAME:
        raise BadAnswer(f"the name of the metric {name[:40]}… has {len(name)} letters; {_LONGEST_NAME} are the most")
    return name


def _metric(name: str, given: Any) -> Metric:
    fields = msgspec.structs.asdict(given) if isinstance(given, Metric) else given
    if not isinstance(fields, Mapping):
        raise BadAnswer(f"metric {name} is {_kind(given)}, not {{value, direction, unit}}")
    unknown = [str(key) for key in fields if key not in _FIELDS]
    if unknown:
        raise BadAnswer(f"metric {name} has an unknown field {unknown[0]!r}; known are {', '.join(sorted(_FIELDS))}")
    try:
        metric = msgspec.convert({**fields, "value": _number(fields.get("value"))}, Metric)
    except msgspec.ValidationError as error:
        raise BadAnswer(f"metric {name} does not fit: {error}") from None
    if len(metric.unit) > _LONGEST_UNIT or not metric.unit.isprintable():
        raise BadAnswer(f"metric {name} has the unit {metric.unit[:_LONGEST_UNIT]!r}: up to {_LONGEST_UNIT} letters that can be printed")
    if not all(map(math.isfinite, _numbers(metric))):
        raise BadAnswer(f"metric {name} is not a finite number")
    return metric


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, bool) else value


def _numbers(metric: Metric) -> Iterator[float]:
    if metric.value is not None:
        yield metric.value
    for samples in metric.samples.values():
        yield from samples


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
