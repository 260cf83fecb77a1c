"""`--fail-under`: least (or most) values that every configuration must reach."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

import msgspec

from flowgauge.errors import UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.benchmark import BenchSummary, Cell, Spread

_RULE = re.compile(r"^\s*([A-Za-z_][\w. -]*?)\s*(>=|<=|=)\s*(-?\d+(?:\.\d+)?)\s*$")
_HOLDS: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le, "=": operator.ge}


def _of(spread: Spread | None, name: str) -> float | None:
    return getattr(spread, name) if spread is not None else None


METRICS: dict[str, Callable[[Cell], float | None]] = {
    "success_rate": lambda cell: cell.success.value,
    "measured_success_rate": lambda cell: cell.measured.value,
    "pass_rate": lambda cell: cell.passed.value,
    "mean_ms": lambda cell: _of(cell.duration_ms, "mean"),
    "p50_ms": lambda cell: _of(cell.duration_ms, "p50"),
    "p90_ms": lambda cell: _of(cell.duration_ms, "p90"),
    "p95_ms": lambda cell: _of(cell.duration_ms, "p95"),
    "p99_ms": lambda cell: _of(cell.duration_ms, "p99"),
    "first_token_p50_ms": lambda cell: _of(cell.first_token_ms, "p50"),
    "cost_usd": lambda cell: cell.cost_usd_mean,
    "cost_usd_per_success": lambda cell: cell.cost_usd_per_success,
    "cost_usd_total": lambda cell: cell.cost_usd_total,
    "tokens_prompt": lambda cell: cell.tokens_prompt_mean,
    "tokens_completion": lambda cell: cell.tokens_completion_mean,
    "retries": lambda cell: float(cell.retries),
}


class Bound(msgspec.Struct, frozen=True):
    """One rule: `p95_ms<=2000`, `success_rate=0.9` (at least), `score.quality>=0.8`."""

    metric: str
    sign: str
    value: float

    def broken_by(self, cell: Cell) -> str:
        """What is wrong, or nothing. A value that is not known does not meet any bound."""
        found = measure(cell, self.metric)
        if found is None:
            return f"{self.metric} is not known"
        if _HOLDS[self.sign](found, self.value):
            return ""
        return f"{self.metric} is {found:.6g}, not {'at most' if self.sign == '<=' else 'at least'} {self.value:g}"


def read_bounds(rules: Sequence[str]) -> list[Bound]:
    """From the command line. Raises UsageError."""
    found = []
    for rule in rules:
        match = _RULE.match(rule)
        if match is None:
            raise UsageError(f"'{rule}' after --fail-under is no rule.", remedy="Write success_rate=0.9 or p95_ms<=2000.")
        if match[1] not in METRICS and not match[1].startswith(("score.", "check.")):
            known = (*METRICS, "score.NAME", "check.NAME")
            raise UsageError(f"There is no metric '{match[1]}'.", remedy=did_you_mean(match[1], known))
        found.append(Bound(match[1], match[2], float(match[3])))
    return found


def measure(cell: Cell, metric: str) -> float | None:
    """A metric of a cell; None where it is not known."""
    kind, dot, name = metric.partition(".")
    if dot and kind == "score":
        return _of(cell.scores.get(name), "mean")
    if dot and kind == "check":
        rate = cell.checks.get(name)
        return rate.value if rate else None
    return METRICS[metric](cell)


def broken(summary: BenchSummary, bounds: Sequence[Bound]) -> list[str]:
    """Every bound that a configuration does not meet, in words."""
    told = ((config.name, bound.broken_by(config.overall)) for config in summary.configs for bound in bounds)
    return [f"{name}: {words}" for name, words in told if words]
