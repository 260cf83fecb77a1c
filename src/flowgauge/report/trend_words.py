"""A trend in words: where it goes, where it changed, and a line of small bars. Nothing is escaped here."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flowgauge.model.verdict import ChangePoint, Trend
from flowgauge.report import words
from flowgauge.report.compare_source import SHORT_COMMIT_CHARS
from flowgauge.report.compare_words import amount, change, how_much, p_value
from flowgauge.report.grid import Grid

TRENDS = {"improving": "good", "declining": "bad", "stable": "", "insufficient_data": "dim"}
"""The tone of each."""
_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"


def headline(trend: Trend) -> str:
    """duration_ms (lower is better): declining, +38 % from the first to the last of 30 points."""
    better = f"{trend.metric} ({trend.direction} is better)"
    if trend.trend == "insufficient_data":
        return f"{better}: not enough data, {words.plural(len(trend.points), 'point')}."
    count = words.plural(len(trend.points), "point")
    moved = count if trend.change is None else f"{change(trend.change)} from the first to the last of {count}"
    return f"{better}: {trend.trend}, {moved}; {changes_found(trend)}."


def changes_found(trend: Trend) -> str:
    """1 step and 1 drift; no change point."""
    steps = sum(one.kind == "step" for one in trend.changes)
    drifts = len(trend.changes) - steps
    parts = [words.plural(count, noun) for count, noun in ((steps, "step"), (drifts, "drift")) if count]
    return " and ".join(parts) or "no change point"


def change_sentence(one: ChangePoint, trend: Trend) -> str:
    """Step +21 % at v12 (abc1234): 484 ms after 400 ms, 21 % slower, p < 0.0001."""
    place = f"at {_place(one.label, one.commit)}"
    if one.kind == "drift" and one.until_index is not None and one.until_index < len(trend.points):
        last = trend.points[one.until_index]
        place = f"from {_place(one.label, one.commit)} to {_place(last.label, last.commit)}"
    sides = f"{amount(one.after, trend.unit)} after {amount(one.before, trend.unit)}"
    size = how_much(one.change, trend.direction, trend.unit) if one.change is not None and math.isfinite(one.change) else ""
    chance = f"p = {p_value(one.p_value)}".replace("= <", "<") if one.p_value is not None else ""
    return f"{one.kind} {change(one.change)} {place}: {', '.join(filter(None, (sides, size, chance)))}"


def _place(label: str, commit: str) -> str:
    """v12 (abc1234); the commit once where it is the label itself."""
    short = commit[:SHORT_COMMIT_CHARS]
    return f"{label} ({short})" if short and not label.startswith(short) else label


def marks(trend: Trend) -> dict[int, str]:
    """What is said beside the points at which something changed."""
    said: dict[int, str] = {}
    for one in trend.changes:
        said[one.index] = f"{one.kind} {change(one.change)}" + (", worse" if one.harmful else "")
        if one.until_index is not None:
            said.setdefault(one.until_index, "the drift ends")
    return said


def points(trend: Trend) -> Grid:
    """Every point, oldest first, with what changed there."""
    said = marks(trend)
    rows = tuple(
        (
            one.label,
            one.commit[:SHORT_COMMIT_CHARS],
            words.moment(one.created_at),
            amount(one.value, trend.unit),
            words.UNKNOWN if one.interval is None else f"{amount(one.interval.low, trend.unit)} to {amount(one.interval.high, trend.unit)}",
            said.get(index, ""),
        )
        for index, one in enumerate(trend.points)
    )
    return Grid(("point", "commit", "made", "value", "95 %", "change"), frozenset({"value", "95 %"}), rows)


def sparkline(values: Sequence[float | None], most: int) -> tuple[str, int]:
    """One bar a value, a dot for what is not known; the last ones where there are too many. Also how many were left out."""
    left_out = max(0, len(values) - most)
    shown = values[left_out:]
    known = [value for value in shown if value is not None and math.isfinite(value)]
    if not known:
        return _GAP * len(shown), left_out
    low, span = min(known), (max(known) - min(known)) or 1.0
    level = len(_BARS) - 1
    flat = max(known) == min(known)
    bars = [
        _GAP if value is None or not math.isfinite(value) else _BARS[3 if flat else round((value - low) / span * level)] for value in shown
    ]
    return "".join(bars), left_out
