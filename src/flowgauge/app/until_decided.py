"""Run a bench in growing stages until its gate is decided: no more trials than the answer needs.

A stage is the whole bench with more runs of each cell; after each, the gate
looks. Every look spends part of the error that the gate is allowed, so that all
looks together keep it: looking often does not raise false alarms. What ends in
the middle of a stage is not looked at: that look was not on the schedule. The
one before it stands, and where there was none, nothing is decided.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from flowgauge.app.bench import BenchOutcome, BenchRequest, Follower, run_bench
from flowgauge.app.comparing import compare_sides, gate_stored
from flowgauge.app.sides import LATEST, MERGE_BASE, NEWEST, Side, find_side, label_of
from flowgauge.errors import NotFound, UsageError
from flowgauge.model.gate import Policy
from flowgauge.model.verdict import Comparison, GateLine, GateResult
from flowgauge.stats.sequential import alpha_at, looks

if TYPE_CHECKING:
    from flowgauge.app.workspace import Workspace
    from flowgauge.store.store import Store

MOST_RUNS = 100
"""Of each cell, where nobody says."""
FIRST_RUNS = 3
_NOTHING_MEASURED = frozenset({"nothing_ran", "all_failed"})


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """How the last look saw it."""

    outcome: BenchOutcome
    gate: GateResult
    looks: int
    """Looks of the schedule, up to and with the last."""
    runs: int
    """Of each cell, at that look; 0 where there was none."""
    decided: bool
    """False: the runs, the money or the patience ended first."""
    cut_short: CutShort | None = None


class CutShort(msgspec.Struct, frozen=True, kw_only=True):
    """A stage that did not end: its trials are stored, and no look was taken at them."""

    by: Literal["budget_exceeded", "interrupted"]
    runs: int
    """Of each cell, that it was to have."""
    trials: int
    """Of the bench, that have a result."""
    planned: int


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
    """Measure, look, measure more. Ends at a decision, at the most runs asked for, or when the money is spent.

    A bench that is extended goes on at the stage in which it was left, so that no look is spent twice.
    """
    await asyncio.to_thread(_check, workspace, request, baseline, policy)
    schedule = looks(FIRST_RUNS, request.options.get("runs") or MOST_RUNS)
    asked, last = request, None
    for number, runs in _stages(schedule, await asyncio.to_thread(_runs_so_far, workspace, request)):
        outcome = await run_bench(workspace, _stage(asked, runs), follower=follower, stop=stop)
        if outcome.ran.status != "finished":
            return _cut_short(outcome, last, runs)
        spent = msgspec.structs.replace(policy, alpha=alpha_at(number, len(schedule), policy.alpha))
        gate = await asyncio.to_thread(_look, workspace, outcome, baseline, spent, policy_name)
        last = Decided(outcome=outcome, gate=gate, looks=number, runs=runs, decided=is_decided(gate))
        if last.decided or _is_hopeless(gate) or number == len(schedule):
            return last
        asked = msgspec.structs.replace(request, extend=outcome.record.bench_id, bench_id="", new=False)
    raise AssertionError("a schedule has at least one look")


def _check(workspace: Workspace, request: BenchRequest, baseline: str, policy: Policy) -> None:
    """Before anything is paid for."""
    if not baseline:
        raise UsageError("--until-decided needs something to decide against.", remedy="Add --baseline NAME.")
    if baseline.partition(":")[0] == LATEST:
        raise UsageError("The latest bench would be this one.", remedy="Name a baseline, a benchmark or a bench by its id.")
    if {policy.rule, *(asked.rule or policy.rule for asked in policy.metrics.values())} <= {"threshold", "ignore"}:
        raise UsageError(
            "A bare threshold knows no uncertainty, so more runs never decide it.",
            remedy="Use --rule detect or --rule prove, or run a fixed number of trials: --runs N.",
        )
    if request.resume or request.retry_errors:
        raise UsageError(
            "--until-decided adds runs, and --resume and --retry-errors take a bench as it was defined.",
            remedy="Go on with the same command and --extend BENCH.",
        )
    if not baseline.startswith((MERGE_BASE, NEWEST)):
        _find(workspace.store, baseline)


def _find(store: Store, baseline: str) -> None:
    """Raises NotFound. Which of several configurations is meant, only the candidate's can tell."""
    try:
        find_side(store, baseline)
    except NotFound:
        raise
    except UsageError:
        return


def _runs_so_far(workspace: Workspace, request: BenchRequest) -> int:
    return workspace.store.get_bench(request.extend).definition.runs if request.extend else 0


def _stages(schedule: Sequence[int], runs_so_far: int) -> Iterator[tuple[int, int]]:
    """Number and runs of each look that is left; at least the last."""
    first = min(bisect_left(schedule, runs_so_far), len(schedule) - 1)
    yield from enumerate(schedule[first:], start=first + 1)


def _cut_short(outcome: BenchOutcome, last: Decided | None, runs: int) -> Decided:
    """The last look stands; without one there is no verdict."""
    cut = CutShort(
        by="interrupted" if outcome.ran.status == "interrupted" else "budget_exceeded",
        runs=runs,
        trials=outcome.summary.trials,
        planned=outcome.record.total,
    )
    if last is not None:
        return msgspec.structs.replace(last, outcome=outcome, cut_short=cut)
    return Decided(outcome=outcome, gate=_never_looked(outcome), looks=0, runs=0, decided=False, cut_short=cut)


def _never_looked(outcome: BenchOutcome) -> GateResult:
    made = outcome.benchmarks[0] if outcome.benchmarks else None
    reason = "The bench ended before the first look, so nothing is decided."
    return GateResult(
        status="not_measured",
        exit_code=3,
        lines=(GateLine(subject="runs", status="not_measured", rule="", verdict="inconclusive", words=reason),),
        comparison=Comparison(
            attempt="not_attempted",
            candidate=label_of(made) if made else outcome.record.bench_id,
            candidate_sid=made.sid if made else "",
            candidate_commit=outcome.record.commit,
            reason=reason,
        ),
    )


def is_decided(gate: GateResult) -> bool:
    """Harm is proven, or excluded beyond the tolerance for all that is judged."""
    if gate.comparison.attempt == "ok" and gate.status == "failed":
        return True
    judged = [line for line in gate.lines if line.rule in ("detect", "prove")]
    return bool(judged) and all(line.verdict != "inconclusive" and line.status != "not_measured" for line in judged)


def _is_hopeless(gate: GateResult) -> bool:
    """More runs do not help what cannot be compared, nor where not one got past the infrastructure."""
    return gate.comparison.attempt != "ok" or any(line.verdict in _NOTHING_MEASURED for line in gate.lines)


def _stage(request: BenchRequest, runs: int) -> BenchRequest:
    return msgspec.structs.replace(request, options={**request.options, "runs": runs})


def _look(workspace: Workspace, outcome: BenchOutcome, baseline: str, policy: Policy, name: str) -> GateResult:
    if len(outcome.benchmarks) != 1:
        names = ", ".join(each.config for each in outcome.benchmarks) or "none"
        raise UsageError(
            f"--until-decided judges one configuration, and this bench measured: {names}.", remedy="Choose one with --filter config=NAME."
        )
    benchmark = outcome.benchmarks[0]
    compared = compare_sides(workspace.store, Side(benchmark, label_of(benchmark)), baseline, policy)
    return gate_stored(workspace.store, compared, policy, policy_name=name)
