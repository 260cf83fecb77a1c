"""The Python API: what scripts and notebooks call.

import flowgauge as fg
play = fg.play("ticket-triage.yaml", inputs={"ticket": "I was charged twice"})
play.status, play.output, play.cost_usd, play.node_runs["classify"][0].duration_ms
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.app.hosted import open_hosted
from flowgauge.app.plays import start_play
from flowgauge.app.services import Isolation
from flowgauge.app.tracing import send_play, trace_id_here
from flowgauge.app.workflows import find_target, save_workflow
from flowgauge.define.overrides import override_workflow
from flowgauge.model.play import NodeRun, Play, PlayEvent
from flowgauge.model.workflow import Json, Workflow
from flowgauge.nodes.codec import read_workflow


class PlayResult(msgspec.Struct, frozen=True):
    """A finished play and its node runs. Fields of the play can be asked for directly: `result.output`."""

    play: Play
    runs: tuple[NodeRun, ...]

    @property
    def node_runs(self) -> dict[str, list[NodeRun]]:
        """Every attempt of every node, by the node's path."""
        found: dict[str, list[NodeRun]] = {}
        for run in self.runs:
            found.setdefault(run.node_id, []).append(run)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.play, name)


async def aplay(
    workflow: str | Path | Workflow,
    *,
    inputs: Mapping[str, Json] | None = None,
    config: Mapping[str, Json] | None = None,
    version: str = "",
    name: str = "",
    db: str | None = None,
    record: str | Path | None = None,
    replay: str | Path | None = None,
    isolation: Isolation = "auto",
    on_event: Callable[[PlayEvent], None] | None = None,
) -> PlayResult:
    """Run a workflow file, a stored workflow by name or sid, or a Workflow, and store the play.

    A play that fails is a result, not an exception; bad files and inputs raise.
    """
    async with open_hosted(
        db, isolation=isolation, record=Path(record) if record else None, replay=Path(replay) if replay else None
    ) as workspace:
        if isinstance(workflow, Workflow):
            saved = save_workflow(workspace.store, workflow, make_current=False)
        else:
            saved = find_target(workspace.store, str(workflow), version)
        laid_over = dict(config or {})
        override_workflow(read_workflow(saved.version.content), {"config": laid_over}, "config")
        played = await start_play(workspace, saved.version, inputs or {}, config=laid_over, name=name, listener=on_event)
        runs = await asyncio.to_thread(workspace.store.get_node_runs, played.sid)
        await asyncio.to_thread(send_play, trace_id_here(), saved.record.name, played, runs)
        return PlayResult(played, runs)


def play(workflow: str | Path | Workflow, **options: Any) -> PlayResult:
    """`aplay`, for code without an event loop."""
    return asyncio.run(aplay(workflow, **options))
