"""One sample of numbers: centre, spread, quantiles.

Takes finite floats. A quantile of nothing and the spread of one value are
unknown: `quantile` and `mean` refuse an empty sample, `stdev` answers None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_WORTH_NUMPY = 200_000
"""Below it, sorting in Python takes less time than importing numpy."""


class Description(NamedTuple):
    """What a sample amounts to; `quantiles` in the order they were asked for."""

    n: int
    low: float
    mean: float
    high: float
    stdev: float | None
    quantiles: tuple[float, ...]


def ascending(values: Iterable[float]) -> Sequence[float]:
    """The values in order. A very large buffer of doubles is sorted by numpy where that is installed."""
    if isinstance(values, Sequence) and len(values) >= _WORTH_NUMPY:
        try:
            import numpy as np
        except ImportError:
            return sorted(values)
        ordered: Sequence[float] = np.sort(np.asarray(values, dtype=np.float64)).tolist()
        return ordered
    return sorted(values)


def mean(values: Sequence[float]) -> float:
    """The sum, rounded once (math.fsum), by the count; kept inside the sample, which rounding could leave."""
    if not values:
        raise ValueError("The mean of no values is unknown.")
    return _inside(math.fsum(values) / len(values), min(values), max(values))


def stdev(values: Sequence[float], *, centre: float | None = None) -> float | None:
    """With n - 1 (Bessel); None for fewer than two values."""
    n = len(values)
    if n < 2:
        return None
    middle = math.fsum(values) / n if centre is None else centre
    return math.sqrt(math.fsum([(off := value - middle) * off for value in values]) / (n - 1))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of an ascending sample, by type 7 of Hyndman & Fan (1996), American Statistician 50(4): the default of R and numpy.

    It stands at position (n - 1) · share, counted from 0, on the line between its two neighbours.
    """
    if not ordered:
        raise ValueError("A quantile of no values is unknown.")
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    rest = position - below
    low = ordered[below]
    if not rest:
        return low
    high = ordered[below + 1]
    return _inside(low + (high - low) * rest, low, high)


def describe(values: Iterable[float], shares: Sequence[float] = (0.5,)) -> tuple[Description, Sequence[float]]:
    """The description of a non-empty sample, and the sample in ascending order."""
    ordered = ascending(values)
    low, high = ordered[0], ordered[-1]
    centre = _inside(math.fsum(ordered) / len(ordered), low, high)
    spread = 0.0 if low == high and len(ordered) > 1 else stdev(ordered, centre=centre)
    return Description(len(ordered), low, centre, high, spread, tuple(quantile(ordered, share) for share in shares)), ordered


def _inside(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
