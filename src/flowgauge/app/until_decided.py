"""Run a bench in growing stages until its gate is decided: no more trials than the answer needs.

A stage is the whole bench with more runs of each cell; after each, the gate
looks. Every look spends part of the error that the gate is allowed, so that all
looks together keep it: looking often does not raise false alarms.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.bench import BenchOutcome, BenchRequest, Follower, run_bench
from flowgauge.app.comparing import Compared, compare_sides, gate_stored
from flowgauge.app.sides import Side, label_of
from flowgauge.errors import UsageError
from flowgauge.model.gate import Policy
from flowgauge.model.verdict import GateResult
from flowgauge.stats.sequential import alpha_at, looks

if TYPE_CHECKING:
    from flowgauge.app.workspace import Workspace

MOST_RUNS = 100
"""Of each cell, where nobody says."""
FIRST_RUNS = 3


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """How the last look saw it."""

    outcome: BenchOutcome
    gate: GateResult
    compared: Compared
    looks: int
    runs: int
    """Of each cell, when it ended."""
    decided: bool
    """False: the runs or the money ended first."""


async def run_until_decided(
    workspace: Workspace,
    request: BenchRequest,
    *,
    baseline: str,
    policy: Policy,
    policy_name: str = "",
    follower: Follower | None = None,
    stop: asyncio.Event | None = None,
) -> Decided:
    """Measure, look, measure more. Ends at a decision, at the most runs asked for, or when the money is spent."""
    if not baseline:
        raise UsageError("--until-decided needs something to decide against.", remedy="Add --baseline NAME.")
    most = request.options.get("runs") or MOST_RUNS
    schedule = looks(FIRST_RUNS, most)
    asked = request
    for number, runs in enumerate(schedule, start=1):
        outcome = await run_bench(workspace, _stage(asked, runs), follower=follower, stop=stop)
        spent = msgspec.structs.replace(policy, alpha=alpha_at(number, len(schedule), policy.alpha))
        compared, gate = await asyncio.to_thread(_look, workspace, outcome, baseline, spent, policy_name)
        decided = is_decided(compared, gate)
        ended = decided or outcome.ran.status != "finished"
        if ended or runs == schedule[-1]:
            return Decided(outcome=outcome, gate=gate, compared=compared, looks=number, runs=runs, decided=decided)
        asked = msgspec.structs.replace(request, extend=outcome.record.bench_id, bench_id="", new=False)
    raise AssertionError("a schedule has at least one look")


def is_decided(compared: Compared, gate: GateResult) -> bool:
    """Harm is proven, or excluded beyond the tolerance for all that is judged. More runs do not help what cannot be compared."""
    if compared.comparison.attempt != "ok" or gate.status == "failed":
        return True
    judged = [line for line in gate.lines if line.rule in ("detect", "prove")]
    return bool(judged) and all(line.verdict != "inconclusive" and line.status != "not_measured" for line in judged)


def _stage(request: BenchRequest, runs: int) -> BenchRequest:
    return msgspec.structs.replace(request, options={**request.options, "runs": runs})


def _look(workspace: Workspace, outcome: BenchOutcome, baseline: str, policy: Policy, name: str) -> tuple[Compared, GateResult]:
    if len(outcome.benchmarks) != 1:
        names = ", ".join(each.config for each in outcome.benchmarks) or "none"
        raise UsageError(
            f"--until-decided judges one configuration, and this bench measured: {names}.", remedy="Choose one with --filter config=NAME."
        )
    benchmark = outcome.benchmarks[0]
    compared = compare_sides(workspace.store, Side(benchmark, label_of(benchmark)), baseline, policy)
    return compared, gate_stored(workspace.store, compared, policy, policy_name=name)
