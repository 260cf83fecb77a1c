"""How many times larger is one mean than another? A ratio with its uncertainty, tested against any bound.

Samples, or the means of the same cases on both sides, in; p-values and an
interval out. Any finite values: zeros, ties and negative ones, too. The ratio
is None where the second mean is not positive, the interval where that mean is
not clearly different from zero. Refuses fewer than two units a side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from flowgauge.stats.intervals import Bounds
from flowgauge.stats.special import student_quantile, student_sf

_WORTH_NUMPY = 200_000


class Moments(NamedTuple):
    """Of one sample; `variance` with n - 1."""

    n: int
    mean: float
    variance: float


class _Form(NamedTuple):
    """The variance of `first - c · second` as a + 2bc + dc² (b is minus the covariance), and its degrees of freedom at c."""

    a: float
    b: float
    d: float
    degrees: Callable[[float], float]

    def variance(self, c: float) -> float:
        return self.a + 2 * self.b * c + self.d * c * c


class MeanRatio:
    """Of two means; several forms of their variance are all heeded: the largest p-value and the widest interval count."""

    def __init__(self, first: float, second: float, forms: Sequence[_Form]) -> None:
        self._first, self._second, self._forms = first, second, forms
        self.ratio = first / second if second > 0 else None

    def above(self, bound: float) -> float:
        """The p of "the first mean is at most bound times the second": small means above."""
        return max(self._p(form, bound, 1.0) for form in self._forms)

    def below(self, bound: float) -> float:
        """The p of "the first mean is at least bound times the second": small means below."""
        return max(self._p(form, bound, -1.0) for form in self._forms)

    def interval(self, level: float = 0.95) -> Bounds | None:
        """Fieller (1954), JRSS B 16(2): all bounds that a test at this level does not reject."""
        if self.ratio is None:
            return None
        found = [self._fieller(form, level) for form in self._forms]
        known = [bounds for bounds in found if bounds is not None]
        return (min(low for low, _ in known), max(high for _, high in known)) if len(known) == len(found) else None

    def error(self) -> float | None:
        """The standard error of the ratio."""
        if self.ratio is None:
            return None
        # A variance of next to nothing may come out below zero by rounding.
        return math.sqrt(max(0.0, *(form.variance(self.ratio) for form in self._forms))) / self._second

    def apart(self, one: float, other: float) -> float:
        """How far two ratios lie apart, on the scale of the error."""
        return abs(one - other)

    def _p(self, form: _Form, bound: float, sign: float) -> float:
        difference = sign * (self._first - bound * self._second)
        variance = form.variance(bound)
        if variance <= 0:
            return 0.0 if difference > 0 else 1.0
        return student_sf(difference / math.sqrt(variance), form.degrees(bound))

    def _fieller(self, form: _Form, level: float) -> Bounds | None:
        t = student_quantile((1 + level) / 2, form.degrees(self.ratio or 1.0))
        square = self._second**2 - t * t * form.d
        cross = self._first * self._second + t * t * form.b
        rest = self._first**2 - t * t * form.a
        root = cross * cross - square * rest
        if square <= 0 or root < 0:
            return None
        half = math.sqrt(root)
        return (cross - half) / square, (cross + half) / square


def of_samples(first: Sequence[float], second: Sequence[float]) -> MeanRatio:
    """Two independent samples: by Welch's variance and by Student's pooled one.

    Where the sides have as many values, the two differ in degrees of freedom only. Where they do not, Welch's alone raises false
    alarms on skewed data (a small side without its rare values looks sure of itself), and Student's alone on unequal spreads.
    """
    (n, mean, variance), (m, other_mean, other_variance) = moments(first), moments(second)
    weight = (1 / n + 1 / m) / (n + m - 2)
    pooled = _Form((n - 1) * variance * weight, 0.0, (m - 1) * other_variance * weight, lambda _: n + m - 2)
    a, d = variance / n, other_variance / m
    return MeanRatio(mean, other_mean, (_Form(a, 0.0, d, lambda c: welch_degrees(a, c * c * d, n, m)), pooled))


def of_cases(first: Sequence[float], second: Sequence[float]) -> MeanRatio:
    """The same cases on both sides: Student's t of their differences, so what cases have in common falls out."""
    n = len(first)
    (_, mean, variance), (_, other_mean, other_variance) = moments(first), moments(second)
    together = math.fsum((x - mean) * (y - other_mean) for x, y in zip(first, second, strict=True)) / (n - 1)
    return MeanRatio(mean, other_mean, (_Form(variance / n, -together / n, other_variance / n, lambda _: n - 1),))


def moments(values: Sequence[float]) -> Moments:
    """Of at least two values. A very large buffer of doubles is summed by numpy where that is installed."""
    n = len(values)
    if n >= _WORTH_NUMPY:
        try:
            import numpy as np
        except ImportError:
            pass
        else:
            column = np.asarray(values, dtype=np.float64)
            return Moments(n, float(column.mean()), float(column.var(ddof=1)))
    mean = math.fsum(values) / n
    return Moments(n, mean, math.fsum([(off := value - mean) * off for value in values]) / (n - 1))


def welch_degrees(a: float, b: float, n: int, m: int) -> float:
    """Of a sum of two variances of means: Satterthwaite (1946), Biometrics Bulletin 2(6)."""
    share = a / (a + b) if a + b > 0 else 0.5
    return 1 / (share * share / (n - 1) + (1 - share) ** 2 / (m - 1))
