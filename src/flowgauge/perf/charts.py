"""Charts of a perf run as Vega-Lite: the series in, plain dicts out.

Everything is put in already binned, so a chart of 100,000 episodes is as small
as one of 500; names that people chose are only ever data, never part of an expression.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from flowgauge.perf.comparing import case_of
from flowgauge.perf.files import Sample, Series, SeriesRow
from flowgauge.report import words
from flowgauge.report.charts import ACCENT, BAD, DURATION_LABEL, INK, SECOND, Spec, chart, density, labels_of, layer
from flowgauge.stats.describe import quantile

BINS = 60
"""Points of a line."""
FEW = 60
"""Up to here every episode is a dot."""
FEWEST_SAMPLES = 3
MOST_TASKS = 8
MOST_FAILURES = 200
STRIP = 58
BYTES_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' GB' : datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' MB' : "
    "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' kB' : format(datum.value, '~g') + ' B'"
)
_MACHINE: tuple[tuple[str, str, Spec], ...] = (
    ("cpu_percent", "CPU, %", {}),
    ("process_rss_bytes", "memory", {"labelExpr": BYTES_LABEL}),
    ("open_files", "open files", {}),
    ("event_loop_lag_ms", "loop lag", {"labelExpr": DURATION_LABEL}),
)


_LEGEND = (
    ("dot", "A dot an episode."),
    ("low", "Line: median. Band: 5th to 95th percentile."),
    ("failed", "Red crosses: failures."),
)


def perf_charts(series: Series, width: int = 620) -> dict[str, Spec]:
    """By name, those that there is something to draw for."""
    if not series.rows:
        return {}
    charts = {
        "latency": latency(series.rows, width),
        "distribution": distribution(series.rows, width),
        "machine": machine(series.samples, width),
        "growth": growth(series.rows, width),
    }
    return {name: one for name, one in charts.items() if one is not None}


def not_drawn(series: Series) -> list[str]:
    """Why a picture is missing, a line each."""
    if len(series.samples) >= FEWEST_SAMPLES:
        return []
    why = "it was not sampled" if not series.samples else "the run was too short for it"
    return [f"machine (CPU, memory): not drawn, {why}"]


def latency(rows: Sequence[SeriesRow], width: int) -> Spec:
    """Wall clock over the run, a strip for each task."""
    groups, left_out = _groups(rows)
    values: list[Spec] = []
    for label, group in groups.items():
        values += [{"task": label, **point} for point in (*_line(group), *_failures(group))]
    axis = {"labelExpr": DURATION_LABEL, "tickCount": 3}
    x = _episodes("episode", len(rows))
    y = {"type": "quantitative", "title": None, "axis": axis, "scale": {"zero": True, "nice": True}}
    layers = [
        layer({"type": "area", "color": ACCENT, "opacity": 0.22}, {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}}),
        layer({"type": "line", "color": ACCENT, "strokeWidth": 1.6}, {"x": x, "y": {"field": "ms", **y}}),
        layer({"type": "point", "filled": True, "color": ACCENT, "size": 24, "opacity": 0.8}, {"x": x, "y": {"field": "dot", **y}}),
        layer({"type": "point", "shape": "cross", "filled": True, "color": BAD, "size": 40}, {"x": x, "y": {"field": "failed", **y}}),
    ]
    told = [text for field, text in _LEGEND if any(field in value for value in values)]
    legend = " ".join([*told, "Start-up of workers is in none of it."])
    return chart("Latency over episodes", [legend, *left_out], _strips(values, list(groups), layers, width, apart=True))


def distribution(rows: Sequence[SeriesRow], width: int) -> Spec:
    """How long episodes take, a strip for each task on one scale."""
    groups, left_out = _groups(rows)
    times = {label: [row.wall_clock_s * 1000 for row in group] for label, group in groups.items()}
    low, high = min(map(min, times.values())), max(map(max, times.values()))
    log = low > 0 and high / low > 30
    low, high = (low * 0.7, high * 1.4) if log else (max(0.0, low - 0.1 * (high - low)), high + 0.1 * (high - low))
    values: list[Spec] = []
    for label, samples in times.items():
        ordered = sorted(samples)
        values += [{"task": label, "ms": at, "weight": height} for at, height in density(ordered, low, high, log=log)]
        values += [{"task": label, "mark_ms": quantile(ordered, share), "mark": name} for name, share in (("p50", 0.5), ("p95", 0.95))]
    scale = {"type": "log", "domain": [low, high], "nice": False} if log else {"zero": True}
    x = {"type": "quantitative", "title": None, "scale": scale, "axis": _duration_axis(low, high) if log else {"labelExpr": DURATION_LABEL}}
    y = {"field": "weight", "type": "quantitative", "scale": {"domain": [0, 1.05]}, "axis": None, "stack": None}
    pen = {"field": "mark", "type": "nominal", "legend": None, "scale": {"domain": ["p50", "p95"], "range": [INK, SECOND]}}
    dash = {"field": "mark", "type": "nominal", "legend": None, "scale": {"domain": ["p50", "p95"], "range": [[1, 0], [4, 3]]}}
    layers = [
        layer({"type": "area", "color": ACCENT, "opacity": 0.35, "interpolate": "monotone"}, {"x": {"field": "ms", **x}, "y": y}),
        layer({"type": "rule", "strokeWidth": 2}, {"x": {"field": "mark_ms", **x}, "color": pen, "strokeDash": dash}),
    ]
    told = "Solid line: median. Dashed: 95th percentile."
    return chart("Distribution", [told, *left_out], _strips(values, list(groups), layers, width))


def machine(samples: Sequence[Sample], width: int) -> Spec | None:
    """CPU, memory, open files and lag through the run; None where it was too short for a line."""
    if len(samples) < FEWEST_SAMPLES:
        return None
    values = [{"at": sample.at_s, **{name: getattr(sample, name) for name, _, _ in _MACHINE}} for sample in _thinned(samples)]
    strips = [_machine_strip(name, title, axis, width, last=name == _MACHINE[-1][0]) for name, title, axis in _MACHINE]
    told = "Through the run. CPU: the whole machine. Memory and open files: this process and all its workers."
    return chart("The machine", told, {"data": {"values": values}, "spacing": 14, "vconcat": strips})


def growth(rows: Sequence[SeriesRow], width: int) -> Spec:
    """The sum of all artifacts, episode by episode, beside the straight line to its end."""
    sums, total = [{"episode": 0, "bytes": 0}], 0
    stride = max(1, len(rows) // (2 * BINS))
    for number, row in enumerate(rows, 1):
        total += row.artifact_bytes
        if number % stride == 0 or number == len(rows):
            sums.append({"episode": number, "bytes": total})
    x = _episodes("episodes", len(rows))
    y = {"field": "bytes", "type": "quantitative", "title": None, "axis": {"labelExpr": BYTES_LABEL, "tickCount": 5}}
    straight = {"values": [{"episode": 0, "bytes": 0}, {"episode": len(rows), "bytes": total}]}
    layers = [
        layer({"type": "line", "color": ACCENT, "strokeWidth": 2.5}, {"x": x, "y": y}),
        layer({"type": "line", "color": SECOND, "strokeDash": [5, 4]}, {"x": x, "y": y}, data=straight),
    ]
    told = f"All run artifacts together: {words.size(total)}. Dashed: as if every episode left the same."
    return chart("Artifact growth", told, {"width": width, "height": 190, "data": {"values": sums}, "layer": layers})


def _groups(rows: Iterable[SeriesRow]) -> tuple[dict[str, list[SeriesRow]], list[str]]:
    """Rows by the label of their task, and a word about those that there was no room for."""
    groups: dict[str, list[SeriesRow]] = defaultdict(list)
    for row in rows:
        groups[case_of(row)].append(row)
    shown = list(groups)[:MOST_TASKS]
    labels = labels_of(shown, 60)
    left_out = [f"The first {MOST_TASKS} of {len(groups)} tasks."] if len(groups) > MOST_TASKS else []
    return {labels[name]: groups[name] for name in shown}, left_out


def _line(rows: Sequence[SeriesRow]) -> Iterable[Spec]:
    """Every episode as a dot, or medians of bins with their band."""
    good = [row for row in rows if row.success]
    if len(good) <= FEW:
        return [{"episode": row.episode, "dot": row.wall_clock_s * 1000} for row in good]
    size = -(-len(good) // BINS)
    return [_bin(good[start : start + size]) for start in range(0, len(good), size)]


def _bin(rows: Sequence[SeriesRow]) -> Spec:
    ordered = sorted(row.wall_clock_s * 1000 for row in rows)
    middle = sum(row.episode for row in rows) / len(rows)
    low, centre, high = (round(quantile(ordered, share), 4) for share in (0.05, 0.5, 0.95))
    return {"episode": middle, "ms": centre, "low": low, "high": high}


def _failures(rows: Sequence[SeriesRow]) -> list[Spec]:
    failed = [row for row in rows if not row.success]
    stride = -(-len(failed) // MOST_FAILURES) or 1
    return [{"episode": row.episode, "failed": row.wall_clock_s * 1000} for row in failed[::stride]]


def _thinned(samples: Sequence[Sample]) -> Sequence[Sample]:
    return samples[:: -(-len(samples) // (4 * BINS))]


def _duration_axis(low: float, high: float) -> Spec:
    """Of a logarithmic scale: few enough marks to be read."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [factor * 10.0**decade for decade in decades for factor in (1, 3)]
    return {"labelExpr": DURATION_LABEL, "values": [mark for mark in marks if low <= mark <= high], "labelOverlap": "greedy"}


def _episodes(title: str, count: int) -> Spec:
    axis = {"tickCount": 6, "labelOverlap": "greedy", "labelSeparation": 6}
    return {"field": "episode", "type": "quantitative", "title": title, "scale": {"nice": False, "domain": [0, count]}, "axis": axis}


def _machine_strip(name: str, title: str, axis: Spec, width: int, *, last: bool) -> Spec:
    x: Spec = {"field": "at", "type": "quantitative", "title": "seconds" if last else None, "scale": {"nice": False}}
    x["axis"] = {"tickCount": 6, "labelOverlap": "greedy"} | ({} if last else {"labels": False, "ticks": False})
    y = {"field": name, "type": "quantitative", "title": title, "scale": {"zero": True}, "axis": {**axis, "tickCount": 3, "minExtent": 60}}
    return {
        "width": width,
        "height": STRIP,
        "layer": [
            layer({"type": "area", "color": ACCENT, "opacity": 0.18}, {"x": x, "y": y}),
            layer({"type": "line", "color": ACCENT, "strokeWidth": 1.6}, {"x": x, "y": y}),
        ],
    }


def _strips(values: list[Spec], order: list[str], layers: list[Spec], width: int, *, apart: bool = False) -> Spec:
    """A strip for each task, its name above it. `apart`: each on a scale of its own."""
    head = {
        "labelAngle": 0, "labelAlign": "left", "labelAnchor": "start", "labelOrient": "top", "labelPadding": 2,
        "labelColor": INK, "labelFontSize": 12, "labelLimit": width, "title": None,
    }  # fmt: skip
    body: Spec = {
        "data": {"values": values},
        "facet": {"row": {"field": "task", "type": "nominal", "sort": order, "header": head}},
        "spec": {"width": width, "height": STRIP, "layer": layers},
        "spacing": 12,
    }
    return {**body, "resolve": {"scale": {"y": "independent"}}} if apart else body
