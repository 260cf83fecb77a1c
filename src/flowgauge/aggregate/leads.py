"""Who is first in one respect, whether that is more than chance, and whom nobody beats at once.

The first and the second are told apart by a two-sided test between the two:
choosing them after seeing the data needs no further correction (Hung & Fithian
2019, Ann. Statist. 47(2)). Where the test points the other way than the lead,
there is no evidence for the lead and p is 1. An unknown is never first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from flowgauge.aggregate.tally import Tally
from flowgauge.model.benchmark import Cell, Lead, Rate
from flowgauge.stats.describe import mean
from flowgauge.stats.pareto import pareto_front
from flowgauge.stats.two_samples import fisher_two_sided, mann_whitney

_SIGNIFICANT = 0.05
_FEWEST = 2
"""Samples a side: one sample proves nothing."""


class Contender(NamedTuple):
    """One configuration over all its trials."""

    name: str
    model: str
    tally: Tally
    cell: Cell


_PValue = Callable[[Contender, Contender], float | None]


class _Race(NamedTuple):
    """One respect: what is compared (None: does not take part), which way, and by which test."""

    value: Callable[[Contender], float | None]
    higher: bool
    p_value: _PValue


def _ranked(column: str, *, higher: bool) -> _PValue:
    def p_value(first: Contender, second: Contender) -> float | None:
        ours, theirs = getattr(first.tally, column), getattr(second.tally, column)
        if min(len(ours), len(theirs)) < _FEWEST:
            return None
        test = mann_whitney(ours, theirs)
        if test is None:
            return None
        return test.p_value if (test.superiority > 0.5) is higher and test.superiority != 0.5 else 1.0

    return p_value


def _rated(rate: Callable[[Cell], Rate]) -> _PValue:
    def p_value(first: Contender, second: Contender) -> float | None:
        ours, theirs = rate(first.cell), rate(second.cell)
        if min(ours.total, theirs.total) < _FEWEST:
            return None
        return fisher_two_sided(ours.count, ours.total, theirs.count, theirs.total)

    return p_value


def _cost(one: Contender) -> float | None:
    """Of one success: failed runs are paid for, too, and those that were refused make nobody cheap."""
    return one.cell.cost_usd_per_success


def _median_duration(one: Contender) -> float | None:
    return one.cell.duration_ms.p50 if one.cell.duration_ms else None


def _mean_quality(one: Contender) -> float | None:
    return mean(one.tally.quality) if one.tally.quality else None


CHEAPEST = _Race(_cost, higher=False, p_value=_ranked("ok_costs", higher=False))
FASTEST = _Race(_median_duration, higher=False, p_value=_ranked("durations", higher=False))
MOST_RELIABLE = _Race(lambda one: one.cell.success.value, higher=True, p_value=_rated(lambda cell: cell.success))
_BEST_SCORE = _Race(_mean_quality, higher=True, p_value=_ranked("quality", higher=True))
_BEST_PASSED = _Race(lambda one: one.cell.passed.value, higher=True, p_value=_rated(lambda cell: cell.passed))


def quality_race(contenders: list[Contender]) -> _Race | None:
    """By weighted scores where anything was scored, else by checks passed; None where nothing was either."""
    if any(one.tally.quality for one in contenders):
        return _BEST_SCORE
    return _BEST_PASSED if any(one.tally.checked for one in contenders) else None


def lead(race: _Race | None, contenders: list[Contender]) -> Lead | None:
    """The first, against the second. None where nobody takes part; a tie is no lead and goes by name."""
    if race is None:
        return None
    known = [(value, one) for one in contenders if (value := race.value(one)) is not None]
    if not known:
        return None
    known.sort(key=lambda pair: (-pair[0] if race.higher else pair[0], pair[1].name))
    value, first = known[0]
    if len(known) == 1:
        return Lead(config=first.name, value=value)
    next_value, second = known[1]
    p = race.p_value(first, second) if value != next_value else None
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
    race = quality_race(able) or MOST_RELIABLE
    points = [(race.value(one), _cost(one), _median_duration(one)) for one in able]
    return tuple(able[i].name for i in pareto_front(points, ("higher", "lower", "lower")))


def leads(contenders: list[Contender]) -> Mapping[str, Lead | None]:
    """By the summary's field."""
    return {
        "cheapest": lead(CHEAPEST, contenders),
        "fastest": lead(FASTEST, contenders),
        "most_reliable": lead(MOST_RELIABLE, contenders),
        "best_score": lead(quality_race(contenders), contenders),
    }
