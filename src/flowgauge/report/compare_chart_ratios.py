"""How metrics moved: candidate by baseline with its interval, over the band of the tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flowgauge.model.verdict import Comparison, MetricVerdict
from flowgauge.report import words
from flowgauge.report.charts import INK, LINE, SECOND, Spec, beside, chart, label_chars, labels_of, layer, rows_axis, tones
from flowgauge.report.compare_tables import ranked_metrics
from flowgauge.report.compare_words import VERDICTS, by_direction, change

MOST_METRICS = 24
_LEAST_SPAN = 0.12
"""The axis shows at least this much on either side of one."""
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_FACTORS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)


def ratio_chart(comparison: Comparison, width: int) -> Spec | None:
    """One row a metric; None where no ratio is known."""
    ranked = ranked_metrics(comparison)
    placed = [metric for metric in ranked if metric.ratio is not None and 0 < metric.ratio < math.inf][:MOST_METRICS]
    if not placed:
        return None
    labels = labels_of([metric.metric for metric in placed], label_chars(width))
    edge = _edge(placed)
    values = [_value(metric, f"{labels[metric.metric]} {by_direction(metric.direction)}", edge) for metric in placed]
    room = beside(labels.values(), width)
    body = {
        "width": room,
        "height": {"step": 50},
        "data": {"values": values},
        "encoding": {"y": rows_axis("metric", [value["metric"] for value in values])},
        "layer": _layers(edge, room),
    }
    told = ["Dot: candidate by baseline. Line: 95 % interval. Grey band: the tolerance. ↓ lower is better, ↑ higher is better."]
    missing = [metric.metric for metric in ranked if metric not in placed]
    return chart("How metrics moved", told + ([f"Not placed: {words.one_line(', '.join(missing), 90)}."] if missing else []), body)


def _layers(edge: float, width: int) -> list[Spec]:
    axis = {"labelExpr": "(datum.value > 1 ? '+' : '') + format(datum.value - 1, ',.0%')", "values": _ticks(edge, width)}
    x = {"type": "quantitative", "scale": {"type": "log", "domain": [1 / edge, edge], "nice": False}, "title": None, "axis": axis}
    colour = tones("tone")
    band = {"type": "bar", "color": LINE, "opacity": 0.55, "height": 26}
    one = {"type": "rule", "color": SECOND, "strokeDash": [4, 3]}
    line = {"type": "rule", "strokeWidth": 5, "opacity": 0.4, "strokeCap": "round"}
    return [
        layer(band, {"x": {"field": "inside", **x}, "x2": {"field": "outside"}}),
        layer(one, {"x": {"field": "one", **x}, "y": None}, data={"values": [{"one": 1}]}),
        layer(line, {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour}),
        layer({"type": "point", "filled": True, "size": 110, "opacity": 1}, {"x": {"field": "ratio", **x}, "color": colour}),
        layer({"type": "text", "dy": -15, "color": INK, "fontSize": 12}, {"x": {"field": "ratio", **x}, "text": {"field": "text"}}),
    ]


def _edge(placed: Sequence[MetricVerdict]) -> float:
    """How far the axis reaches, up and down alike: all ratios and tolerances, and intervals as far as they are worth it."""
    widest = max(_LEAST_SPAN, *(max(abs(math.log(metric.ratio or 1.0)) * 1.6, metric.tolerance * 1.4) for metric in placed))
    bounds = [bound for metric in placed if metric.interval for bound in (metric.interval.low, metric.interval.high)]
    reach = max((abs(math.log(bound)) for bound in bounds if 0 < bound < math.inf), default=0.0) * 1.08
    return math.exp(max(widest, min(widest * 2.5, reach)))


def _ticks(edge: float, width: int) -> list[float]:
    """Round changes within the axis, no more than fit."""
    fit = max(1, width // 150)
    step = next((step for step in _STEPS if (edge - 1) / step <= fit + 0.5), None)
    if step is None:
        factors = [factor for factor in _FACTORS if factor <= edge] or [edge]
        kept = factors[:: -(-len(factors) // fit)]
        return [*(1 / factor for factor in reversed(kept)), 1.0, *kept]
    count = max(1, int((edge - 1) / step))
    return [round(1 + step * index, 4) for index in range(-count, count + 1) if 1 + step * index >= 1 / edge]


def _value(metric: MetricVerdict, label: str, edge: float) -> Spec:
    ratio = metric.ratio or 1.0
    ends = (metric.interval.low, metric.interval.high) if metric.interval else (ratio, ratio)
    places = {"ratio": ratio, "low": ends[0], "high": ends[1], "inside": 1 - metric.tolerance, "outside": 1 + metric.tolerance}
    return {
        "metric": label,
        "tone": VERDICTS[metric.verdict],
        "text": f"{change(ratio - 1)} {metric.verdict}",
        **{name: min(edge, max(1 / edge, place)) for name, place in places.items()},
    }
