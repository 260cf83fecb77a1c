"""Distribution functions: normal, Student's t, binomial ranks, by math alone.

Good to about 1e-13 of the value. Importing scipy for these would cost a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

_TINY = 1e-300
_EPSILON = 1e-16
_MOST_STEPS = 100_000


def normal_sf(z: float) -> float:
    """P(Z > z) of a standard normal variable."""
    return 0.5 * math.erfc(z / math.sqrt(2))


@lru_cache(maxsize=64)
def normal_quantile(p: float) -> float:
    """The z with P(Z ≤ z) = p: Newton's method from a rational start (Abramowitz & Stegun 1964, 26.2.23)."""
    if not 0 < p < 1:
        raise ValueError("A probability between 0 and 1, please.")
    if p == 0.5:
        return 0.0
    tail = min(p, 1 - p)
    root = math.sqrt(-2 * math.log(tail))
    z = root - (2.515517 + root * (0.802853 + root * 0.010328)) / (1 + root * (1.432788 + root * (0.189269 + root * 0.001308)))
    for _ in range(8):
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        step = (normal_sf(z) - tail) / density
        z += step
        if abs(step) <= 1e-15 * abs(z):
            break
    return z if p > 0.5 else -z


def beta_inc(a: float, b: float, x: float, rest: float | None = None) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction.

    DLMF 8.17.22; evaluated by Lentz's method as in Numerical Recipes, 6.4.
    `rest` is 1 - x where the caller knows it more exactly than x does.
    """
    y = 1 - x if rest is None else rest
    if x <= 0:
        return 0.0
    if y <= 0:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_fraction(b, a, y, x)
    return _beta_fraction(a, b, x, y)


def _beta_fraction(a: float, b: float, x: float, y: float) -> float:
    """I_x(a, b) where the continued fraction converges fast: x below (a + 1) / (a + b + 2). y is 1 - x."""
    log_x = math.log1p(-y) if y < 0.5 else math.log(x)
    log_y = math.log1p(-x) if x < 0.5 else math.log(y)
    front = math.exp(a * log_x + b * log_y - _log_beta(a, b)) / a
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _away_from_zero(1 + even * d)
        c = _away_from_zero(1 + even / c)
        fraction *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / _away_from_zero(1 + odd * d)
        c = _away_from_zero(1 + odd / c)
        fraction *= d * c
        if abs(d * c - 1) < _EPSILON * 4:
            break
    return front * fraction


def _log_beta(a: float, b: float) -> float:
    """The logarithm of B(a, b). Of half and a large number by a series: differences of large logarithms lose digits."""
    half, large = min(a, b), max(a, b)
    if half == 0.5 and large > 50:
        # ln Γ(a + 1/2) - ln Γ(a), DLMF 5.11.13
        ratio = 0.5 * math.log(large) - 1 / (8 * large) + 1 / (192 * large**3) - 1 / (640 * large**5)
        return 0.5 * math.log(math.pi) - ratio
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def student_sf(t: float, degrees: float) -> float:
    """P(T > t) of Student's t: half of I_x(ν/2, 1/2) at x = ν / (ν + t²) (DLMF 8.17; Abramowitz & Stegun 26.7.1)."""
    whole = degrees + t * t
    half = 0.5 * beta_inc(degrees / 2, 0.5, degrees / whole, t * t / whole)
    return half if t >= 0 else 1 - half


@lru_cache(maxsize=4096)
def student_quantile(p: float, degrees: float) -> float:
    """The t with P(T ≤ t) = p, by Newton's method.

    The upper tail is convex, and the normal quantile is below that of t: from there every step goes up and none goes too far.
    """
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -student_quantile(1 - p, degrees)
    tail, t = 1 - p, normal_quantile(p)
    scale = -_log_beta(degrees / 2, 0.5) - 0.5 * math.log(degrees)
    for _ in range(500):
        density = math.exp(scale - (degrees + 1) / 2 * math.log1p(t * t / degrees))
        step = (student_sf(t, degrees) - tail) / density
        t += step
        if abs(step) <= 1e-13 * t:
            break
    return t


@lru_cache(maxsize=4096)
def binomial_bounds(n: int, share: float, tail: float) -> tuple[int, int]:
    """The most k with P(B < k) ≤ tail, and the least k with P(B ≥ k) ≤ tail, of B ~ Binomial(n, share).

    Weights relative to that of the mode, summed outwards: no gamma function, so nothing cancels however large n is.
    """
    mode = min(n, int((n + 1) * share))
    odds = share / (1 - share)
    down, up = [1.0], []
    for k in range(mode, 0, -1):
        down.append(down[-1] * k / ((n - k + 1) * odds))
        if down[-1] < 1e-25:
            break
    weight = 1.0
    for k in range(mode, n):
        weight *= (n - k) * odds / (k + 1)
        up.append(weight)
        if weight < 1e-25:
            break
    allowed = tail * (math.fsum(down) + math.fsum(up)) * (1 + 1e-12)
    weights = [*reversed(down), *up]
    first = mode - len(down) + 1
    low = first + _within(weights, allowed)
    high = first + len(weights) - _within(reversed(weights), allowed)
    return low, high


def _within(weights: Iterable[float], allowed: float) -> int:
    """How many weights from the start sum to no more than allowed."""
    total, count = 0.0, 0
    for weight in weights:
        total += weight
        if total > allowed:
            break
        count += 1
    return count


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
