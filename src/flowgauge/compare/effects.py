"""How far one metric moved between two sides, and how sure that is.

Matched samples in, an effect out: a ratio that can be tested against any bound.
Positive, skewed values (latency, cost, tokens) are judged by their typical
value, so that a few outliers do not hide a change; scores and whatever has
zeros, negative values or many equal ones by the mean. The mean of the former is
watched besides: more slow runs are harm, even where the typical run is as fast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple, Protocol

from flowgauge.compare.matching import Matched
from flowgauge.model.figure import Direction
from flowgauge.stats import ratio_means, ratio_typical
from flowgauge.stats.intervals import Bounds
from flowgauge.stats.ratio_cases import Cases, log_ratios
from flowgauge.stats.ratio_ranks import thinned
from flowgauge.stats.same import SAME, tie_sizes

_MEAN_SHARE = 0.1
"""Of alpha, for harm that only the mean shows; from so many units a side, where that costs next to no power."""
_FEWEST_FOR_BOTH = 10
_MOST_TIED = 0.2


class RatioView(Protocol):
    """A ratio with its uncertainty."""

    @property
    def ratio(self) -> float | None:
        """None where it is not defined."""

    def above(self, bound: float) -> float:
        """The p of "it is at most the bound"."""

    def below(self, bound: float) -> float:
        """The p of "it is at least the bound"."""

    def interval(self, level: float = 0.95) -> Bounds | None:
        """None where the samples cannot carry one."""

    def error(self) -> float | None:
        """Its standard error, on the view's own scale."""

    def apart(self, one: float, other: float) -> float:
        """How far two ratios are apart on that scale."""


class Reading(NamedTuple):
    """One way to see an effect: the view, and what it makes of the candidate and of the baseline."""

    view: RatioView
    candidate: float
    baseline: float
    words: str

    def harm(self, tolerance: float, direction: Direction) -> float:
        """The p of "harm is within the tolerance"."""
        bound = self.bound(tolerance, direction)
        return self.view.above(bound) if direction == "lower" else self.view.below(bound)

    def harmless(self, tolerance: float, direction: Direction) -> float:
        """The p of "harm is beyond the tolerance"."""
        bound = self.bound(tolerance, direction)
        return self.view.below(bound) if direction == "lower" else self.view.above(bound)

    def better(self, direction: Direction) -> float:
        """The p of "it is no better"."""
        return self.view.below(1.0) if direction == "lower" else self.view.above(1.0)

    def bound(self, tolerance: float, direction: Direction) -> float:
        """The ratio at which the tolerance ends; for a negative baseline, too, it lies towards harm."""
        towards = 1 if (direction == "lower") is (self.baseline >= 0) else -1
        return 1 + towards * tolerance


class Effect(NamedTuple):
    """`mean` is None where the effect is judged by the mean anyway."""

    typical: Reading
    mean: Reading | None
    matched: Matched
    logs: bool

    def harm(self, tolerance: float, direction: Direction) -> tuple[float, bool]:
        """The p of "harm is within the tolerance", over both views; and whether it is the mean that shows it."""
        p = self.typical.harm(tolerance, direction)
        if self.mean is None or min(self.matched.units) < _FEWEST_FOR_BOTH:
            return p, False
        shared, of_mean = p / (1 - _MEAN_SHARE), self.mean.harm(tolerance, direction) / _MEAN_SHARE
        return min(1.0, shared, of_mean), of_mean < shared


def effect_of(matched: Matched, direction: Direction) -> Effect:
    """By the design and by what the values are like; the latter looks at both sides together, so it favours none."""
    ours, theirs = Cases(matched.candidate), Cases(matched.baseline)
    skewed = min(ours.low, theirs.low) > 0 and (direction == "lower" or max(ours.high, theirs.high) > 1)
    return (_paired if matched.design == "paired" else _two_samples)(ours, theirs, matched, skewed=skewed)


def _two_samples(ours: Cases, theirs: Cases, matched: Matched, *, skewed: bool) -> Effect:
    """Each side's runs, or its cases, as a sample."""
    first, second = _each_case(ours, theirs, skewed=skewed) if matched.design == "unpaired" else (matched.candidate[0], matched.baseline[0])
    mean = _by_means(ratio_means.of_samples(first, second), first, second, f"{matched.words}; means; t test")
    if not skewed or _tied(_logs(first), _logs(second)):
        return Effect(mean, None, matched, logs=False)
    view, test = ratio_typical.of_samples(first, second)
    words = f"{matched.words}; typical run; {test}"
    return Effect(_by_medians(view, Cases([first]).medians, Cases([second]).medians, words), mean, matched, logs=True)


def _each_case(ours: Cases, theirs: Cases, *, skewed: bool) -> tuple[Sequence[float], Sequence[float]]:
    return (ours.medians, theirs.medians) if skewed else (ours.means, theirs.means)


def _paired(ours: Cases, theirs: Cases, matched: Matched, *, skewed: bool) -> Effect:
    """One ratio a case, then a test over cases."""
    view_of_means = ratio_means.of_cases(ours.means, theirs.means)
    mean = _by_means(view_of_means, ours.means, theirs.means, f"{matched.words}; means; t test over cases")
    shifts = log_ratios(ours, theirs) if skewed else []
    if not shifts or max(shifts) - min(shifts) <= SAME:
        return Effect(mean, None, matched, logs=False)
    view, test = ratio_typical.of_log_ratios(shifts, tied=_tied(shifts))
    return Effect(_by_medians(view, ours.medians, theirs.medians, f"{matched.words}; typical run; {test}"), mean, matched, logs=True)


def _by_means(view: RatioView, ours: Sequence[float], theirs: Sequence[float], words: str) -> Reading:
    return Reading(view, math.fsum(ours) / len(ours), math.fsum(theirs) / len(theirs), words)


def _by_medians(view: ratio_typical.TypicalRatio, ours: Sequence[float], theirs: Sequence[float], words: str) -> Reading:
    """The ratio is made of all pairs of runs, not of two medians; the figures are moved to it, both by the same factor."""
    logs = [math.fsum(map(math.log, medians)) / len(medians) for medians in (ours, theirs)]
    middle, half = sum(logs) / 2, math.log(view.ratio) / 2
    return Reading(view, math.exp(middle + half), math.exp(middle - half), words)


def _logs(positive: Sequence[float]) -> list[float]:
    return [math.log(value) for value in thinned(positive)]


def _tied(*logs: Sequence[float]) -> bool:
    """Is one value so common that ranks say little?"""
    values = sorted(chain.from_iterable(map(thinned, logs)))
    return max(tie_sizes(values)) > max(2, _MOST_TIED * len(values))
