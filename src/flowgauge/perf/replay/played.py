"""A stored play as a run artifact, so that it can be held beside another.

In: a play that has ended, its node runs and its workflow. Out: the artifact. A
play does not keep its exchanges with models whole, so the model trace is empty.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from flowgauge.errors import UsageError
from flowgauge.model.play import FINISHED, NodeRun, Play
from flowgauge.model.workflow import Workflow
from flowgauge.perf.artifact import sealed
from flowgauge.perf.model import FAILURE_TYPES, Budgets, RunArtifact, Termination
from flowgauge.perf.node_trace import action_trace, ending, tool_calls


def run_of_play(workflow: Workflow, version: int, play: Play, runs: Sequence[NodeRun]) -> RunArtifact:
    """Raises UsageError where the play has not ended."""
    if play.status not in FINISHED:
        raise UsageError(f"Play {play.sid} has not ended: it is {play.status}.", remedy="Wait for it, or name another.")
    termination, reason = _ending(play)
    done = [run for run in runs if run.status != "skipped"]
    return sealed(
        RunArtifact(
            run_id=play.sid,
            trace_id=hashlib.sha256(play.sid.encode()).hexdigest()[:32],
            agent=workflow.name,
            task_ref=f"{workflow.name}@{version}",
            task_version=str(version),
            seed=_seed(workflow, play),
            budgets=Budgets(),
            inputs=play.inputs,
            success=termination == "completed",
            termination_reason=termination,
            failure_type=FAILURE_TYPES[termination],
            failure_reason=reason,
            steps=len(done),
            tool_calls=tool_calls(done),
            started_at=play.started_at,
            wall_clock_s=play.duration_ms / 1000,
            output=play.output,
            action_trace=action_trace(workflow, done),
            artifact_hash=f"sha256:{'0' * 64}",
        )
    )


def _ending(play: Play) -> tuple[Termination, str]:
    if play.status == "success":
        return "completed", ""
    return ending(play.error) if play.error is not None else ("error", f"The play is {play.status}.")


def _seed(workflow: Workflow, play: Play) -> int:
    seed = play.config.get("seed", workflow.config.seed)
    return seed if isinstance(seed, int) else 0
