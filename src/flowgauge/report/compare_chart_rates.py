"""Pass rate by case: both sides with their intervals, those that moved first."""

from __future__ import annotations

from flowgauge.model.benchmark import Rate
from flowgauge.model.verdict import Comparison, RateVerdict
from flowgauge.report import words
from flowgauge.report.charts import INK, Spec, beside, chart, label_chars, labels_of, layer, rows_axis, tones
from flowgauge.report.compare_words import TIERS, points

MOST_CASES, STABLE_CASES = 30, 8


def rate_chart(comparison: Comparison, width: int) -> Spec | None:
    """Two lines a case, of those that are not stable, or of all where all are; None where no case ran on both sides."""
    known = [one for one in comparison.rates if one.candidate.value is not None and one.baseline.value is not None]
    if not known:
        return None
    drawn = [one for one in known if one.tier != "stable"][:MOST_CASES] or known[:STABLE_CASES]
    labels = labels_of([one.key for one in drawn], label_chars(width), keep_end=True)
    body = {
        "width": beside(labels.values(), width) - 56,
        "height": {"step": 13},
        "data": {"values": [value for one in drawn for value in _values(one, labels[one.key])]},
        "encoding": {
            "y": {**rows_axis("case", list(labels.values())), "scale": {"paddingInner": 0.45}},
            "yOffset": {"field": "side", "sort": ["baseline", "candidate"]},
        },
        "layer": _layers(),
    }
    told = ["Dot: share of runs that passed; above in grey the baseline, below in colour the candidate. Line: 95 % interval."]
    left = len(known) - len(drawn)
    return chart("Pass rate by case", [*told, f"Not drawn: {words.plural(left, 'case')}, the stable ones last."] if left else told, body)


def _layers() -> list[Spec]:
    x = {"type": "quantitative", "scale": {"domain": [0, 1]}, "title": None, "axis": {"format": "%", "tickCount": 5}}
    colour = tones("tone")
    line = {"type": "rule", "strokeWidth": 5, "opacity": 0.3, "strokeCap": "round"}
    said = {"type": "text", "align": "left", "dx": 10, "color": INK, "fontSize": 12}
    return [
        layer(line, {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour}),
        layer({"type": "point", "filled": True, "size": 80, "opacity": 1}, {"x": {"field": "share", **x}, "color": colour}),
        layer(said, {"x": {"datum": 1, **x}, "text": {"field": "text"}}),
    ]


def _values(one: RateVerdict, label: str) -> list[Spec]:
    text = "" if one.tier == "stable" else points(one.delta)
    return [_side(label, "baseline", one.baseline, "dim", ""), _side(label, "candidate", one.candidate, TIERS[one.tier][1], text)]


def _side(label: str, side: str, rate: Rate, tone: str, text: str) -> Spec:
    return {
        "case": label,
        "side": side,
        "share": rate.value,
        "low": rate.interval.low,
        "high": rate.interval.high,
        "tone": tone,
        "text": text,
    }
