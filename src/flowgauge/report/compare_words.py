"""The words and figures of a comparison: tiers, verdicts, amounts in their units, ratios with their intervals.

Numbers in, plain text out; nothing is escaped here. What is not known is a
dash, never a zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from flowgauge.model.benchmark import Interval, Rate
from flowgauge.model.metric import Direction
from flowgauge.model.verdict import Attempt, GateStatus, Tier, Verdict
from flowgauge.report import words

TIERS: dict[Tier, tuple[str, str]] = {
    "hard_regression": ("regression", "bad"),
    "soft_regression": ("likely regression", "warn"),
    "improvement": ("improvement", "good"),
    "watch": ("worth watching", "warn"),
    "unreliable_baseline": ("unreliable baseline", "warn"),
    "stable": ("stable", ""),
    "insufficient_data": ("not measured", "dim"),
}
"""How each is called, and its tone; in the order of lists."""

VERDICTS: dict[Verdict, str] = {"regressed": "bad", "vanished": "bad", "inconclusive": "warn", "improved": "good", "unchanged": ""}
"""The tone of each verdict, in the order of lists."""

STATUSES: dict[GateStatus, tuple[str, str, str]] = {
    "failed": ("✗", "failed", "bad"),
    "not_measured": ("?", "not measured", "warn"),
    "passed": ("✓", "passed", "good"),
}
"""Mark, name and tone, the failing first."""

ATTEMPTS: dict[Attempt, str] = {
    "ok": "compared",
    "no_baseline": "there is no baseline to compare with",
    "self_baseline": "the candidate is the baseline itself",
    "fetch_failed": "the baseline could not be read",
    "not_attempted": "no comparison was asked for",
}

_SCALES_MS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3, "seconds": 1e3}
_MONEY = frozenset({"usd", "$"})
_WORSE_BETTER = {"time": ("slower", "faster"), "money": ("dearer", "cheaper")}
NAMED = 3
"""How many are named before the rest are counted."""
UNIT_CHARS = 16


def kind_of(unit: str) -> str:
    """time, money or other."""
    return "time" if unit in _SCALES_MS else "money" if unit.lower() in _MONEY else "other"


def scale_ms(unit: str) -> float:
    """How many ms one of the unit is; 1 for what is no time."""
    return _SCALES_MS.get(unit, 1.0)


def by_direction(direction: Direction) -> str:
    """An arrow that points to where it is better."""
    return "↓" if direction == "lower" else "↑"


def amount(value: float | None, unit: str) -> str:
    """A figure in its unit: 1.2 s, $0.0021, 87.5 %, 1,234 tokens."""
    if value is None or not math.isfinite(value):
        return words.UNKNOWN
    shown = _amount(abs(value), unit)
    return f"−{shown}" if value < 0 else shown


def _amount(value: float, unit: str) -> str:
    if unit in _SCALES_MS:
        return words.duration(value * _SCALES_MS[unit])
    if unit.lower() in _MONEY:
        return words.cost(value, "provider")
    if unit in ("%", "percent"):
        return f"{round(value, 1):g} %"
    return f"{words.number(value)} {words.cut(unit, UNIT_CHARS)}".rstrip()


def signed(text: str, value: float) -> str:
    """With its sign in front; `text` is of the absolute value."""
    return f"{'+' if value > 0 else '−' if value < 0 else '±'}{text}"


def change(value: float | None) -> str:
    """0.213 → +21.3 %."""
    if value is None or not math.isfinite(value):
        return words.UNKNOWN
    return signed(_percents(abs(value)), value)


def _percents(value: float) -> str:
    """Three digits that count, no more than one decimal."""
    percents = value * 100
    return f"{percents:,.0f} %" if percents >= 100 else f"{round(percents, 1):g} %"


def points(delta: float | None) -> str:
    """A difference of two shares: −40 pp."""
    return words.UNKNOWN if delta is None else signed(f"{round(abs(delta) * 100, 1):g} pp", round(delta, 4))


def p_value(value: float | None) -> str:
    """Two digits that count."""
    if value is None or not math.isfinite(value):
        return words.UNKNOWN
    return "< 0.0001" if value < 0.0001 else f"{value:.2g}"


def ratio(value: float | None, interval: Interval | None) -> str:
    """×1.21 (1.15–1.27); with another digit where the interval is narrow."""
    if value is None:
        return words.UNKNOWN
    digits = 2 if interval is None or interval.high - interval.low > 0.1 else 3
    bounds = "" if interval is None else f" ({_factor(interval.low, digits)}–{_factor(interval.high, digits)})"
    return f"×{_factor(value, digits)}{bounds}"


def _factor(value: float, digits: int) -> str:
    if math.isinf(value):
        return "∞"
    return f"{value:.{digits}f}" if 0.1 <= value < 1000 else words.number(value)


def share(value: Rate) -> str:
    """33.3 % (1/3)."""
    return words.UNKNOWN if value.value is None else f"{words.percent(value.value)} ({value.count:,}/{value.total:,})"


def how_much(moved: float, direction: Direction, unit: str) -> str:
    """A relative change, in the words of its unit."""
    worse, better = _WORSE_BETTER.get(kind_of(unit), ("worse", "better"))
    if not round(abs(moved), 4):
        return "the same"
    return f"{_percents(abs(moved))} {worse if (moved > 0) == (direction == 'lower') else better}"


def in_words(verdict: str) -> str:
    """hard_regression → regression; any other as it is, without underscores."""
    return TIERS[verdict][0] if verdict in TIERS else verdict.replace("_", " ")


def listed(names: Iterable[str], limit: int = NAMED) -> str:
    """a, b and c; a, b, c and 4 more."""
    every = list(names)
    if len(every) > limit:
        return f"{', '.join(every[:limit])} and {len(every) - limit:,} more"
    return " and ".join(filter(None, (", ".join(every[:-1]), *every[-1:])))
