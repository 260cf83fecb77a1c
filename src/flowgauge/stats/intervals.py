"""How sure an estimate is: intervals that hold the truth 95 times in 100 unless asked otherwise.

None where the sample cannot carry one. An interval is a pair (low, high).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flowgauge.stats.describe import mean, stdev
from flowgauge.stats.special import binomial_bounds, student_quantile

Bounds = tuple[float, float]


def wilson(count: int, total: int, *, z: float = 1.96) -> Bounds:
    """Of a rate: Wilson (1927), JASA 22, equation 1 as a score interval. No trial: anything from 0 to 1."""
    if not 0 <= count <= total:
        raise ValueError(f"{count} of {total} is no rate.")
    if not total:
        return 0.0, 1.0
    rate, square = count / total, z * z
    centre = rate + square / (2 * total)
    half = z * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    scale = 1 + square / total
    low = 0.0 if count == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if count == total else min(1.0, (centre + half) / scale)
    return low, high


def mean_interval(values: Sequence[float], *, level: float = 0.95) -> Bounds | None:
    """Of a mean, by Student's t (1908), Biometrika 6(1). None for fewer than two values."""
    spread = stdev(values)
    return None if spread is None else mean_interval_of(len(values), mean(values), spread, level=level)


def mean_interval_of(n: int, centre: float, spread: float | None, *, level: float = 0.95) -> Bounds | None:
    """The same, where mean and standard deviation are known already."""
    if n < 2 or spread is None:
        return None
    half = student_quantile((1 + level) / 2, n - 1) * spread / math.sqrt(n)
    return centre - half, centre + half


def quantile_interval(ordered: Sequence[float], share: float, *, level: float = 0.95) -> Bounds | None:
    """Of a quantile of an ascending sample, between two of its values: David & Nagaraja, Order Statistics (2003), 7.1.

    Assumes nothing about the distribution. How many values lie below the true
    quantile is binomial; each side is left out with at most half of 1 - level.
    None where even the whole sample would not cover it: the median needs 6
    values, the 90th percentile 36, the 95th 72, the 99th 368.
    """
    n = len(ordered)
    if n < 2:
        return None
    low, high = binomial_bounds(n, share, (1 - level) / 2)
    if low < 1 or high > n:
        return None
    return ordered[low - 1], ordered[high - 1]
