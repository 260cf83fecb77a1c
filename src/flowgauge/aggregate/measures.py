"""Numbers and counts → the nouns Spread and Rate, with their intervals."""

from __future__ import annotations

from array import array
from functools import lru_cache

from flowgauge.model.benchmark import Interval, Rate, Spread
from flowgauge.model.play import CostSource
from flowgauge.stats.describe import describe
from flowgauge.stats.intervals import Bounds, mean_interval_of, quantile_interval, wilson

_SHARES = (0.5, 0.9, 0.95, 0.99)
_WEAKNESS: dict[CostSource, int] = {"none": 0, "provider": 1, "computed": 2, "unpriced": 3}


def spread_of(column: array[float]) -> Spread | None:
    """None for no values. Leaves the column in ascending order, so that sorting it again costs next to nothing."""
    if not column:
        return None
    if len(column) == 1:
        return _single(column[0])
    told, ordered = describe(column, _SHARES)
    column[:] = array("d", ordered)
    p50, p90, p95, p99 = told.quantiles
    bounds = [_interval(quantile_interval(ordered, share)) for share in _SHARES]
    return Spread(
        n=told.n,
        min=told.low,
        mean=told.mean,
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        max=told.high,
        stdev=told.stdev,
        mean_interval=_interval(mean_interval_of(told.n, told.mean, told.stdev)),
        p50_interval=bounds[0],
        p90_interval=bounds[1],
        p95_interval=bounds[2],
        p99_interval=bounds[3],
    )


@lru_cache(maxsize=4096)
def rate_of(count: int, total: int) -> Rate:
    """Shared between equal rates: a bench of many cases has few different ones."""
    low, high = wilson(count, total)
    return Rate(count, total, count / total if total else None, Interval(low, high))


def weaker(first: CostSource, second: CostSource) -> CostSource:
    """The source that says less, of two that were added up."""
    return first if _WEAKNESS[first] >= _WEAKNESS[second] else second


def _single(value: float) -> Spread:
    return Spread(n=1, min=value, mean=value, p50=value, p90=value, p95=value, p99=value, max=value)


def _interval(bounds: Bounds | None) -> Interval | None:
    return None if bounds is None else Interval(*bounds)
