"""Compare and gate what is stored.

A comparison that cannot be made is a value that says why, never an error that
breaks the run it was for, and never a pass.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.sides import Side, find_side, load_side
from flowgauge.errors import FlowgaugeError, NotFound
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.gate import Policy
from flowgauge.model.metric import Measured, Samples
from flowgauge.model.verdict import Comparison, GateResult

if TYPE_CHECKING:
    from flowgauge.store.store import Store


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison with the two sides it was made of."""

    comparison: Comparison
    candidate: Measured
    baseline: Measured | None


def compare_stored(
    store: Store, candidate: str, baseline: str, policy: Policy, *, with_nodes: bool = True, folder: Path | None = None
) -> Compared:
    """One stored side against another. An unknown candidate is an error; an unknown baseline is an attempt that failed."""
    return compare_sides(store, find_side(store, candidate), baseline, policy, with_nodes=with_nodes, folder=folder)


def compare_sides(
    store: Store, candidate: Side, baseline: str, policy: Policy, *, with_nodes: bool = True, folder: Path | None = None
) -> Compared:
    """The same for a candidate at hand."""
    from flowgauge.compare.comparison import compare, not_compared

    mine = load_side(store, candidate, with_nodes=with_nodes)
    if not baseline:
        return Compared(
            comparison=not_compared(mine, "not_attempted", "No baseline was named. Name one to hold it against."),
            candidate=mine,
            baseline=None,
        )
    try:
        other = find_side(store, baseline, like=candidate.benchmark, folder=folder)
    except NotFound as error:
        return Compared(comparison=not_compared(mine, "no_baseline", str(error)), candidate=mine, baseline=None)
    except FlowgaugeError as error:
        return Compared(comparison=not_compared(mine, "fetch_failed", str(error)), candidate=mine, baseline=None)
    if other.benchmark.sid == candidate.benchmark.sid:
        reason = f"{other.label} is the candidate itself. Name another."
        return Compared(comparison=not_compared(mine, "self_baseline", reason), candidate=mine, baseline=None)
    theirs = load_side(store, other, with_nodes=with_nodes)
    return Compared(comparison=compare(mine, theirs, policy=policy), candidate=mine, baseline=theirs)


def gate_stored(store: Store, compared: Compared, policy: Policy, *, policy_name: str = "") -> GateResult:
    """What a policy makes of a comparison; history is read for the metrics that ask for it."""
    from flowgauge.compare.gate import judge

    history = {
        name: _before(store, compared.candidate.benchmark, name, asked.history.last)
        for name, asked in policy.metrics.items()
        if asked.history is not None
    }
    result = judge(compared.comparison, compared.candidate, policy, history=history)
    return msgspec.structs.replace(result, policy=policy_name)


def _before(store: Store, candidate: Benchmark, metric: str, last: int) -> list[float]:
    """The metric's values in the benchmarks before the candidate, of the same subject and configuration, oldest first."""
    from flowgauge.compare.figures import figure_of

    found = store.benchmarks_before(candidate, limit=last)
    values = (figure_of(each, metric) for each in found)
    return [value for value in values if value is not None]


DRAWN_SAMPLES = 2000
"""Of a metric and side: as many as a chart can show."""


def distributions_of(compared: Compared) -> dict[str, tuple[list[float], list[float]]]:
    """Samples of both sides for charts, evenly thinned where there are many."""
    if compared.baseline is None:
        return {}
    sides = (compared.candidate.metrics, compared.baseline.metrics)
    both = [name for name in sides[0] if name in sides[1] and sides[0][name].n and sides[1][name].n]
    return {name: (_thinned(sides[0][name]), _thinned(sides[1][name])) for name in both}


def _thinned(samples: Samples) -> list[float]:
    every = [value for values in samples.by_case.values() for value in values]
    step = len(every) / DRAWN_SAMPLES
    return every if step <= 1 else [every[int(number * step)] for number in range(DRAWN_SAMPLES)]
