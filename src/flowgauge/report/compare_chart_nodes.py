"""Where the time went: a waterfall of what each node adds to, or takes from, the time of a run."""

from __future__ import annotations

from collections.abc import Sequence

from flowgauge.model.verdict import Comparison, NodeShift
from flowgauge.report import words
from flowgauge.report.charts import DURATION_LABEL, INK, SECOND, Spec, beside, chart, label_chars, labels_of, layer, rows_axis, tones
from flowgauge.report.compare_words import signed

MOST_NODES = 12
ALL = "all nodes"


def node_chart(comparison: Comparison, width: int) -> Spec | None:
    """One bar a node, each where the last one ended, then their sum; None where none moved."""
    moved = [node for node in comparison.nodes if node.delta_ms]
    if not moved:
        return None
    values = _waterfall(moved, label_chars(width))
    rows = [value["node"] for value in values]
    room = beside(rows, width) - 60
    body = {
        "width": room,
        "height": {"step": 32},
        "data": {"values": values},
        "encoding": {"y": rows_axis("node", rows)},
        "layer": _layers(room),
    }
    told = "Change of each node's own time a run, one after the other, and the sum of all. Pale: not more than noise."
    return chart("Where the time went", told, body)


def _layers(width: int) -> list[Spec]:
    axis = {"labelExpr": DURATION_LABEL, "tickCount": max(2, width // 90)}
    x = {"type": "quantitative", "title": None, "axis": axis, "scale": {"zero": True, "nice": True}}
    weight = {"field": "weight", "type": "quantitative", "legend": None, "scale": None}
    bar = {"x": {"field": "start", **x}, "x2": {"field": "end"}, "color": tones("tone"), "opacity": weight}
    said = {"type": "text", "align": "left", "dx": 6, "color": INK, "fontSize": 12}
    return [
        layer({"type": "bar", "cornerRadius": 2, "height": 20}, bar),
        layer({"type": "rule", "color": SECOND}, {"x": {"field": "zero", **x}, "y": None}, data={"values": [{"zero": 0}]}),
        layer(said, {"x": {"field": "right", **x}, "text": {"field": "text"}}),
    ]


def _waterfall(moved: Sequence[NodeShift], chars: int) -> list[Spec]:
    shown, rest = moved[:MOST_NODES], moved[MOST_NODES:]
    labels = labels_of([node.node_id for node in shown], chars)
    bars = [(labels[node.node_id], node.delta_ms, node.significant) for node in shown]
    if rest:
        bars.append((f"{len(rest):,} others", sum(node.delta_ms for node in rest), False))
    values: list[Spec] = []
    at = 0.0
    for label, delta, sure in bars:
        values.append(_bar(label, at, at + delta, sure=sure))
        at += delta
    return [*values, {**_bar(ALL, 0.0, at, sure=True), "tone": ""}]


def _bar(label: str, start: float, end: float, *, sure: bool) -> Spec:
    delta = end - start
    return {
        "node": label,
        "start": start,
        "end": end,
        "right": max(start, end),
        "tone": "bad" if delta > 0 else "good",
        "weight": 0.9 if sure else 0.4,
        "text": signed(words.duration(abs(delta)), delta),
    }
