"""Samples of both sides of one metric over each other: curves where there are many, steps where there are few."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flowgauge.model.verdict import MetricVerdict
from flowgauge.report import words
from flowgauge.report.charts import ACCENT, BINS, SECOND, Spec, chart, density, layer
from flowgauge.report.compare_words import amount, scale_ms
from flowgauge.report.value_axis import value_axis

FEW_SAMPLES = 30
"""A side; below, a curve would show more than is known."""
_SIDES = ("candidate", "baseline")


def spread_chart(metric: MetricVerdict, candidate: Sequence[float], baseline: Sequence[float], width: int) -> Spec | None:
    """How the samples of the candidate lie against those of the baseline; None where one side has none, or all are alike."""
    sides = {"candidate": _drawn(metric, candidate), "baseline": _drawn(metric, baseline)}
    if not all(sides.values()):
        return None
    low, high = min(map(min, sides.values())), max(map(max, sides.values()))
    if low == high:
        return None
    many = min(map(len, sides.values())) >= FEW_SAMPLES
    log = low > 0 and high / low > 30
    curves = {
        side: _curve(samples, *_widened(low, high, log=log), log=log) if many else _steps(samples, low, high)
        for side, samples in sides.items()
    }
    values = [{"side": side, "at": at, "height": height} for side, curve in curves.items() for at, height in curve]
    medians = [{"side": side, "middle": _median(samples)} for side, samples in sides.items()]
    x = {
        "type": "quantitative",
        "title": None,
        "axis": value_axis(metric.unit, max(3, width // 120)),
        "scale": {"type": "log"} if log else {"zero": False, "nice": True},
    }
    body = {"width": width, "height": 130, "data": {"values": values}, "layer": _layers(x, medians, many=many)}
    return chart(words.one_line(metric.metric, 60), _told(metric, sides, many=many), body)


def _layers(x: Spec, medians: list[Spec], *, many: bool) -> list[Spec]:
    y: Spec = {"field": "height", "type": "quantitative", "title": None, "stack": None, "scale": {"domain": [0, 1.05 if many else 1]}}
    y["axis"] = None if many else {"format": "%", "tickCount": 3}
    colour = {"field": "side", "type": "nominal", "legend": None, "scale": {"domain": list(_SIDES), "range": [ACCENT, SECOND]}}
    dash = {"field": "side", "type": "nominal", "legend": None, "scale": {"domain": list(_SIDES), "range": [[1, 0], [4, 3]]}}
    area: Spec = {"type": "area", "opacity": 0.4, "line": True, "interpolate": "monotone"}
    line: Spec = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}
    rule = {"x": {"field": "middle", **x}, "color": colour, "strokeDash": dash}
    return [
        layer(area if many else line, {"x": {"field": "at", **x}, "y": y, "color": colour}),
        layer({"type": "rule", "strokeWidth": 2}, rule, data={"values": medians}),
    ]


def _told(metric: MetricVerdict, sides: dict[str, list[float]], *, many: bool) -> str:
    mine, theirs = (amount(_median(samples) / scale_ms(metric.unit), metric.unit) for samples in sides.values())
    how = "how common a value is" if many else "which share of the samples is no higher"
    counts = [f"{len(samples):,}" for samples in sides.values()]
    return f"Blue: candidate ({counts[0]} samples), grey: baseline ({counts[1]}). Height: {how}. Lines: medians, {mine} and {theirs}."


def _drawn(metric: MetricVerdict, samples: Sequence[float]) -> list[float]:
    """Finite, in order; times in ms, so that the axis can name them."""
    scale = scale_ms(metric.unit)
    return sorted(sample * scale for sample in samples if math.isfinite(sample))


def _widened(low: float, high: float, *, log: bool) -> tuple[float, float]:
    """A little more on both sides, so that a curve can come down; what is never negative does not become so."""
    if log:
        return low / (high / low) ** 0.08, high * (high / low) ** 0.08
    more = 0.08 * (high - low)
    return (low - more if low < 0 else max(0.0, low - more)), high + more


def _curve(ordered: Sequence[float], low: float, high: float, *, log: bool) -> list[tuple[float, float]]:
    """By Silverman's rule of thumb (Density Estimation, 1986, 3.31): the fewer samples, the smoother."""
    scale = math.log if log else float
    quarter = len(ordered) // 4
    spread = (scale(ordered[-1 - quarter]) - scale(ordered[quarter])) / 1.34
    bins = 0.9 * spread * len(ordered) ** -0.2 * BINS / (scale(high) - scale(low))
    return density(ordered, low, high, log=log, blur_bins=min(BINS / 8, max(1.5, bins)))


def _steps(ordered: Sequence[float], low: float, high: float) -> list[tuple[float, float]]:
    return [(low, 0.0), *((value, (index + 1) / len(ordered)) for index, value in enumerate(ordered)), (high, 1.0)]


def _median(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
