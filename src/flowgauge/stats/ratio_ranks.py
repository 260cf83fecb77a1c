"""How far does one sample lie above another, by ranks? Outliers weigh no more than any other value.

Positive values, or one difference a case, in; shifts of logarithms with exact
or normal p-values and intervals out. The centre is that of Hodges & Lehmann
(1963), Ann. Math. Statist. 34(2): the median of all differences between the
samples, or of all means of two cases. Under the hypothesis that nothing but a
shift tells the sides apart the p-values hold for any distribution. Values that
differ by less than one in 10⁹ are ties.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache

from flowgauge.stats.intervals import Bounds
from flowgauge.stats.same import SAME, tie_ends
from flowgauge.stats.special import normal_quantile, normal_sf
from flowgauge.stats.two_samples import u_at_least, u_depth

_MOST_VALUES = 1000
"""Of a larger sample so many evenly spaced quantiles stand for it; the error of that is far below the sampling error."""
_MOST_ENUMERATED = 10_000
_MOST_EXACT_CASES = 60
_CLOSE = 1e-11
_WORTH_NUMPY = 200_000


class Ranks:
    """Two independent samples of positive values: Mann & Whitney (1947)."""

    def __init__(self, first: Sequence[float], second: Sequence[float]) -> None:
        self._n, self._m = len(first), len(second)
        self._first, self._second = ([math.log(value) for value in thinned(side)] for side in (first, second))
        self._weight = self._n * self._m / (len(self._first) * len(self._second))
        self._nth = _nth_of(self._differences, self._within, self._first[0] - self._second[-1], self._first[-1] - self._second[0])
        self.centre = _middle(self._nth, len(self._first) * len(self._second))

    def above(self, bound: float) -> float:
        """The p of "it is at most the bound"."""
        u, ties = self._u(bound)
        return u_at_least(u, self._n, self._m, ties)

    def below(self, bound: float) -> float:
        """The p of "it is at least the bound"."""
        u, ties = self._u(bound)
        return u_at_least(self._n * self._m - u, self._n, self._m, ties)

    def interval(self, level: float = 0.95) -> Bounds | None:
        """From the k-th smallest to the k-th largest difference; None where even the whole range would not cover it."""
        depth = u_depth(self._n, self._m, (1 - level) / 2)
        return _bounds(self._nth, depth / self._weight, len(self._first) * len(self._second)) if depth >= 1 else None

    def error(self) -> float | None:
        """From the width of the interval."""
        return _error(self.interval())

    def _u(self, shift: float) -> tuple[float, float]:
        """How many pairs differ by more than the shift, ties counted half; and Σ(t³ - t) over groups of same values."""
        moved = [value - shift for value in self._first]
        above = below = twice = ties = 0
        for end in tie_ends(sorted([*moved, *self._second])):
            above_end, below_end = bisect_right(moved, end, above), bisect_right(self._second, end, below)
            twice += (above_end - above) * (below + below_end)
            tied = above_end - above + below_end - below
            ties += tied**3 - tied
            above, below = above_end, below_end
        scale = ((self._n + self._m) / (len(moved) + len(self._second))) ** 3
        return twice / 2 * self._weight, ties * scale

    def _within(self, shift: float) -> float:
        """How many pairs differ by no more than the shift."""
        total = len(self._second)
        return sum(total - bisect_left(self._second, value - shift) for value in self._first)

    def _differences(self) -> list[float] | None:
        if len(self._first) * len(self._second) > _MOST_ENUMERATED:
            return None
        return sorted(value - other for value in self._first for other in self._second)


class SignedRanks:
    """One difference a case: Wilcoxon (1945), Biometrics Bulletin 1(6); zeros and ties by Pratt (1959), JASA 54."""

    def __init__(self, differences: Sequence[float]) -> None:
        self._n = len(differences)
        self._values = thinned(differences)
        self._weight = self._n * (self._n + 1) / (len(self._values) * (len(self._values) + 1))
        self._nth = _nth_of(self._means, self._within, self._values[0], self._values[-1])
        self.centre = _middle(self._nth, len(self._values) * (len(self._values) + 1) // 2)

    def above(self, bound: float) -> float:
        """The p of "it is at most the bound"."""
        return self._p([value - bound for value in self._values])

    def below(self, bound: float) -> float:
        """The p of "it is at least the bound"."""
        return self._p([bound - value for value in reversed(self._values)])

    def interval(self, level: float = 0.95) -> Bounds | None:
        """From the k-th smallest to the k-th largest mean of two cases."""
        depth = _signed_depth(self._n, (1 - level) / 2)
        return _bounds(self._nth, depth / self._weight, len(self._values) * (len(self._values) + 1) // 2) if depth >= 1 else None

    def error(self) -> float | None:
        """From the width of the interval."""
        return _error(self.interval())

    def _p(self, moved: list[float]) -> float:
        """That the sum of the ranks of what is above zero is at least so large. Zeros have ranks, too, and half of them is above."""
        sizes = sorted(map(abs, moved))
        zeros = bisect_right(sizes, SAME)
        positive = sorted(value for value in moved if value > SAME)
        rank_sum, squares, seen, above = zeros * (zeros + 1) / 4, 0.0, zeros, 0
        ends = tie_ends(sizes[zeros:])
        for end in ends:
            seen_end, above_end = bisect_right(sizes, end, seen), bisect_right(positive, end, above)
            rank = (seen + 1 + seen_end) / 2
            rank_sum += (above_end - above) * rank
            squares += (seen_end - seen) * rank**2
            seen, above = seen_end, above_end
        w = rank_sum * self._weight
        if self._n <= _MOST_EXACT_CASES and len(ends) == self._n:
            sums = _signed_sums(self._n)
            most = self._n * (self._n + 1) // 2
            chance: float = sums[most - math.ceil(w)] / 2**self._n
            return chance
        return self._normal_p(w, squares, len(moved))

    def _normal_p(self, w: float, squares: float, held: int) -> float:
        """`squares`: of the ranks that are not zeros'."""
        untied = held * (held + 1) * (2 * held + 1) / 6
        variance = self._n * (self._n + 1) * (2 * self._n + 1) / 24 * squares / untied
        if variance <= 0:
            return 1.0
        return normal_sf((w - self._n * (self._n + 1) / 4 - 0.5) / math.sqrt(variance))

    def _within(self, shift: float) -> float:
        """How many means of two cases (and cases by themselves) are no larger than the shift."""
        pairs = sum(bisect_right(self._values, 2 * shift - value) for value in self._values)
        return (pairs + bisect_right(self._values, shift)) / 2

    def _means(self) -> list[float] | None:
        if len(self._values) * (len(self._values) + 1) > 2 * _MOST_ENUMERATED:
            return None
        return sorted((one + other) / 2 for place, one in enumerate(self._values) for other in self._values[place:])


def thinned(values: Sequence[float], most: int = _MOST_VALUES) -> Sequence[float]:
    """The sample in ascending order, or as many evenly spaced quantiles of it."""
    n = len(values)
    if n >= _WORTH_NUMPY:
        try:
            import numpy as np
        except ImportError:
            pass
        else:
            ordered = np.sort(np.asarray(values, dtype=np.float64))
            quantiles: list[float] = ordered[(2 * np.arange(most) + 1) * n // (2 * most)].tolist()
            return quantiles
    ascending = sorted(values)
    return ascending if n <= most else [ascending[(2 * place + 1) * n // (2 * most)] for place in range(most)]


_Nth = Callable[[float], float]
"""The value that so many are not above; counted from 1."""


def _nth_of(listed: Callable[[], list[float] | None], within: Callable[[float], float], low: float, high: float) -> _Nth:
    """From the list of all, or where that is long, by bisection on how many lie below."""
    known = listed()
    if known is not None:
        return lambda place: known[min(max(math.floor(place), 1), len(known)) - 1]

    def search(place: float) -> float:
        below, above = low, high
        while above - below > _CLOSE * (1 + abs(above)):
            middle = (below + above) / 2
            below, above = (below, middle) if within(middle) >= place else (middle, above)
        return above

    return search


def _middle(nth: _Nth, count: int) -> float:
    return (nth((count + 1) // 2) + nth(count // 2 + 1)) / 2


def _bounds(nth: _Nth, depth: float, count: int) -> Bounds:
    return nth(depth), nth(count + 1 - depth)


def _error(bounds: Bounds | None) -> float | None:
    return None if bounds is None else (bounds[1] - bounds[0]) / (2 * normal_quantile(0.975))


@lru_cache(maxsize=64)
def _signed_sums(n: int) -> tuple[int, ...]:
    """How many choices of signs of 1 … n have a positive sum of at most 0, 1, 2 and so on."""
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for place, count in enumerate(counts):
            longer[place + rank] += count
        counts = longer
    total, sums = 0, []
    for count in counts:
        total += count
        sums.append(total)
    return tuple(sums)


@lru_cache(maxsize=256)
def _signed_depth(n: int, tail: float) -> int:
    """The most k with P(W < k) ≤ tail."""
    if n <= _MOST_EXACT_CASES:
        return bisect_right(_signed_sums(n), tail * 2**n)
    mean, variance = n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24
    return math.floor(mean - normal_quantile(1 - tail) * math.sqrt(variance) + 0.5)
