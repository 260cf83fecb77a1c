"""What the samples of each case amount to: one number a case, or one ratio a case of two sides.

Lists of samples by case in, lists of numbers in the same order out. Very many
samples are handled by numpy where it is installed, and then by medians.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from flowgauge.stats.describe import quantile
from flowgauge.stats.ratio_ranks import thinned

if TYPE_CHECKING:
    import numpy as np

Groups = Sequence[Sequence[float]]
_WORTH_NUMPY = 200_000
_MOST_VALUES = 30
"""Of a case; more are stood for by as many quantiles."""


class Cases:
    """One side: the samples of its cases, none of them empty."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self.n = sum(map(len, groups))

    @cached_property
    def low(self) -> float:
        """The smallest sample of all."""
        return min(map(min, self.groups)) if self._packed is None else float(self._packed[0].min())

    @cached_property
    def high(self) -> float:
        """The largest sample of all."""
        return max(map(max, self.groups)) if self._packed is None else float(self._packed[0].max())

    @cached_property
    def means(self) -> list[float]:
        """Of each case."""
        if self._packed is None:
            return [group[0] if len(group) == 1 else math.fsum(group) / len(group) for group in self.groups]
        import numpy as np

        values, starts, sizes = self._packed
        means: list[float] = (np.add.reduceat(values, starts) / sizes).tolist()
        return means

    @cached_property
    def medians(self) -> list[float]:
        """Of each case."""
        if self._packed is None:
            return [group[0] if len(group) == 1 else quantile(sorted(group), 0.5) for group in self.groups]
        import numpy as np

        values, starts, sizes = self._packed
        if sizes.min() == sizes.max():
            ordered = np.sort(values.reshape(len(sizes), -1), axis=1).ravel()
        else:
            ordered = values[np.lexsort((values, np.repeat(np.arange(len(sizes)), sizes)))]
        medians: list[float] = ((ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2).tolist()
        return medians

    def within_variance(self, *, logs: bool) -> float | None:
        """The variance of a case's mean that comes from its own runs, averaged over cases; None where no case has two runs."""
        known = []
        for group in self.groups:
            if len(group) > 1:
                values = [math.log(value) for value in group] if logs else group
                mean = math.fsum(values) / len(values)
                known.append(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
        return math.fsum(known) / len(known) if known else None

    @cached_property
    def _packed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """All values in one column, where each case starts, and how many it has; None where that is not worth it."""
        if self.n < _WORTH_NUMPY:
            return None
        try:
            import numpy as np
        except ImportError:
            return None
        sizes = np.fromiter(map(len, self.groups), dtype=np.int64, count=len(self.groups))
        if len(self.groups) * 100 < self.n:
            values = np.concatenate([np.asarray(group, dtype=np.float64) for group in self.groups])
        else:
            values = np.fromiter(chain.from_iterable(self.groups), dtype=np.float64, count=self.n)
        return values, np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes


def log_ratios(first: Cases, second: Cases) -> list[float]:
    """How far the first side lies above the second in each case, of positive samples: the median of all log ratios between them.

    That is the centre of Hodges & Lehmann; of very many samples it is the ratio of medians, as good there and much faster.
    """
    if max(first.n, second.n) >= _WORTH_NUMPY:
        return [math.log(one / other) for one, other in zip(first.medians, second.medians, strict=True)]
    return [_log_ratio(one, other) for one, other in zip(first.groups, second.groups, strict=True)]


def _log_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    if len(first) == len(second) == 1:
        return math.log(first[0] / second[0])
    ones, others = ([math.log(value) for value in thinned(side, _MOST_VALUES)] for side in (first, second))
    return quantile(sorted(one - other for one in ones for other in others), 0.5)
