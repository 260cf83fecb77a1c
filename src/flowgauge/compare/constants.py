"""A metric that does not vary (a price, a number of tokens), or varies on both sides alike. Judged exactly, without a test.

Matched samples in; the two values out, where neither side varies and every case
changed by the same factor, with the chance that runs in random order would
fall apart like that. So it is where every run, in order of size, changed by one
factor: the same runs at another price. Values that differ by less than one in
10⁹ are the same. A score that never varied may be luck, since one bad run in
twenty takes 5 % off it: there, it takes runs to exclude harm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from flowgauge.compare.matching import Matched
from flowgauge.model.figure import Direction
from flowgauge.stats.ratio_cases import Groups
from flowgauge.stats.same import SAME

_MOST_EXACT_RUNS = 500
_MOST_CASES = 500
"""Already their number of ways to be dealt, with one run a side, is beyond any alpha; that of more is beyond a float."""


class Constants(NamedTuple):
    """Means over the cases."""

    candidate: float
    baseline: float
    p: float
    """That so many runs, dealt to the sides at random within their cases, come out like this. It is 1 where nothing differs."""
    scaled: bool = False
    """The sides vary, and are the same but for one factor, which is not 1."""

    @property
    def same(self) -> bool:
        """Nothing differs."""
        return math.isclose(self.candidate, self.baseline, rel_tol=SAME)


def constants(matched: Matched) -> Constants | None:
    """None where something varies by itself."""
    if matched.design not in ("paired", "trials"):
        return None
    if not (_flat(matched.candidate) and _flat(matched.baseline)):
        return _scaled(matched)
    ours, theirs = [group[0] for group in matched.candidate], [group[0] for group in matched.baseline]
    if not _one(_factors(ours, theirs)):
        return None
    found = Constants(_mean(ours), _mean(theirs), 1.0)
    return found if found.same else found._replace(p=_chance(matched))


def _scaled(matched: Matched) -> Constants | None:
    """None where the runs of the sides, each in ascending order, do not all differ by one factor."""
    factors: list[float] = []
    for ours, theirs in zip(matched.candidate, matched.baseline, strict=True):
        factors = [*factors[:1], *_factors_of_case(ours, theirs)]
        if len(ours) != len(theirs) or not _one(factors) or math.inf in factors or any(map(_is_one, factors[:1])):
            return None
    ours, theirs = ([_mean(group) for group in side] for side in (matched.candidate, matched.baseline))
    found = Constants(_mean(ours), _mean(theirs), _chance(matched), scaled=True)
    return None if found.same else found


def _factors_of_case(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Of all runs; of the extremes only where those differ or are equal, which is enough to see that there is nothing to find."""
    ends = _factors([min(ours), max(ours)], [min(theirs), max(theirs)])
    if len(ours) != len(theirs) or not _one(ends) or any(map(_is_one, ends)):
        return ends
    return _factors(sorted(ours), sorted(theirs))


def _is_one(factor: float) -> bool:
    return math.isclose(factor, 1.0, rel_tol=SAME)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


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
    while math.comb(2 * runs, runs) ** min(cases, _MOST_CASES) * alpha < 1:
        runs += 1
    return runs * cases


def _flat(groups: Groups) -> bool:
    """What varies mostly shows it at the last value; what does not is mostly equal to the last digit, which is quickly counted."""
    for group in groups:
        if group[-1] != group[0] and not math.isclose(group[-1], group[0], rel_tol=SAME):
            return False
        if group.count(group[0]) != len(group) and not _even(group):
            return False
    return True


def _even(group: Sequence[float]) -> bool:
    """If the smallest and the largest are the same as the first, so is all between."""
    return all(math.isclose(value, group[0], rel_tol=SAME) for value in (min(group), max(group)))


def _factors(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    return [math.inf if not old else new / old for new, old in zip(ours, theirs, strict=True) if new or old]


def _one(factors: Sequence[float]) -> bool:
    return all(factor == factors[0] or math.isclose(factor, factors[0], rel_tol=SAME) for factor in factors)


def _chance(matched: Matched) -> float:
    sizes = list(zip(map(len, matched.candidate), map(len, matched.baseline), strict=True))
    if sum(matched.sizes) <= _MOST_EXACT_RUNS:
        return 1 / math.prod(math.comb(n + m, n) for n, m in sizes)
    return math.exp(math.fsum(math.lgamma(n + 1) + math.lgamma(m + 1) - math.lgamma(n + m + 1) for n, m in sizes))
