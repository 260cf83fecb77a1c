"""Numbers inside a sentence of a verdict."""

from __future__ import annotations

from flowgauge.model.benchmark import Interval, Rate
from flowgauge.model.verdict import MetricVerdict


def figure(value: float | None, unit: str = "") -> str:
    """1,230 ms, $0.0021, 0.914; unknown where it is not known."""
    if value is None:
        return "unknown"
    if unit.lower() in ("usd", "$"):
        return f"${value:.3g}" if abs(value) < 1 else f"${value:,.2f}"
    number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{number} {unit}".rstrip()


def share(value: float) -> str:
    """0.05 → 5 %."""
    return f"{round(value * 100, 1):g} %"


def counted(rate: Rate) -> str:
    """27/30."""
    return f"{rate.count}/{rate.total}"


def p_value(p: float) -> str:
    """As in p = 0.05, p = 0.0012, p < 0.0001."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def ratio(value: float, interval: Interval | None) -> str:
    """× 1.23, 95 % interval 1.15 to 1.31."""
    bounds = f", 95 % interval {interval.low:.3g} to {interval.high:.3g}" if interval else ""
    return f"× {value:.3g}{bounds}"


def sides(verdict: MetricVerdict) -> str:
    """1,230 ms against 1,000 ms (× 1.23, 95 % interval 1.15 to 1.31)."""
    told = f"{figure(verdict.candidate.value, verdict.unit)} against {figure(verdict.baseline.value, verdict.unit)}"
    return told if verdict.ratio is None else f"{told} ({ratio(verdict.ratio, verdict.interval)})"


def listed(names: list[str], most: int = 3) -> str:
    """a, b, c and 4 more."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def several(count: int, noun: str) -> str:
    """1 case, 40 cases."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
