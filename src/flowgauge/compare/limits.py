"""Absolute limits: `p95_ms <= 2000`, `success_rate = 0.9` (at least), `score.quality >= 0.8`.

Text in, bounds out. A bound reads a cell (`--fail-under`, the pytest marker) or
one side of a comparison (a gate's policy). A value that is not known meets no bound.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

import msgspec

from flowgauge.compare.figures import METRICS, figure_of_side, measure
from flowgauge.errors import UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.benchmark import BenchSummary, Cell
from flowgauge.model.metric import Measured

_RULE = re.compile(r"^\s*([A-Za-z_].*?)\s*(>=|<=|=)\s*(-?\d+(?:\.\d+)?(?:[eE]-?\d+)?)\s*$")
_HOLDS: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le, "=": operator.ge}
_OPEN = ("score.", "check.")
"""Beginnings after which any name may stand."""
_ANY = "metric."
"""Before the name of any metric that a side has: what an ingested file names, say."""


class Bound(msgspec.Struct, frozen=True):
    """One limit."""

    metric: str
    sign: str
    value: float

    @property
    def asks(self) -> str:
        """In words."""
        return f"{'at most' if self.sign == '<=' else 'at least'} {self.value:g}"

    def broken_by(self, cell: Cell) -> str:
        """What is wrong, or nothing. A value that is not known does not meet any bound."""
        found = measure(cell, self.metric)
        if found is None:
            return f"{self.metric} is not known"
        return "" if self.holds(found) else f"{self.metric} is {found:.6g}, not {self.asks}"

    def holds(self, value: float) -> bool:
        """Is the value within it?"""
        return _HOLDS[self.sign](value, self.value)

    def found_in(self, side: Measured) -> float | None:
        """What the side has; None where that is not known."""
        return figure_of_side(side, self.metric.removeprefix(_ANY))


def read_bounds(rules: Sequence[str]) -> list[Bound]:
    """From the command line. Raises UsageError."""
    return [_read(rule, " after --fail-under", _OPEN) for rule in rules]


def read_limit(rule: str) -> Bound:
    """From a policy, which may also name `metric.NAME`. Raises UsageError."""
    return _read(rule, "", (*_OPEN, _ANY))


def _read(rule: str, where: str, open_to: tuple[str, ...]) -> Bound:
    match = _RULE.match(rule)
    if match is None:
        raise UsageError(f"'{rule}'{where} is no rule.", remedy="Write success_rate=0.9 or p95_ms<=2000.")
    if match[1] not in METRICS and not match[1].startswith(open_to):
        known = (*METRICS, *(f"{beginning}NAME" for beginning in open_to))
        raise UsageError(f"There is no metric '{match[1]}'.", remedy=did_you_mean(match[1], known))
    return Bound(match[1], match[2], float(match[3]))


def broken(summary: BenchSummary, bounds: Sequence[Bound]) -> list[str]:
    """Every bound that a configuration does not meet, in words."""
    told = ((config.name, bound.broken_by(config.overall)) for config in summary.configs for bound in bounds)
    return [f"{name}: {words}" for name, words in told if words]
