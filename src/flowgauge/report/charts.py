"""Charts of a bench as Vega-Lite: a summary and durations in, plain dicts out.

Every picture (HTML, SVG, PNG) is drawn from these. All data is put in, already
binned, so a chart of 100,000 trials is as small as one of 1,000; names that
people chose are only ever data, never part of an expression.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flowgauge.model.benchmark import BenchSummary, ConfigurationStats
from flowgauge.report import words

Spec = dict[str, Any]
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"

INK, SOFT, LINE, ACCENT, SECOND, BACKGROUND = "#1b1f24", "#59636e", "#d8dee4", "#2f6fde", "#8a94a3", "#fefefe"
GOOD, BAD, WARN = "#1a7f37", "#c62f2f", "#9a6700"
"""Each is used for one purpose only, so a page can give it another colour in the dark."""

TONES = {"bad": BAD, "warn": WARN, "good": GOOD, "": ACCENT, "dim": SECOND}
"""What verdicts look like."""
DURATION_LABEL = "abs(datum.value) >= 1000 ? format(datum.value / 1000, '~g') + ' s' : format(datum.value, '~g') + ' ms'"
"""An axis in ms."""

FEW_SAMPLES = 80
"""Up to here every run is a dot; above, the dots become a curve."""
BINS = 96
LABEL_CHARS = 28

CONFIG: Spec = {
    "background": BACKGROUND,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT, "titleColor": SOFT, "gridColor": LINE, "domainColor": LINE, "tickColor": LINE,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 240,
    },
    "title": {"color": INK, "fontSize": 14, "anchor": "start", "subtitleColor": SOFT, "subtitleFontSize": 12, "offset": 12},
}  # fmt: skip


def bench_charts(summary: BenchSummary, durations_ms: Mapping[str, Sequence[float]], *, width: int = 620) -> dict[str, Spec]:
    """By name, those that there is something to draw for."""
    charts = {
        "success": success_chart(summary, width),
        "latency": latency_chart(summary, durations_ms, width),
        "cost": cost_chart(summary, width),
    }
    return {name: chart for name, chart in charts.items() if chart is not None}


def whole_chart(summary: BenchSummary, durations_ms: Mapping[str, Sequence[float]]) -> Spec:
    """All of them below each other, for a picture file."""
    return stacked(summary.bench.bench_id, bench_charts(summary, durations_ms).values())


def stacked(title: str, charts: Iterable[Spec]) -> Spec:
    """Charts below each other under one title."""
    plain = [{key: value for key, value in one.items() if key not in ("$schema", "config")} for one in charts]
    head = {"text": _short(title), "fontSize": 17, "offset": 16}
    return {"$schema": SCHEMA, "config": CONFIG, "title": head, "padding": 20, "spacing": 36, "vconcat": plain}


def _short(name: str) -> str:
    return words.one_line(name, LABEL_CHARS * 3)


def labels_of(names: Iterable[str], limit: int = LABEL_CHARS, *, keep_end: bool = False) -> dict[str, str]:
    """Short and different from each other, however long the names are."""
    labels: dict[str, str] = {}
    for name in names:
        line = words.one_line(name)
        label = (f"…{line[1 - limit :]}" if keep_end and len(line) > limit else words.cut(line, limit)) or "–"
        taken = sum(other == label or other.startswith(f"{label} (") for other in labels.values())
        labels[name] = f"{label} ({taken + 1})" if taken else label
    return labels


def label_chars(width: int) -> int:
    """How long names beside a plot of this width may be."""
    return max(12, min(LABEL_CHARS, width // 15))


def _labels(configs: Sequence[ConfigurationStats]) -> dict[str, str]:
    return labels_of(config.name for config in configs)


def chart(title: str, subtitle: str | list[str], body: Spec) -> Spec:
    """A whole chart: its title, what to know to read it, and its marks."""
    return {"$schema": SCHEMA, "config": CONFIG, "title": {"text": title, "subtitle": subtitle}, **body}


def tones(field: str) -> Spec:
    """Colour by tone."""
    return {"field": field, "type": "nominal", "legend": None, "scale": {"domain": list(TONES), "range": list(TONES.values())}}


def layer(mark: Spec, encoding: Spec, **more: object) -> Spec:
    """One kind of mark over the same axes as the others."""
    return {"mark": mark, "encoding": encoding, **more}


def beside(labels: Iterable[str], width: int) -> int:
    """What is left for the plot where names stand to the left of it."""
    longest = max(map(len, labels), default=0)
    return max(width // 2, width + 40 - min(longest, LABEL_CHARS) * 7)


def rows_axis(field: str, order: Sequence[str]) -> Spec:
    """One row a name, in the order given."""
    return {
        "field": field,
        "type": "nominal",
        "sort": list(order),
        "title": None,
        "axis": {"ticks": False, "domain": False, "labelPadding": 8, "labelColor": INK},
    }


def success_chart(summary: BenchSummary, width: int) -> Spec | None:
    """The share of successful runs with its interval, best first."""
    known = [config for config in summary.configs if config.overall.success.value is not None]
    if not known:
        return None
    labels = _labels(known)
    ranked = sorted(known, key=lambda config: -(config.overall.success.value or 0.0))
    values = [
        {
            "config": labels[config.name],
            "share": config.overall.success.value,
            "low": config.overall.success.interval.low,
            "high": config.overall.success.interval.high,
            "text": words.percent(config.overall.success.value),
        }
        for config in ranked
    ]
    share = {"type": "quantitative", "scale": {"domain": [0, 1]}, "title": None, "axis": {"format": "%", "tickCount": 5}}
    rows = rows_axis("config", [labels[config.name] for config in ranked])
    layers = [
        {
            "mark": {"type": "rule", "color": ACCENT, "strokeWidth": 6, "opacity": 0.28, "strokeCap": "round"},
            "encoding": {"x": {"field": "low", **share}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 110, "color": ACCENT, "opacity": 1},
            "encoding": {"x": {"field": "share", **share}},
        },
        {
            "mark": {"type": "text", "dy": -13, "color": INK, "fontSize": 12},
            "encoding": {"x": {"field": "share", **share}, "text": {"field": "text"}},
        },
    ]
    body = {"width": width, "height": {"step": 46}, "data": {"values": values}, "encoding": {"y": rows}, "layer": layers}
    return chart("Success", "Dot: share of runs that succeeded. Band: 95 % interval.", body)


def latency_chart(summary: BenchSummary, durations_ms: Mapping[str, Sequence[float]], width: int) -> Spec | None:
    """The distribution of each configuration's own times, with median and p95."""
    drawn = [config for config in summary.configs if durations_ms.get(config.name) and config.overall.duration_ms is not None]
    if not drawn:
        return None
    heads = {config.name: f"{label} · {_two_quantiles(config)}" for config, label in zip(drawn, _labels(drawn).values(), strict=True)}
    low, high = (pick(pick(durations_ms[config.name]) for config in drawn) for pick in (min, max))
    log = low > 0 and high / low > 30
    values: list[Spec] = []
    for config in drawn:
        samples, spread = durations_ms[config.name], config.overall.duration_ms
        points = _dots(samples) if len(samples) <= FEW_SAMPLES else _curve(samples, low, high, log=log)
        lines = [{"mark_ms": getattr(spread, name), "mark": name} for name in ("p50", "p95")]
        values += [{"config": heads[config.name], **point} for point in (*points, *lines)]
    order = [heads[config.name] for config in sorted(drawn, key=_median)]
    body = _latency_body(values, order, width, scale={"type": "log"} if log else {"zero": True, "nice": True})
    return chart("Latency", "The target's own time in successful runs. Solid line: median (p50), dashed: p95.", body)


def _two_quantiles(config: ConfigurationStats) -> str:
    spread = config.overall.duration_ms
    return "" if spread is None else f"p50 {words.duration(spread.p50)}, p95 {words.duration(spread.p95)}"


def _median(config: ConfigurationStats) -> float:
    return config.overall.duration_ms.p50 if config.overall.duration_ms else math.inf


def _latency_body(values: list[Spec], order: list[str], width: int, scale: Spec) -> Spec:
    axis = {"labelExpr": DURATION_LABEL, "tickCount": 6}
    x = {"type": "quantitative", "scale": scale, "title": None, "axis": axis}
    y = {"field": "weight", "type": "quantitative", "scale": {"domain": [0, 1.05]}, "axis": None, "stack": None}
    pen = {"field": "mark", "type": "nominal", "legend": None, "scale": {"domain": ["p50", "p95"], "range": [INK, SECOND]}}
    dash = {"field": "mark", "type": "nominal", "legend": None, "scale": {"domain": ["p50", "p95"], "range": [[1, 0], [4, 3]]}}
    layers: list[Spec] = [
        {
            "transform": [{"filter": "isValid(datum.weight)"}],
            "mark": {"type": "area", "color": ACCENT, "opacity": 0.35, "interpolate": "monotone"},
            "encoding": {"x": {"field": "ms", **x}, "y": y},
        },
        {
            "transform": [{"filter": "isValid(datum.dot)"}],
            "mark": {"type": "point", "filled": True, "color": ACCENT, "opacity": 0.5, "size": 46},
            "encoding": {"x": {"field": "ms", **x}, "y": {**y, "field": "dot"}},
        },
        {
            "transform": [{"filter": "isValid(datum.mark_ms)"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": {"field": "mark_ms", **x}, "color": pen, "strokeDash": dash},
        },
    ]
    head = {
        "labelAngle": 0,
        "labelAlign": "left",
        "labelColor": INK,
        "labelFontSize": 12,
        "labelOrient": "top",
        "labelAnchor": "start",
        "labelPadding": -10,
        "labelLimit": width,
        "title": None,
    }
    return {
        "data": {"values": values},
        "facet": {"row": {"field": "config", "type": "nominal", "sort": order, "header": head}},
        "spec": {"width": width + 50, "height": 46, "layer": layers},
        "spacing": 10,
    }


def _dots(samples: Sequence[float]) -> list[Spec]:
    """Every run, spread a little so that equal ones are seen."""
    return [{"ms": value, "dot": 0.2 + 0.6 * ((index * 0.618034) % 1.0)} for index, value in enumerate(samples)]


def _curve(samples: Sequence[float], low: float, high: float, *, log: bool) -> list[Spec]:
    return [{"ms": at, "weight": height} for at, height in density(samples, low, high, log=log)]


def density(samples: Sequence[float], low: float, high: float, *, log: bool, blur_bins: float = 1.5) -> list[tuple[float, float]]:
    """A smoothed histogram over the common range, as places and heights; its peak is 1."""
    scale, back = (math.log, math.exp) if log else (float, float)
    start, end = scale(low), scale(high)
    width = (end - start) / BINS or 1.0
    counts = [0.0] * BINS
    for value in samples:
        counts[min(BINS - 1, max(0, int((scale(value) - start) / width)))] += 1
    reach = math.ceil(3 * blur_bins)
    kernel = [math.exp(-0.5 * (offset / blur_bins) ** 2) for offset in range(-reach, reach + 1)]
    smooth = [
        sum(kernel[offset + reach] * counts[index + offset] for offset in range(-reach, reach + 1) if 0 <= index + offset < BINS)
        for index in range(BINS)
    ]
    peak = max(smooth)
    return [(back(start + (index + 0.5) * width), round(weight / peak, 4)) for index, weight in enumerate(smooth)]


def cost_chart(summary: BenchSummary, width: int) -> Spec | None:
    """Cost against quality, the Pareto front joined. What has no known price cannot be placed, and is named."""
    values: list[Spec] = []
    absent: list[str] = []
    for config, label in zip(summary.configs, _labels(summary.configs).values(), strict=True):
        usd, good = _usd(config), summary.quality.get(config.name)
        if usd is None or good is None:
            absent.append(label)
        else:
            values.append({"config": label, "usd": usd, "quality": good, "front": config.name in summary.pareto})
    if not values:
        return None
    values = [value | {"below": _has_a_dot_above(index, values)} for index, value in enumerate(values)]
    place = {
        "x": _usd_axis([value["usd"] for value in values], width),
        "y": _quality_axis([value["quality"] for value in values], summary.quality_by),
    }
    colour = {"condition": {"test": "datum.front", "value": ACCENT}, "value": SECOND}
    line = {"type": "line", "color": ACCENT, "strokeDash": [5, 4], "opacity": 0.7}
    layers: list[Spec] = [
        {"data": {"values": _front(values)}, "mark": line, "encoding": {**place, "order": {"field": "usd", "type": "quantitative"}}},
        {"mark": {"type": "point", "filled": True, "size": 130, "opacity": 1}, "encoding": {**place, "color": colour}},
        *(_names(place, dy, f"datum.below == {below}") for dy, below in ((-15, "false"), (20, "true"))),
    ]
    subtitle = ["Up and to the left is better. Blue, joined: the Pareto front of quality, cost and latency."]
    if absent:
        subtitle.append("Not placed, cost or quality unknown: " + words.one_line(", ".join(absent), 90))
    return chart("Cost against quality", subtitle, {"width": width, "height": 260, "data": {"values": values}, "layer": layers})


def _names(place: Spec, dy: int, test: str) -> Spec:
    mark = {"type": "text", "dy": dy, "fontSize": 12, "color": INK}
    return {"transform": [{"filter": test}], "mark": mark, "encoding": {**place, "text": {"field": "config"}}}


def _has_a_dot_above(index: int, values: Sequence[Spec]) -> bool:
    """Its name would stand on another dot, or on that one's name: of dots that cost nearly the same, only the best is named above."""
    usd, quality = values[index]["usd"], values[index]["quality"]
    near = [other for other in range(len(values)) if other != index and math.isclose(values[other]["usd"], usd, rel_tol=0.3)]
    return any((quality, -index) < (values[other]["quality"], -other) and values[other]["quality"] - quality < 0.2 for other in near)


def _usd_axis(costs: Sequence[float], width: int) -> Spec:
    log = min(costs) > 0 and max(costs) / min(costs) > 20
    scale = {"type": "log", "nice": True, "padding": 24} if log else {"zero": True, "nice": True}
    axis = {"format": "~g", "tickCount": max(2, width // 90), "labelOverlap": True}
    return {"field": "usd", "type": "quantitative", "title": "USD a success", "scale": scale, "axis": axis}


def _quality_axis(values: Sequence[float], measure: str) -> Spec:
    share = measure in ("success", "checks passed")
    axis = {"format": "%", "values": [0, 0.25, 0.5, 0.75, 1]} if share else {"tickCount": 5}
    scale = {"domain": [0, 1.12], "nice": False} if 0 <= min(values) <= max(values) <= 1 else {"zero": True, "nice": True}
    return {"field": "quality", "type": "quantitative", "title": words.one_line(measure, LABEL_CHARS), "scale": scale, "axis": axis}


def _usd(config: ConfigurationStats) -> float | None:
    """Unknown where it is unpriced, and where nothing that costs was called."""
    return None if config.overall.cost_source in ("unpriced", "none") else config.overall.cost_usd_per_success


def _front(values: Sequence[Spec]) -> list[Spec]:
    return [value for value in values if value["front"]]
