"""Node runs of a play as the action trace of a run: in the workflow's own order, so that the same play leaves the same trace.

In: a workflow and the attempts of its nodes, in any order. Out: steps, how many
of them were tool calls, and what a failed play's end is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from flowgauge.model.play import Failure, NodeRun, Step
from flowgauge.model.workflow import FailureKind, Workflow
from flowgauge.perf.model import IoEvent, Termination, TraceStep

_ENDINGS: dict[FailureKind, Termination] = {
    "timeout": "timeout",
    "budget_exceeded": "cost_exhausted",
    "turn_limit": "steps_exhausted",
    "isolation": "sandbox_violation",
}
_IO = {"model": "model", "http": "http", "command": "process"}
_TOOL_STEPS = frozenset({"tool", "http", "command"})


def action_trace(workflow: Workflow, runs: Iterable[NodeRun]) -> tuple[TraceStep, ...]:
    """A step for every attempt."""
    order = {node.id: place for place, node in enumerate(workflow.nodes)}
    needs = {node.id: node.needs for node in workflow.nodes}

    def place(run: NodeRun) -> tuple[int, str, int]:
        return order.get(_top(run.node_id), len(order)), _padded(run.node_id), run.attempt

    return tuple(_step(number, run, needs) for number, run in enumerate(sorted(runs, key=place), 1))


def tool_calls(runs: Iterable[NodeRun]) -> int:
    """Calls of tools, servers and programs."""
    return sum(step.kind in _TOOL_STEPS for run in runs for step in run.steps)


def ending(failure: Failure) -> tuple[Termination, str]:
    """Of a play that failed."""
    return _ENDINGS.get(failure.kind, "error"), _told(failure)


def _step(number: int, run: NodeRun, needs: Mapping[str, tuple[str, ...]]) -> TraceStep:
    asked = [step.request for step in run.steps if step.request is not None]
    return TraceStep(
        step=number,
        observation=asked[0] if asked else {"after": list(needs.get(run.node_id, ()))},
        action={"type": "node", "args": {"node": run.node_id, "attempt": run.attempt}},
        result={"status": run.status, "output": run.output} if run.error is None else {"status": run.status, "error": _told(run.error)},
        io_audit=tuple(_io(run.steps)),
        elapsed_ms=run.duration_ms,
    )


def _io(steps: tuple[Step, ...]) -> Iterator[IoEvent]:
    for step in steps:
        if step.kind in _IO:
            yield msgspec.convert({"kind": _IO[step.kind], "target": step.name or step.kind}, IoEvent)


def _told(failure: Failure) -> str:
    where = f"{failure.node_id}: " if failure.node_id else ""
    return f"{where}{failure.kind}: {failure.message}"


def _top(path: str) -> str:
    return path.split("/")[0].split("[")[0]


def _padded(path: str) -> str:
    """Items of a map in their order: each[2] before each[10]."""
    return "".join(part.rjust(9, "0") if part.isdigit() else part for part in path.replace("[", "[\0").replace("]", "\0]").split("\0"))
