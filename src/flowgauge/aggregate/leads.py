"""Who is first in one respect, whether that is more than chance, and whom nobody beats at once.

The first and the second are told apart by a two-sided test between the two:
choosing them after seeing the data needs no further correction (Hung & Fithian
2019, Ann. Statist. 47(2)). Where the test points the other way than the lead,
there is no evidence for the lead and p is 1. An unknown is never first.
Cost per success is a ratio as soon as a run failed: then runs are resampled.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import chain
from typing import NamedTuple

from flowgauge.aggregate.tally import Tally
from flowgauge.model.benchmark import Cell, Lead, Rate
from flowgauge.stats.bootstrap import bca_p_value, ratio_of_means
from flowgauge.stats.describe import mean
from flowgauge.stats.pareto import pareto_front
from flowgauge.stats.two_samples import fisher_two_sided, mann_whitney

_SIGNIFICANT = 0.05
_FEWEST = 2
"""Samples a side: one sample proves nothing."""
_MOST_RESAMPLED = 1000
"""Runs a side. More are resampled in this many random groups: as good there, and a hundred times faster."""


class Contender(NamedTuple):
    """One configuration over all its trials."""

    name: str
    model: str
    tally: Tally
    cell: Cell


_PValue = Callable[[Contender, Contender, int], float | None]
"""The first, the second, a seed."""


class Race(NamedTuple):
    """One respect: what is compared (None: does not take part), which way, and by which test."""

    name: str
    value: Callable[[Contender], float | None]
    higher: bool
    p_value: _PValue
    known: Callable[[Contender], int] = lambda one: one.tally.runs
    """In how many runs it is known."""
    least: float | None = None
    """Whose value is no more than this does not lead: a rate of nothing is no merit."""


def _ranked(column: str, *, higher: bool) -> _PValue:
    def p_value(first: Contender, second: Contender, _seed: int) -> float | None:
        ours, theirs = getattr(first.tally, column), getattr(second.tally, column)
        if min(len(ours), len(theirs)) < _FEWEST:
            return None
        test = mann_whitney(ours, theirs)
        if test is None:
            return None
        return test.p_value if (test.superiority > 0.5) is higher and test.superiority != 0.5 else 1.0

    return p_value


def _rated(rate: Callable[[Cell], Rate]) -> _PValue:
    def p_value(first: Contender, second: Contender, _seed: int) -> float | None:
        ours, theirs = rate(first.cell), rate(second.cell)
        if min(ours.total, theirs.total) < _FEWEST:
            return None
        return fisher_two_sided(ours.count, ours.total, theirs.count, theirs.total)

    return p_value


def _cost(one: Contender) -> float | None:
    """Of one success: failed runs are paid for, too, and those that were refused make nobody cheap."""
    return one.cell.cost_usd_per_success


def _cheaper(first: Contender, second: Contender, seed: int) -> float | None:
    """Where no run failed, by the costs of runs; else by the ratio itself, unless a part of it is unknown."""
    both = (first.tally, second.tally)
    if all(tally.ok == tally.runs for tally in both):
        return _ranked("ok_costs", higher=False)(first, second, seed)
    if any(tally.cost_unknown for tally in both):
        return None
    ours, theirs = (_costs_and_successes(tally, seed) for tally in both)
    return bca_p_value(ours, theirs, ratio_of_means, seed=seed)


def _costs_and_successes(tally: Tally, seed: int) -> list[tuple[float, float]]:
    """A run each, or a random group of runs; whatever the order in which runs were counted."""
    runs = [*((cost, 1.0) for cost in sorted(tally.ok_costs)), *((cost, 0.0) for cost in sorted(tally.failed_costs))]
    if len(runs) <= _MOST_RESAMPLED:
        return runs
    random.Random(seed).shuffle(runs)
    groups = (runs[start::_MOST_RESAMPLED] for start in range(_MOST_RESAMPLED))
    return [(sum(cost for cost, _ in group), sum(ok for _, ok in group)) for group in groups]


def _median_duration(one: Contender) -> float | None:
    return one.cell.duration_ms.p50 if one.cell.duration_ms else None


def _scored(column: str, name: str) -> Race:
    def value(one: Contender) -> float | None:
        scores = getattr(one.tally, column)
        return mean(scores) if scores else None

    return Race(name, value, higher=True, p_value=_ranked(column, higher=True), known=lambda one: len(getattr(one.tally, column)))


CHEAPEST = Race("cost", _cost, higher=False, p_value=_cheaper)
FASTEST = Race("duration", _median_duration, higher=False, p_value=_ranked("durations", higher=False))
MOST_RELIABLE = Race("success", lambda one: one.cell.success.value, higher=True, p_value=_rated(lambda cell: cell.success), least=0.0)
_BEST_PASSED = Race(
    "checks passed",
    lambda one: one.cell.passed.value,
    higher=True,
    p_value=_rated(lambda cell: cell.passed),
    known=lambda one: one.tally.checked,
    least=0.0,
)


def quality_race(contenders: list[Contender]) -> Race:
    """What quality is, everywhere: the checks' scores, else what targets say of themselves, else checks passed, else success."""
    for column in ("quality", "own_quality"):
        if any(getattr(one.tally, column) for one in contenders):
            names = set(chain.from_iterable(one.cell.scores for one in contenders))
            return _scored(column, names.pop() if len(names) == 1 else "score")
    return _BEST_PASSED if any(one.tally.checked for one in contenders) else MOST_RELIABLE


def lead(race: Race, contenders: list[Contender], *, seed: int = 0) -> Lead | None:
    """The first, against the second. None where nobody takes part, or the best is none; a tie is no lead and goes by name."""
    known = [(value, one) for one in contenders if (value := race.value(one)) is not None]
    if not known:
        return None
    known.sort(key=lambda pair: (-pair[0] if race.higher else pair[0], pair[1].name))
    value, first = known[0]
    if race.least is not None and value <= race.least:
        return None
    if len(known) == 1:
        return Lead(config=first.name, value=value)
    next_value, second = known[1]
    p = race.p_value(first, second, seed) if value != next_value else None
    return Lead(
        config=first.name,
        value=value,
        runner_up=second.name,
        runner_up_value=next_value,
        significant=p is not None and p < _SIGNIFICANT,
        p_value=p,
        tied=tuple(one.name for other, one in known[1:] if other == value),
    )


def front(contenders: list[Contender]) -> tuple[str, ...]:
    """Whom no other beats in quality, cost and latency at once, of those that succeeded at least once."""
    able = [one for one in contenders if one.tally.ok]
    race = quality_race(contenders)
    points = [(race.value(one), _cost(one), _median_duration(one)) for one in able]
    return tuple(able[i].name for i in pareto_front(points, ("higher", "lower", "lower")))


def leads(contenders: list[Contender], *, seed: int = 0) -> Mapping[str, Lead | None]:
    """By the summary's field. Without scores and checks nothing is best: success has its own lead."""
    best = quality_race(contenders)
    return {
        "cheapest": lead(CHEAPEST, contenders, seed=seed),
        "fastest": lead(FASTEST, contenders),
        "most_reliable": lead(MOST_RELIABLE, contenders),
        "best_score": lead(best, contenders) if best is not MOST_RELIABLE else None,
    }
