"""Is a pass rate lower by more than the tolerance, or is that excluded?

Two rates in, an answer out. Tiers are made for few runs of one case: over many
runs, a drop of ten points is plain long before it is one of thirty. Harm
beyond the tolerance is a candidate's rate below (1 - tolerance) × the
baseline's. The bounds of p - (1 - tolerance) · p₀ are recovered from Wilson's
intervals of the two rates (Donner & Zou 2012, Stat. Methods Med. Res. 21(4));
found harm must pass Fisher's exact test as well, which keeps false alarms
below alpha however few runs there are. Of fewer than 10 runs a side those
bounds are too narrow to exclude anything.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from flowgauge.model.benchmark import Rate
from flowgauge.stats.intervals import wilson
from flowgauge.stats.special import normal_quantile
from flowgauge.stats.two_samples import fisher_tail

_FEWEST_RUNS, _MOST_RUNS = 10, 10_000_000


class Harm(NamedTuple):
    """Both False: the rates leave it open."""

    found: bool
    excluded: bool


def rate_harm(candidate: Rate, baseline: Rate, *, tolerance: float, alpha: float) -> Harm:
    """One-sided, each at level alpha. A side without a trial leaves it open."""
    if not candidate.total or not baseline.total:
        return Harm(found=False, excluded=False)
    low, high = _bounds((candidate.count, candidate.total), (baseline.count, baseline.total), tolerance, alpha)
    fewer = fisher_tail(candidate.total - candidate.count, candidate.total, baseline.total - baseline.count, baseline.total)
    return Harm(found=high < 0 and fewer <= alpha, excluded=low > 0 and min(candidate.total, baseline.total) >= _FEWEST_RUNS)


def runs_to_decide(candidate: Rate, baseline: Rate, *, tolerance: float, alpha: float) -> int | None:
    """How many runs a side would decide it if the rates stayed what they are; None where no number would, or a side has none."""
    if candidate.value is None or baseline.value is None:
        return None
    ours, theirs = candidate.value, baseline.value

    def decided(runs: int) -> bool:
        low, high = _bounds((round(ours * runs), runs), (round(theirs * runs), runs), tolerance, alpha)
        return low > 0 or high < 0

    short = enough = _FEWEST_RUNS
    while not decided(enough):
        short, enough = enough, 2 * enough
        if enough > _MOST_RUNS:
            return None
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (short, middle) if decided(middle) else (middle, enough)
    return enough


def _bounds(candidate: tuple[int, int], baseline: tuple[int, int], tolerance: float, alpha: float) -> tuple[float, float]:
    """Of p - (1 - tolerance) · p₀, each one-sided."""
    z, kept = normal_quantile(1 - alpha), 1 - tolerance
    rate, other = candidate[0] / candidate[1], baseline[0] / baseline[1]
    low, high = wilson(*candidate, z=z)
    other_low, other_high = wilson(*baseline, z=z)
    centre = rate - kept * other
    return (
        centre - math.hypot(rate - low, kept * (other_high - other)),
        centre + math.hypot(high - rate, kept * (other - other_low)),
    )
