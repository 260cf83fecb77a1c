"""Numbers inside a sentence of a verdict."""

from __future__ import annotations

import math

from flowgauge.compare.threshold import BARE, threshold_verdict
from flowgauge.model.benchmark import Interval, Rate
from flowgauge.model.verdict import MetricVerdict

DIGITS, _ALL_DIGITS = 3, 17
_TOO_LONG = 1e15
"""From here on a number is written with its power of ten."""


def figure(value: float | None, unit: str = "", digits: int = DIGITS) -> str:
    """1,230 ms, $0.0021, 0.914; unknown where it is not known."""
    if value is None:
        return "unknown"
    if unit.lower() in ("usd", "$"):
        return f"${_number(value, digits, whole_from=1, decimals=2)}"
    return f"{_number(value, digits)} {unit}".rstrip()


def _number(value: float, digits: int, *, whole_from: float = 1000, decimals: int = 0) -> str:
    """Before the point all digits, from `whole_from` on; else as many as asked for."""
    size = abs(value)
    if size < whole_from or size >= _TOO_LONG:
        return f"{value:.{digits}g}"
    wanted = digits - 1 - math.floor(math.log10(size)) if digits > DIGITS else 0
    return f"{value:,.{max(decimals, wanted)}f}"


def share(value: float) -> str:
    """0.05 → 5 %."""
    return f"{round(value * 100, 1):g} %"


def counted(rate: Rate) -> str:
    """27/30."""
    return f"{rate.count}/{rate.total}"


def p_value(p: float) -> str:
    """As in p = 0.05, p = 0.0012, p < 0.0001."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def ratio(value: float, interval: Interval | None, digits: int = DIGITS) -> str:
    """× 1.23, 95 % interval 1.15 to 1.31."""
    bounds = f", 95 % interval {interval.low:.3g} to {interval.high:.3g}" if interval else ""
    return f"× {value:.{digits}g}{bounds}"


def sides(verdict: MetricVerdict) -> str:
    """1,230 ms against 1,000 ms (× 1.23, 95 % interval 1.15 to 1.31). Where bare figures decided, with the digits that did."""
    new, old = verdict.candidate.value, verdict.baseline.value
    digits = _telling(verdict, new, old)
    told = f"{figure(new, verdict.unit, digits)} against {figure(old, verdict.unit, digits)}"
    if verdict.ratio is None:
        return told
    return f"{told} ({ratio(verdict.ratio, verdict.interval, _telling(verdict, verdict.ratio, 1.0))})"


def _telling(verdict: MetricVerdict, new: float | None, old: float | None) -> int:
    """The fewest digits at which the figures, as they are shown, lead to the verdict that they are to explain."""
    if verdict.method != BARE or new is None or old is None:
        return DIGITS
    for digits in range(DIGITS, _ALL_DIGITS + 1):
        ours, theirs = (float(_number(value, digits).replace(",", "")) for value in (new, old))
        if threshold_verdict(ours, theirs, verdict.tolerance, verdict.direction) == verdict.verdict:
            return digits
    return DIGITS


def listed(names: list[str], most: int = 3) -> str:
    """a, b, c and 4 more."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def several(count: int, noun: str) -> str:
    """1 case, 40 cases."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
