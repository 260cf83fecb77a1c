"""How many times larger is a typical value of one sample than of another? For positive, skewed values with outliers.

Positive numbers in, a ratio with p-values and an interval out, on the scale of
logarithms: twice as much is as far as half as much. By ranks where there are
enough units for them, else by Student's t of the logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from flowgauge.stats.intervals import Bounds
from flowgauge.stats.ratio_means import moments, welch_degrees
from flowgauge.stats.ratio_ranks import Ranks, SignedRanks
from flowgauge.stats.special import student_quantile, student_sf

FEWEST_FOR_RANKS = 5
"""Values a side. Of fewer, even the clearest order is too likely by chance."""
FEWEST_FOR_SIGNED_RANKS = 20
"""Cases. Of fewer, Student's t finds more (measured)."""


class Shift(Protocol):
    """A difference of logarithms: how far the first lies above the second."""

    @property
    def centre(self) -> float:
        """The estimate."""

    def above(self, bound: float) -> float:
        """The p of "it is at most the bound"."""

    def below(self, bound: float) -> float:
        """The p of "it is at least the bound"."""

    def interval(self, level: float = 0.95) -> Bounds | None:
        """None where the sample cannot carry one."""

    def error(self) -> float | None:
        """About the standard error of the centre."""


class TypicalRatio:
    """A shift of logarithms, told as a ratio."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self.ratio = math.exp(shift.centre)

    def above(self, bound: float) -> float:
        """The p of "the ratio is at most the bound": small means above."""
        return self._shift.above(math.log(bound))

    def below(self, bound: float) -> float:
        """The p of "the ratio is at least the bound": small means below."""
        return self._shift.below(math.log(bound))

    def interval(self, level: float = 0.95) -> Bounds | None:
        """None where the sample cannot carry one."""
        bounds = self._shift.interval(level)
        return None if bounds is None else (math.exp(bounds[0]), math.exp(bounds[1]))

    def error(self) -> float | None:
        """About the standard error of the ratio's logarithm."""
        return self._shift.error()

    def apart(self, one: float, other: float) -> float:
        """How far two ratios lie apart, on the scale of the error."""
        return abs(math.log(one) - math.log(other))


class StudentShift:
    """By Student's t. Of two samples the larger p-value of the pooled variance and of Welch's counts."""

    def __init__(self, centre: float, forms: Sequence[tuple[float, float]]) -> None:
        self.centre = centre
        self._forms = forms

    def above(self, bound: float) -> float:
        """The p of "it is at most the bound"."""
        return max(_tail(self.centre - bound, variance, degrees) for variance, degrees in self._forms)

    def below(self, bound: float) -> float:
        """The p of "it is at least the bound"."""
        return max(_tail(bound - self.centre, variance, degrees) for variance, degrees in self._forms)

    def interval(self, level: float = 0.95) -> Bounds | None:
        """The wider one."""
        half = max(student_quantile((1 + level) / 2, degrees) * math.sqrt(variance) for variance, degrees in self._forms)
        return self.centre - half, self.centre + half

    def error(self) -> float | None:
        """The larger one."""
        return math.sqrt(max(variance for variance, _ in self._forms))


def of_samples(first: Sequence[float], second: Sequence[float]) -> tuple[TypicalRatio, str]:
    """Two independent samples of positive values, and the name of the test."""
    if min(len(first), len(second)) >= FEWEST_FOR_RANKS:
        return TypicalRatio(Ranks(first, second)), "rank test (Mann-Whitney)"
    (n, mean, variance), (m, other_mean, other_variance) = (moments([math.log(value) for value in side]) for side in (first, second))
    a, b = variance / n, other_variance / m
    pooled = ((n - 1) * variance + (m - 1) * other_variance) / (n + m - 2) * (1 / n + 1 / m)
    return TypicalRatio(StudentShift(mean - other_mean, ((a + b, welch_degrees(a, b, n, m)), (pooled, n + m - 2)))), "t test of logarithms"


def of_log_ratios(shifts: Sequence[float], *, tied: bool) -> tuple[TypicalRatio, str]:
    """One log ratio a case, and the name of the test. `tied`: many are the same, so ranks say little."""
    if len(shifts) >= FEWEST_FOR_SIGNED_RANKS and not tied:
        return TypicalRatio(SignedRanks(shifts)), "signed rank test (Wilcoxon)"
    n, mean, variance = moments(shifts)
    return TypicalRatio(StudentShift(mean, ((variance / n, n - 1),))), "t test over cases"


def _tail(difference: float, variance: float, degrees: float) -> float:
    if variance <= 0:
        return 0.0 if difference > 0 else 1.0
    return student_sf(difference / math.sqrt(variance), degrees)
