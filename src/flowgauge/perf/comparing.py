"""A run against an earlier one, by the same statistics as every other comparison.

In: two runs' manifests and rows. Out: a gate's lines. Refuses another class of
machine unless it is told that this is meant.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from flowgauge.compare.comparison import compare
from flowgauge.compare.gate import judge
from flowgauge.errors import UsageError
from flowgauge.model.benchmark import Benchmark, Fingerprint
from flowgauge.model.gate import Policy
from flowgauge.model.metric import CaseCounts, Measured, Samples
from flowgauge.model.verdict import GateResult
from flowgauge.perf.files import Manifest, SeriesRow

POLICY = Policy(tolerance=0.10)
"""Wall clock on one machine moves by a few percent by itself."""
_MOST_RUNS_NAMED = 5


def compare_runs(this: Manifest, rows: Sequence[SeriesRow], earlier: Manifest, earlier_rows: Sequence[SeriesRow]) -> GateResult:
    """What the policy makes of the two."""
    ours, theirs = measured(this, rows), measured(earlier, earlier_rows)
    return judge(compare(ours, theirs, policy=POLICY), ours, POLICY)


def require_same_scenario(this: str, earlier: Manifest) -> None:
    """Raises UsageError where the two did not do the same work."""
    if this != earlier.scenario.name:
        raise UsageError(
            f"The earlier run {earlier.stamp} was of the scenario '{earlier.scenario.name}', this is '{this}'.",
            remedy="Name the manifest of a run of this scenario.",
        )


def require_same_machine(this: str, earlier: Manifest) -> None:
    """Raises UsageError where times would say more about the machines than about the code."""
    if this != earlier.host.machine:
        raise UsageError(
            f"The earlier run was made on another class of machine: {earlier.host.machine}, this is {this}.",
            remedy="Run both on the same class, or say --any-machine.",
        )


def measured(manifest: Manifest, rows: Sequence[SeriesRow]) -> Measured:
    """A run as every consumer of metrics takes it: pass rates by task and agent, figures by seed."""
    return Measured(
        label=manifest.stamp,
        benchmark=Benchmark(
            sid=f"{manifest.stamp} {rows[0].run_id}" if rows else manifest.stamp,  # two folders may hold runs of the same second
            bench_uid="",
            bench_id=manifest.scenario.name,
            config="",
            commit=manifest.host.git,
            kind="perf",
            subject=manifest.scenario.name,
            fingerprint=Fingerprint(dataset=manifest.scenario.hash, machine=manifest.host.machine),
        ),
        metrics={**_times(rows), **{name: _by_seed(unit, rows, of) for name, (unit, of) in _OVERALL.items()}},
        cases=_counts(rows),
    )


def case_of(row: SeriesRow) -> str:
    """The name under which episodes of two runs are held against each other."""
    return f"{row.task_ref} · {row.agent}"


def _times(rows: Sequence[SeriesRow]) -> dict[str, Samples]:
    """Each task by itself: one that became slower must not hide among those that did not."""
    groups: dict[str, list[SeriesRow]] = defaultdict(list)
    for row in rows:
        groups[case_of(row)].append(row)
    return {f"wall clock of {case}": _by_seed("ms", group, _time_ms) for case, group in groups.items()}


def _by_seed(unit: str, rows: Sequence[SeriesRow], of: Callable[[SeriesRow], float | None]) -> Samples:
    """A seed is the same work on both sides, so each is held against itself."""
    by_case: dict[str, array[float]] = defaultdict(lambda: array("d"))
    for row in rows:
        if (value := of(row)) is not None:
            by_case[f"{case_of(row)} #{row.seed}"].append(value)
    return Samples(direction="lower", unit=unit, by_case=by_case)


def _time_ms(row: SeriesRow) -> float | None:
    return row.wall_clock_s * 1000 if row.success else None


_OVERALL: dict[str, tuple[str, Callable[[SeriesRow], float | None]]] = {
    "artifact_bytes": ("bytes", lambda row: float(row.artifact_bytes) if row.success else None),
    "tokens_used": ("tokens", lambda row: row.tokens_used),
}


def _counts(rows: Sequence[SeriesRow]) -> dict[str, CaseCounts]:
    groups: dict[str, list[SeriesRow]] = defaultdict(list)
    for row in rows:
        groups[case_of(row)].append(row)
    return {
        case: CaseCounts(
            runs=len(group),
            passed=sum(row.success for row in group),
            infrastructure=0,
            failures=dict(Counter(row.termination_reason for row in group if not row.success)),
            failed_runs=tuple(row.run_id for row in group if not row.success)[:_MOST_RUNS_NAMED],
        )
        for case, group in groups.items()
    }
