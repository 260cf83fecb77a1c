"""What is made of a schedule's bench: its benchmarks, held against the baseline by the policy.

Reads the store, and moves no baseline. Of several configurations each is held
against what the baseline has of it; one that failed fails all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from flowgauge.app.comparing import compare_sides, gate_stored
from flowgauge.app.policies import policy_of
from flowgauge.app.sides import Side, find_side, label_of
from flowgauge.errors import FlowgaugeError
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.verdict import GateResult
from flowgauge.report import words

if TYPE_CHECKING:
    from flowgauge.model.bench import BenchRecord
    from flowgauge.model.service import Schedule
    from flowgauge.store.store import Store

Status = Literal["passed", "failed", "not_measured", "measured", "error"]
MOST_WORDS = 2000


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one moment."""

    status: Status
    words: str
    bench_id: str = ""
    gates: tuple[GateResult, ...] = ()

    @property
    def is_bad(self) -> bool:
        """Somebody should look: it regressed, or could not be measured."""
        return self.status not in ("passed", "measured")


def judge_bench(store: Store, schedule: Schedule, record: BenchRecord) -> Judged:
    """A bench that has ended."""
    if record.status != "finished":
        why = {"budget_exceeded": "its budget was spent"}.get(record.status, f"it is {record.status}")
        return Judged(status="not_measured", words=f"The bench was not finished: {why}.", bench_id=record.bench_id)
    made = sorted(store.list_benchmarks(limit=1000, bench=record.uid).items, key=lambda each: each.config)
    if not any(each.stats is not None and each.stats.overall.measured.total for each in made):
        told = "Nothing was measured: no trial got past the infrastructure."
        return Judged(status="not_measured", words=told, bench_id=record.bench_id)
    if not schedule.baseline and not schedule.policy:
        runs = sum(each.num_runs for each in made)
        return Judged(status="measured", words=f"{words.plural(runs, 'run')}; there is nothing to gate against.", bench_id=record.bench_id)
    return _gated(store, schedule, record, made)


def _gated(store: Store, schedule: Schedule, record: BenchRecord, made: Sequence[Benchmark]) -> Judged:
    policy = policy_of(schedule.policy)
    candidates = [each for each in made if _has_opponent(store, schedule.baseline, each, alone=len(made) == 1)]
    if not candidates:
        names = ", ".join(each.config for each in made)
        told = f"The baseline {schedule.baseline} has no configuration of this bench ({names})."
        return Judged(status="not_measured", words=told, bench_id=record.bench_id)
    gates = []
    for each in candidates:
        compared = compare_sides(store, Side(each, label_of(each)), schedule.baseline, policy, with_nodes=False)
        gates.append(gate_stored(store, compared, policy, policy_name=schedule.name))
    found = {gate.status for gate in gates}
    status: Status = "failed" if "failed" in found else "not_measured" if "not_measured" in found else "passed"
    return Judged(status=status, words=_said(status, gates, schedule.baseline), bench_id=record.bench_id, gates=tuple(gates))


def _has_opponent(store: Store, baseline: str, candidate: Benchmark, *, alone: bool) -> bool:
    """A name or sid stands for one configuration: of several candidates only that one is held against it."""
    if alone or not baseline:
        return True
    try:
        opponent = find_side(store, baseline, like=candidate).benchmark
    except FlowgaugeError:
        return True  # the gate says what is wrong with it
    return not opponent.bench_uid or opponent.config == candidate.config


def _said(status: Status, gates: Sequence[GateResult], baseline: str) -> str:
    """What decided it, first things first."""
    against = f" against {baseline}" if baseline else ""
    if status == "passed":
        return f"No regression{against}: {words.plural(sum(len(gate.lines) for gate in gates), 'line')} of the gate passed."
    lines = [f"{gate.comparison.candidate}: {line.words}" for gate in gates for line in gate.lines if line.status == status]
    return words.cut(" ".join(lines), MOST_WORDS)
