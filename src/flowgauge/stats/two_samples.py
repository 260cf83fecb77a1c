"""Do two samples differ by more than chance?

Counts or lists of floats in, probabilities out. A small p says that a
difference this large would be rare if there were none; it says nothing about
the size of the difference. None where a side has too few values to say.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flowgauge.stats.describe import mean, stdev
from flowgauge.stats.special import normal_quantile, normal_sf, student_sf

_MOST_EXACT_PAIRS = 1600
"""Up to 40 values against 40 the exact distribution of U takes milliseconds; beyond, the normal one is as good."""
_MOST_EXACT_TRIALS = 2000
_NEGLIGIBLE = 1e-30


class RankTest(NamedTuple):
    """`superiority`: how often a value of the first sample lies above one of the second, ties counted half."""

    u: float
    p_value: float
    """Two-sided."""
    superiority: float
    exact: bool


class MeanTest(NamedTuple):
    """`p_value` is two-sided; `difference` is the first mean less the second."""

    difference: float
    t: float
    degrees: float
    p_value: float


def fisher_greater(count: int, total: int, other_count: int, other_total: int) -> Fraction:
    """One-sided exact p that the first rate is above the second: Fisher (1935), JRSS 98(1).

    The chance, with all margins fixed, of at least `count` successes on the
    first side. A fraction, so that p ≤ 1/20 is decided by arithmetic and not by rounding.
    """
    if not (0 <= count <= total and 0 <= other_count <= other_total):
        raise ValueError(f"{count} of {total} against {other_count} of {other_total} is no table.")
    successes, everything = count + other_count, total + other_total
    most = min(total, successes)
    ways = math.comb(total, count) * math.comb(other_total, successes - count)
    tail = ways
    for k in range(count, most):
        # The next table's ways from this one's; exact, since C(n, k+1) (k+1) = C(n, k) (n-k).
        ways = ways * (total - k) * (successes - k) // ((k + 1) * (other_total - successes + k + 1))
        tail += ways
    return Fraction(tail, math.comb(everything, successes))


def fisher_less(count: int, total: int, other_count: int, other_total: int) -> Fraction:
    """One-sided exact p that the first rate is below the second."""
    return fisher_greater(total - count, total, other_total - other_count, other_total)


def fisher_tail(count: int, total: int, other_count: int, other_total: int) -> Fraction | float:
    """`fisher_greater`, in floats where its rationals would be huge."""
    tail = _greater_in_floats if total + other_total > _MOST_EXACT_TRIALS else fisher_greater
    return tail(count, total, other_count, other_total)


def fisher_two_sided(count: int, total: int, other_count: int, other_total: int) -> float:
    """Twice the smaller tail, at most 1: the central two-sided test."""
    above = fisher_tail(count, total, other_count, other_total)
    below = fisher_tail(total - count, total, other_total - other_count, other_total)
    return float(min(1, 2 * min(above, below)))


def _greater_in_floats(count: int, total: int, other_count: int, other_total: int) -> float:
    """The same tail from weights relative to the likeliest table: all are positive, so nothing cancels."""
    successes = count + other_count
    least, most = max(0, successes - other_total), min(total, successes)
    mode = min(most, max(least, (total + 1) * (successes + 1) // (total + other_total + 2)))
    weights = {mode: 1.0}
    weight = 1.0
    for k in range(mode, most):
        weight *= (total - k) * (successes - k) / ((k + 1) * (other_total - successes + k + 1))
        weights[k + 1] = weight
        if weight < _NEGLIGIBLE:
            break
    weight = 1.0
    for k in range(mode, least, -1):
        weight *= k * (other_total - successes + k) / ((total - k + 1) * (successes - k + 1))
        weights[k - 1] = weight
        if weight < _NEGLIGIBLE:
            break
    return math.fsum(weight for k, weight in weights.items() if k >= count) / math.fsum(weights.values())


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> RankTest | None:
    """Rank test of Mann & Whitney (1947), Ann. Math. Statist. 18(1). None where a side is empty.

    Exact without ties and with few values; else normal with the tie correction
    (Lehmann, Nonparametrics, 1975, 1.4) and the continuity correction.
    """
    n, m = len(first), len(second)
    if not n or not m:
        return None
    u, ties = _u_and_ties(sorted(first), sorted(second))
    exact = not ties and n * m <= _MOST_EXACT_PAIRS
    p = _exact_u_p(u, n, m) if exact else _normal_u_p(u, n, m, ties)
    return RankTest(u, p, u / (n * m), exact)


def welch(first: Sequence[float], second: Sequence[float]) -> MeanTest | None:
    """The t test for unequal variances: Welch (1947), Biometrika 34; degrees of freedom by Satterthwaite (1946).

    None for fewer than two values a side. Without any spread, equal means have p 1 and different ones p 0.
    """
    n, m = len(first), len(second)
    spread, other = stdev(first), stdev(second)
    if spread is None or other is None:
        return None
    difference = mean(first) - mean(second)
    a, b = spread * spread / n, other * other / m
    if a + b == 0:
        return MeanTest(difference, math.copysign(math.inf, difference) if difference else 0.0, n + m - 2, 0.0 if difference else 1.0)
    t = difference / math.sqrt(a + b)
    share = a / (a + b)
    degrees = 1 / (share * share / (n - 1) + (1 - share) ** 2 / (m - 1))
    return MeanTest(difference, t, degrees, min(1.0, 2 * student_sf(abs(t), degrees)))


def u_at_least(u: float, n: int, m: int, ties: float) -> float:
    """One-sided p of the rank test: that U of n values against m is at least so large. `ties` is Σ(t³ - t) over groups of equal values."""
    if not ties and n * m <= _MOST_EXACT_PAIRS:
        return float(Fraction(_u_counts(min(n, m), max(n, m))[n * m - math.ceil(u)], math.comb(n + m, n)))
    deviation = math.sqrt(max(0.0, _u_variance(n, m, ties)))
    return normal_sf((u - n * m / 2 - 0.5) / deviation) if deviation else 1.0


@lru_cache(maxsize=256)
def u_depth(n: int, m: int, tail: float) -> int:
    """The most k with P(U < k) ≤ tail; 0 where there is none."""
    if n * m <= _MOST_EXACT_PAIRS:
        return bisect_right(_u_counts(min(n, m), max(n, m)), Fraction(tail) * math.comb(n + m, n))
    return max(0, math.floor(n * m / 2 - normal_quantile(1 - tail) * math.sqrt(_u_variance(n, m, 0)) + 0.5))


def _u_and_ties(first: Sequence[float], second: Sequence[float]) -> tuple[float, int]:
    """U of the first of two ascending samples, and Σ(t³ - t) over groups of equal values: one walk along both."""
    n, m = len(first), len(second)
    i = j = twice_u = ties = 0
    while i < n or j < m:
        value = min(first[i] if i < n else math.inf, second[j] if j < m else math.inf)
        i_end, j_end = _run_end(first, i, value), _run_end(second, j, value)
        twice_u += (i_end - i) * (j + j_end)
        group = i_end - i + j_end - j
        if group > 1:
            ties += group**3 - group
        i, j = i_end, j_end
    return twice_u / 2, ties


def _run_end(ordered: Sequence[float], start: int, value: float) -> int:
    end = start
    while end < len(ordered) and ordered[end] == value:
        end += 1
    return end


def _exact_u_p(u: float, n: int, m: int) -> float:
    cumulative = _u_counts(min(n, m), max(n, m))
    smaller = min(int(u), n * m - int(u))
    return min(1.0, float(Fraction(2 * cumulative[smaller], math.comb(n + m, n))))


@lru_cache(maxsize=64)
def _u_counts(n: int, m: int) -> tuple[int, ...]:
    """How many arrangements have U of at most 0, 1, 2, …: sums of the Gaussian binomial coefficient's terms."""
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for k in range(n * m, m + i - 1, -1):  # times (1 - x^(m+i))
            counts[k] -= counts[k - m - i]
        for k in range(i, n * m + 1):  # by (1 - x^i)
            counts[k] += counts[k - i]
    total, sums = 0, []
    for count in counts:
        total += count
        sums.append(total)
    return tuple(sums)


def _normal_u_p(u: float, n: int, m: int, ties: int) -> float:
    variance = _u_variance(n, m, ties)
    if variance <= 0:
        return 1.0
    z = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return min(1.0, 2 * normal_sf(z))


def _u_variance(n: int, m: int, ties: float) -> float:
    pooled = n + m
    return n * m / 12 * (pooled + 1 - ties / (pooled * (pooled - 1)))
