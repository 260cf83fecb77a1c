"""Intervals by resampling, for statistics that have no formula of their own.

Cases in, a pair of bounds out; the generator is seeded, so the same cases give
the same bounds. None where the statistic is undefined for the sample or for
more than one resample in twenty, or where there are fewer than two cases.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from flowgauge.stats.describe import quantile
from flowgauge.stats.special import normal_quantile, normal_sf, student_quantile

T = TypeVar("T")
Statistic = Callable[[Sequence[T]], float | None]

_MOST_LEFT_OUT_ONCE = 200
_DRAWS = 200_000
"""Resamples times cases: what one interval may cost. Fewer resamples of a large sample, never fewer than 200."""


def bca(
    cases: Sequence[T], statistic: Statistic[T], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> tuple[float, float] | None:
    """Bias-corrected and accelerated bounds: Efron (1987), JASA 82(397), section 2."""
    estimate = statistic(cases) if len(cases) > 1 else None
    if estimate is None:
        return None
    wanted = max(200, min(resamples, _DRAWS // len(cases)))
    found = _resample(cases, statistic, wanted, seed)
    if len(found) < wanted * 0.95:
        return None
    if found[0] == found[-1]:
        return found[0], found[0]
    bias = _bias(found, estimate)
    pull = _acceleration(cases, statistic)
    tail = (1 - level) / 2
    return tuple(quantile(found, _shifted(p, bias, pull)) for p in (tail, 1 - tail))  # type: ignore[return-value]


def bca_p_value(first: Sequence[T], second: Sequence[T], statistic: Statistic[T], *, resamples: int = 2000, seed: int = 0) -> float | None:
    """Are two samples' statistics different? Two-sided, from the level at which the difference's BCa interval just leaves out zero.

    Efron & Tibshirani (1993), equation 15.34. Each sample is resampled by itself.
    """
    ours, theirs = (statistic(sample) if len(sample) > 1 else None for sample in (first, second))
    if ours is None or theirs is None:
        return None
    wanted = max(200, min(resamples, _DRAWS // (len(first) + len(second))))
    found = _differences(first, second, statistic, wanted, seed)
    if len(found) < wanted * 0.95:
        return None
    if found[0] == found[-1]:
        return 1.0 if found[0] == 0 else None
    bias = _bias(found, ours - theirs)
    pull = _pull(_influences(first, statistic) + [-pulled for pulled in _influences(second, statistic)])
    distance = _bias(found, 0.0) - bias
    below = 1 + pull * distance
    if below <= 0:
        return None
    upper = normal_sf(distance / below - bias)
    return min(1.0, 2 * min(upper, 1 - upper))


def grouped_jackknife(cases: Sequence[T], statistic: Statistic[T], *, level: float = 0.95, groups: int = 20) -> tuple[float, float] | None:
    """Bounds for large samples, where resampling is slow and the estimate is near normal: Efron & Tibshirani (1993), chapter 11.

    The estimate, less and plus t times the error that leaving out one group of cases after another shows.
    """
    estimate = statistic(cases) if len(cases) >= groups else None
    left_out = _left_out(cases, statistic, groups) if estimate is not None else []
    if estimate is None or len(left_out) < groups:
        return None
    centre = math.fsum(left_out) / groups
    error = math.sqrt((groups - 1) / groups * math.fsum((value - centre) ** 2 for value in left_out))
    half = student_quantile((1 + level) / 2, groups - 1) * error
    return estimate - half, estimate + half


def ratio_of_means(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Mean of the firsts over mean of the seconds; None where the latter is zero."""
    below = math.fsum(second for _, second in pairs)
    return math.fsum(first for first, _ in pairs) / below if below else None


def _resample(cases: Sequence[T], statistic: Statistic[T], wanted: int, seed: int) -> list[float]:
    chance = random.Random(seed)
    found = (statistic(chance.choices(cases, k=len(cases))) for _ in range(wanted))
    return sorted(value for value in found if value is not None)


def _differences(first: Sequence[T], second: Sequence[T], statistic: Statistic[T], wanted: int, seed: int) -> list[float]:
    chance = random.Random(seed)
    drawn = ([statistic(chance.choices(sample, k=len(sample))) for sample in (first, second)] for _ in range(wanted))
    return sorted(ours - theirs for ours, theirs in drawn if ours is not None and theirs is not None)


def _bias(found: Sequence[float], estimate: float) -> float:
    """z₀: where the estimate stands among its resamples. Ties count half, and the ends are kept finite."""
    below = sum(value < estimate for value in found)
    equal = sum(value == estimate for value in found)
    share = (below + equal / 2) / len(found)
    edge = 0.5 / len(found)
    return normal_quantile(min(max(share, edge), 1 - edge))


def _acceleration(cases: Sequence[T], statistic: Statistic[T]) -> float:
    """a: the skewness of what leaving cases out does, one by one, or in equal groups where there are many."""
    return _pull(_influences(cases, statistic))


def _influences(cases: Sequence[T], statistic: Statistic[T]) -> list[float]:
    known = _left_out(cases, statistic, min(len(cases), _MOST_LEFT_OUT_ONCE))
    centre = math.fsum(known) / len(known) if len(known) > 1 else 0.0
    return [centre - value for value in known] if len(known) > 1 else []


def _pull(influences: Sequence[float]) -> float:
    squares = math.fsum(one**2 for one in influences)
    cubes = math.fsum(one**3 for one in influences)
    return cubes / (6 * squares**1.5) if squares > 0 and squares**1.5 > 0 else 0.0


def _left_out(cases: Sequence[T], statistic: Statistic[T], groups: int) -> list[float]:
    """The statistic without each group in turn, where it is defined."""
    without = (statistic([case for i, case in enumerate(cases) if i % groups != group]) for group in range(groups))
    return [value for value in without if value is not None]


def _shifted(p: float, bias: float, pull: float) -> float:
    z = bias + normal_quantile(p)
    below = 1 - pull * z
    if below <= 0:
        return 1.0 if z > 0 else 0.0
    return 1 - normal_sf(bias + z / below)
