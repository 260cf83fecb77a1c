"""What a bench will cost and how long it will take, before anything is called.

In: a bench and what is known: means of earlier trials by configuration, or a
callable that estimates one trial. Out: an Estimate. What is not known for one
configuration is not known for the sum; it is None, never zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

import msgspec

from flowgauge.model.bench import Bench, Case, Configuration
from flowgauge.plan.order import runs_of_cases

Basis = Literal["earlier trials", "estimated calls", "earlier trials and estimated calls", "unknown"]
MOST_CASES_ASKED = 50
"""Of more cases so many are estimated, evenly spread."""


class PerTrial(NamedTuple):
    """What one trial takes on average; None: not known."""

    cost_usd: float | None
    duration_ms: float | None


Guess = Callable[[Configuration, Case], PerTrial]
"""What one trial will take, as far as can be said without a call."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Of the trials that are left."""

    trials: int
    cost_usd: float | None
    duration_s: float | None
    """With `max_concurrent_runs` at once and every slot busy; limits of a provider may make it longer."""
    basis: Basis
    unknown_cost: tuple[str, ...] = ()
    """The configurations that keep the cost from being known."""
    unknown_duration: tuple[str, ...] = ()


def estimate(
    bench: Bench, *, earlier: Mapping[str, PerTrial] | None = None, guess: Guess | None = None, done: Mapping[str, int] | None = None
) -> Estimate:
    """`earlier` and `done` (how many trials are done) are by configuration; `guess` is asked for what `earlier` does not know."""
    left = {config.name: max(0, runs_of_cases(bench) - (done or {}).get(config.name, 0)) for config in bench.configs}
    measured = {name: (earlier or {}).get(name, PerTrial(None, None)) for name in left}
    guessed = {config.name: _mean_guess(bench, config, guess) for config in bench.configs if guess and None in measured[config.name]}
    known = {name: _first_known(known, guessed.get(name)) for name, known in measured.items()}
    costs = {name: one.cost_usd for name, one in known.items() if left[name]}
    times = {name: one.duration_ms for name, one in known.items() if left[name]}
    trials = sum(left.values())
    duration_ms = _weighted(times, left)
    return Estimate(
        trials=trials,
        cost_usd=_weighted(costs, left),
        duration_s=None if duration_ms is None else _spread(duration_ms, times.values(), min(bench.max_concurrent_runs, trials)),
        basis=_basis(measured.values(), guessed.values()),
        unknown_cost=tuple(name for name, cost in costs.items() if cost is None),
        unknown_duration=tuple(name for name, duration in times.items() if duration is None),
    )


def _mean_guess(bench: Bench, config: Configuration, guess: Guess) -> PerTrial:
    """Over the cases, each as often as it is run."""
    step = max(1, -(-len(bench.cases) // MOST_CASES_ASKED))
    asked = [(guess(config, case), case.runs or bench.runs) for case in bench.cases[::step]]
    return PerTrial(_mean([(one.cost_usd, runs) for one, runs in asked]), _mean([(one.duration_ms, runs) for one, runs in asked]))


def _mean(values: list[tuple[float | None, int]]) -> float | None:
    known = [(value, runs) for value, runs in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return sum(value * runs for value, runs in known) / sum(runs for _, runs in known)


def _first_known(measured: PerTrial, guessed: PerTrial | None) -> PerTrial:
    if guessed is None:
        return measured
    return PerTrial(*(mine if mine is not None else other for mine, other in zip(measured, guessed, strict=True)))


def _weighted(values: Mapping[str, float | None], left: Mapping[str, int]) -> float | None:
    amounts = [value * left[name] for name, value in values.items() if value is not None]
    return sum(amounts) if len(amounts) == len(values) else None


def _spread(duration_ms: float, each: Iterable[float | None], slots: int) -> float:
    """Over the slots; never less than the longest trial."""
    longest = max((one for one in each if one is not None), default=0.0)
    return max(duration_ms / max(1, slots), longest) / 1000


def _basis(measured: Iterable[PerTrial], guessed: Iterable[PerTrial]) -> Basis:
    from_trials, from_calls = (any(value is not None for one in known for value in one) for known in (measured, guessed))
    if from_trials and from_calls:
        return "earlier trials and estimated calls"
    return "earlier trials" if from_trials else "estimated calls" if from_calls else "unknown"
