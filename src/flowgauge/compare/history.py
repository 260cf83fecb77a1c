"""A candidate's figure against those of the benchmarks before it.

Numbers in, a line out. Only harm counts: a figure on the better side of the
fence passes however far it is. Too few figures are not measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flowgauge.compare import words
from flowgauge.compare.figures import direction_of, figure_of_side
from flowgauge.model.gate import History, Policy
from flowgauge.model.metric import Direction, Measured
from flowgauge.model.verdict import GateLine
from flowgauge.stats.describe import mean, quantile, stdev
from flowgauge.stats.special import student_quantile

_ROUNDING = 1e-9


class _Method(NamedTuple):
    """One way to set a fence. `fence` gives it for values of which high ones are harmful."""

    name: str
    bound: float
    fewest: int
    fence: Callable[[Sequence[float], float], float]


def _z(values: Sequence[float], sigmas: float) -> float:
    return mean(values) + sigmas * (stdev(values) or 0.0)


def _t(values: Sequence[float], level: float) -> float:
    """One-sided prediction interval of one further value: Hahn & Meeker, Statistical Intervals (1991), 4.7."""
    n = len(values)
    return mean(values) + student_quantile(level, n - 1) * (stdev(values) or 0.0) * math.sqrt(1 + 1 / n)


def _iqr(values: Sequence[float], spans: float) -> float:
    """Tukey, Exploratory Data Analysis (1977), 2C."""
    ordered = sorted(values)
    low, high = quantile(ordered, 0.25), quantile(ordered, 0.75)
    return high + spans * (high - low)


_METHODS = {
    "z": _Method("{bound:g} sigmas from the mean", 3.0, 3, _z),
    "t": _Method("a t prediction interval of level {bound:g}", 0.95, 3, _t),
    "iqr": _Method("{bound:g} interquartile spans", 1.5, 4, _iqr),
}


def history_lines(candidate: Measured, policy: Policy, history: Mapping[str, Sequence[float]]) -> Iterator[GateLine]:
    """One for each metric that the policy holds against history."""
    for name, asked in policy.metrics.items():
        if asked.history is not None and asked.rule != "ignore":
            yield _line(candidate, name, asked.history, asked.direction, list(history.get(name, ()))[-asked.history.last :])


def _line(candidate: Measured, metric: str, asked: History, direction: Direction | None, values: list[float]) -> GateLine:
    method = _METHODS[asked.method]
    value = figure_of_side(candidate, metric)
    if value is None:
        return _unmeasured(metric, f"{metric} of the candidate is not known, so history says nothing; measure it.")
    if len(values) < method.fewest:
        had = words.several(len(values), "benchmark")
        return _unmeasured(
            metric, f"{metric} has a history of {had}, and {asked.method} needs {method.fewest}; run the bench more often first."
        )
    samples = candidate.metrics.get(metric)
    unit = samples.unit if samples else ""
    sign = 1 if (direction or (samples.direction if samples else direction_of(metric))) == "lower" else -1
    bound = method.bound if asked.bound is None else asked.bound
    fence = sign * method.fence([sign * one for one in values], bound)
    over = sign * (value - fence) > _ROUNDING * max(abs(value), abs(fence))
    told = f"{words.figure(value, unit)} is {'beyond' if over else 'within'} {words.figure(fence, unit)}"
    by = f"{method.name.format(bound=bound)} over the last {len(values)} benchmarks, mean {words.figure(mean(values), unit)}"
    return GateLine(
        subject=metric,
        status="failed" if over else "passed",
        rule="history",
        verdict="regressed" if over else "unchanged",
        words=f"{metric}: {told} ({by}){'; see its trend for when it began' if over else ''}.",
    )


def _unmeasured(metric: str, told: str) -> GateLine:
    return GateLine(subject=metric, status="not_measured", rule="history", verdict="unknown", words=told)
