"""How good is the gate, and how many runs does it need: tried on the samples of a stored benchmark.

Both sides are drawn from the same samples, once as they are and once with an
effect laid over the candidate's; the gate's own comparison judges each pair.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.sides import Side, load_side
from flowgauge.compare.asked import asked_of
from flowgauge.compare.comparison import compare
from flowgauge.compare.continuous import compare_metrics
from flowgauge.compare.figures import SUCCESS_RATE
from flowgauge.compare.gate import judge
from flowgauge.errors import NotMeasured, UsageError
from flowgauge.model.benchmark import Interval, Rate
from flowgauge.model.calibration import Calibration, RunsPlan
from flowgauge.model.gate import Policy
from flowgauge.model.metric import CaseCounts, Measured, Samples
from flowgauge.stats.power import (
    ByCase,
    Change,
    Found,
    calibrate,
    log_spread,
    power_of_means,
    power_of_rates,
    runs_for_means,
    runs_for_rates,
)

if TYPE_CHECKING:
    import random

    from flowgauge.store.store import Store

TABLE_RUNS = (5, 10, 30, 100)
"""Runs a side at which a plan tells the chance to see an effect."""


def calibrated(
    store: Store, side: Side, metric: str, policy: Policy, *, runs: Sequence[int], effects: Sequence[float], pairs: int, seed: int = 0
) -> tuple[Calibration, ...]:
    """One row a number of runs. Raises UsageError for a metric that the benchmark does not have."""
    measured = load_side(store, side)
    samples = _samples(measured, metric)
    for effect in effects:
        _check(effect, metric, falls=metric == SUCCESS_RATE or samples.direction == "higher")
    rows = []
    for count in runs:
        found = calibrate(
            samples.by_case,
            lambda ours, theirs: _alarm(measured, metric, samples, policy, ours, theirs),
            runs=count,
            effects=(0.0, *effects),
            pairs=pairs,
            seed=seed,
            change=_change(metric, samples),
        )
        power = {each.effect: _alarms(each) for each in found[1:]}
        rows.append(Calibration(metric=metric, runs=count, cases=len(samples.by_case), false_alarms=_alarms(found[0]), power=power))
    return tuple(rows)


def _alarms(found: Found) -> Rate:
    return Rate(found.alarms, found.trials, found.rate, Interval(*found.interval))


def planned(store: Store, side: Side, metric: str, policy: Policy, *, effect: float, power: float) -> RunsPlan:
    """From the spread of a stored benchmark."""
    measured = load_side(store, side)
    samples = _samples(measured, metric)
    tolerance = asked_of(policy, metric).tolerance
    made = rate_plan if metric == SUCCESS_RATE else spread_plan
    plan = made(_rate(samples) if metric == SUCCESS_RATE else _spread(samples, metric), metric, tolerance, policy.alpha, effect, power)
    cost = side.benchmark.estimated_cost_usd
    return msgspec.structs.replace(plan, cost_usd=None if cost is None or plan.runs is None else cost * plan.runs)


def spread_plan(spread: float, metric: str, tolerance: float, alpha: float, effect: float, power: float) -> RunsPlan:
    """For a metric whose logarithms have this spread."""
    _check(effect, metric)
    distance = math.log1p(effect) - math.log1p(tolerance)
    chances = {runs: power_of_means(runs, distance, spread, alpha=alpha) if distance > 0 else 0.0 for runs in TABLE_RUNS}
    runs = runs_for_means(distance, spread, alpha=alpha, power=power) if distance > 0 else None
    return RunsPlan(metric=metric, effect=effect, tolerance=tolerance, power=power, spread=spread, runs=runs, chances=chances)


def rate_plan(rate: float, metric: str, tolerance: float, alpha: float, effect: float, power: float) -> RunsPlan:
    """For a pass rate that would fall by `effect`, as a share of itself."""
    _check(effect, metric, falls=True)
    lower = rate * (1 - effect)
    chances = {runs: power_of_rates(runs, rate, lower, alpha=alpha) for runs in TABLE_RUNS}
    runs = runs_for_rates(rate, lower, alpha=alpha, power=power)
    return RunsPlan(metric=metric, effect=effect, tolerance=tolerance, power=power, spread=rate, runs=runs, chances=chances)


def variation_spread(variation: float) -> float:
    """From the spread of values by their mean, as a person knows it."""
    return log_spread(variation)


def _check(effect: float, metric: str, *, falls: bool = False) -> None:
    """What falls cannot fall by more than all of it."""
    if not 0 < effect < math.inf or (falls and effect > 1):
        most = "an effect above 0, up to 1" if falls else "an effect above 0"
        raise UsageError(f"{metric} cannot be worse by {effect:g} times itself.", remedy=f"Give {most}: 0.2 is 20 % worse.")


def _samples(measured: Measured, metric: str) -> Samples:
    if metric == SUCCESS_RATE and measured.cases:
        by_case = {case: _ones(counts) for case, counts in measured.cases.items()}
        return Samples(direction="higher", unit="", by_case={case: values for case, values in by_case.items() if values})
    found = measured.metrics.get(metric)
    if found is None:
        names = ", ".join([*([SUCCESS_RATE] if measured.cases else []), *measured.metrics])
        raise UsageError(f"{measured.label} has no metric {metric!r}.", remedy=f"There are: {names}.")
    if found.n < 2:
        raise NotMeasured(f"{measured.label} has {found.n} samples of {metric}.", remedy="Run it more often first.")
    return found


def _ones(counts: CaseCounts) -> list[float]:
    judged = counts.runs - counts.infrastructure
    return [1.0] * counts.passed + [0.0] * (judged - counts.passed)


def _alarm(measured: Measured, metric: str, samples: Samples, policy: Policy, ours: ByCase, theirs: ByCase) -> bool:
    if metric == SUCCESS_RATE:
        sides = [_counted(measured, by_case, sid) for by_case, sid in ((ours, "a"), (theirs, "b"))]
        return judge(compare(sides[0], sides[1], policy=policy), sides[0], policy).status == "failed"
    asked = asked_of(policy, metric)
    both = [{metric: msgspec.structs.replace(samples, by_case=by_case, value=None)} for by_case in (ours, theirs)]
    rule = asked.rule if asked.rule != "ignore" else policy.rule
    verdicts = compare_metrics(both[0], both[1], tolerance=asked.tolerance, rule=rule, alpha=policy.alpha)
    return verdicts[0].verdict == "regressed"


def _counted(measured: Measured, by_case: ByCase, sid: str) -> Measured:
    cases = {case: _counts(values) for case, values in by_case.items()}
    benchmark = msgspec.structs.replace(measured.benchmark, sid=sid)
    return Measured(label=measured.label, benchmark=benchmark, metrics={}, cases=cases)


def _counts(values: Sequence[float]) -> CaseCounts:
    return CaseCounts(runs=len(values), passed=int(sum(values)), infrastructure=0)


def _change(metric: str, samples: Samples) -> Change:
    if metric == SUCCESS_RATE:
        return _fall
    return _grow if samples.direction == "lower" else _shrink


def _fall(value: float, effect: float, chance: random.Random) -> float:
    """Some of what passed does not any more."""
    return 0.0 if value and chance.random() < effect else value


def _grow(value: float, effect: float, _: random.Random) -> float:
    return value * (1 + effect)


def _shrink(value: float, effect: float, _: random.Random) -> float:
    return value * (1 - effect)


def _rate(samples: Samples) -> float:
    values = [value for group in samples.by_case.values() for value in group]
    return sum(values) / len(values)


def _spread(samples: Samples, metric: str) -> float:
    """Of logarithms within cases, pooled."""
    total, degrees = 0.0, 0
    for values in _logs(samples.by_case, metric).values():
        mean = sum(values) / len(values)
        total += sum((value - mean) ** 2 for value in values)
        degrees += len(values) - 1
    if degrees < 1:
        raise NotMeasured(f"No case has two samples of {metric}.", remedy="Run the bench with --runs 2 or more.")
    return math.sqrt(total / degrees)


def _logs(by_case: Mapping[str, Sequence[float]], metric: str) -> dict[str, list[float]]:
    if any(value <= 0 for values in by_case.values() for value in values):
        raise UsageError(f"{metric} has values that are not positive: a plan works with ratios.", remedy="Use flowgauge calibrate.")
    return {case: [math.log(value) for value in values] for case, values in by_case.items() if values}
