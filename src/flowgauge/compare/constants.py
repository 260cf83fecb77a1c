"""A metric that does not vary: a price, a number of tokens. Judged exactly, without a test.

Matched samples in; the two values out, where neither side varies and every case
changed by the same factor, with the chance that runs in random order would
fall apart like that. Values that differ by less than one in 10⁹ are the same.
A score that never varied may be luck, since one bad run in twenty takes 5 % off
it: there, it takes runs to exclude harm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from flowgauge.compare.matching import Matched
from flowgauge.model.figure import Direction
from flowgauge.stats.ratio_cases import Groups

_SAME = 1e-9
_MOST_EXACT_RUNS = 500


class Constants(NamedTuple):
    """Means over the cases."""

    candidate: float
    baseline: float
    p: float
    """That so many runs, dealt to the sides at random within their cases, come out sorted. It is 1 where nothing differs."""

    @property
    def same(self) -> bool:
        """Nothing differs."""
        return math.isclose(self.candidate, self.baseline, rel_tol=_SAME)


def constants(matched: Matched) -> Constants | None:
    """None where something varies."""
    if matched.design not in ("paired", "trials") or not (_flat(matched.candidate) and _flat(matched.baseline)):
        return None
    ours, theirs = [group[0] for group in matched.candidate], [group[0] for group in matched.baseline]
    if not _one_factor(ours, theirs):
        return None
    found = Constants(math.fsum(ours) / len(ours), math.fsum(theirs) / len(theirs), 1.0)
    return found if found.same else found._replace(p=_chance(matched))


def is_score(fixed: Constants, direction: Direction) -> bool:
    """Between 0 and 1, where more is better."""
    return direction == "higher" and 0 < max(fixed.candidate, fixed.baseline) <= 1


def luck(tolerance: float, runs: int) -> float:
    """At the most: that no run shows it, though the mean of a score is lower by the tolerance. Such a mean needs that share of bad runs."""
    return math.exp(runs * math.log1p(-tolerance))


def runs_without_luck(tolerance: float, alpha: float) -> int | None:
    """The fewest at which that is rarer than alpha; None: no number excludes any harm at all."""
    return math.ceil(math.log(alpha) / math.log1p(-tolerance)) if tolerance > 0 else None


def runs_for(alpha: float, cases: int) -> int:
    """The fewest runs a side, spread evenly over the cases, at which sorted constants are rarer than alpha."""
    runs = 1
    while math.comb(2 * runs, runs) ** cases * alpha < 1:
        runs += 1
    return runs * cases


def _flat(groups: Groups) -> bool:
    return all(math.isclose(value, group[0], rel_tol=_SAME) for group in groups for value in group)


def _one_factor(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    factors = [math.inf if not old else new / old for new, old in zip(ours, theirs, strict=True) if new or old]
    return all(factor == factors[0] or math.isclose(factor, factors[0], rel_tol=_SAME) for factor in factors)


def _chance(matched: Matched) -> float:
    sizes = list(zip(map(len, matched.candidate), map(len, matched.baseline), strict=True))
    if sum(matched.sizes) <= _MOST_EXACT_RUNS:
        return 1 / math.prod(math.comb(n + m, n) for n, m in sizes)
    return math.exp(math.fsum(math.lgamma(n + 1) + math.lgamma(m + 1) - math.lgamma(n + m + 1) for n, m in sizes))
