"""Which tier a pass rate falls into, against its baseline's.

Counts in, a tier with the change and its one-sided p out. Decided on fractions,
with ≤ and ≥ throughout: 0 of 3 against 3 of 3 has p = 1/20 and is a hard
regression. Rationals of many thousand trials would be huge; there the p-value
is a float, good to eleven digits.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flowgauge.model.verdict import Tier
from flowgauge.stats.two_samples import fisher_tail

CERTAIN, LIKELY = Fraction(1, 20), Fraction(1, 5)
"""The p at which a change counts as one, and as a likely one."""
_LARGE, _SOFT, _WATCHED = Fraction(30, 100), Fraction(15, 100), Fraction(35, 100)
_RELIABLE, _USABLE = Fraction(70, 100), Fraction(50, 100)


class Tiered(NamedTuple):
    """`delta` and `p` are None where a side has no trial."""

    tier: Tier
    delta: Fraction | None = None
    p: Fraction | float | None = None
    """That chance alone moves it so far in the direction in which it moved; downwards where it did not move."""


@lru_cache(maxsize=8192)
def tier_of(candidate_passes: int, candidate_n: int, baseline_passes: int, baseline_n: int) -> Tiered:
    """The candidate's tier. Shared between equal tables: many cases have few different ones."""
    if not candidate_n or not baseline_n:
        return Tiered("insufficient_data")
    rate = Fraction(baseline_passes, baseline_n)
    delta = Fraction(candidate_passes, candidate_n) - rate
    up = delta > 0
    p = (
        fisher_tail(candidate_passes, candidate_n, baseline_passes, baseline_n)
        if up
        else fisher_tail(candidate_n - candidate_passes, candidate_n, baseline_n - baseline_passes, baseline_n)
    )
    return Tiered(_tier(delta, p, rate), delta, p)


def _tier(delta: Fraction, p: Fraction | float, baseline_rate: Fraction) -> Tier:
    """The first that fits. A change of the other sign fits none of the first four, whatever its p."""
    if p <= CERTAIN and delta >= _LARGE:
        return "improvement"
    if p <= CERTAIN and delta <= -_LARGE:
        return "hard_regression" if baseline_rate >= _RELIABLE else "unreliable_baseline"
    if p <= LIKELY and delta <= -_SOFT and baseline_rate >= _USABLE:
        return "soft_regression"
    return "watch" if abs(delta) >= _WATCHED else "stable"
