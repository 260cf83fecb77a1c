"""The main job as it stands, offline: a workflow run, changed, run again, and all of it stored."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from flowgauge.app.plays import start_play
from flowgauge.app.templates import template_text
from flowgauge.app.workflows import Saved, save_workflow
from flowgauge.app.workspace import Workspace
from flowgauge.model.play import NodeRun, Play
from flowgauge.model.workflow import Workflow

TICKETS = (
    "I was charged twice for my subscription, please refund one payment.",
    "The app crashes whenever I open the settings page.",
    "Do you have an office in Lisbon?",
)


class Scene(msgspec.Struct, frozen=True):
    """One play of the demo."""

    saved: Saved
    play: Play
    runs: Sequence[NodeRun]


def demo_workflows() -> tuple[Workflow, Workflow]:
    """The template, and a version of it that somebody might try next."""
    from flowgauge.define.workflow import parse_workflow_text

    text = template_text("ticket-triage")
    first = parse_workflow_text(text, "ticket-triage.yaml").workflow
    second = parse_workflow_text(text.replace("of two sentences", "of one sentence"), "ticket-triage.yaml").workflow
    return first, second


async def demo_scene(workspace: Workspace, workflow: Workflow, ticket: str) -> Scene:
    """Save the workflow and play it once."""
    saved = save_workflow(workspace.store, workflow, make_current=True)
    play = await start_play(workspace, saved.version, {"ticket": ticket}, name="demo")
    return Scene(saved, play, workspace.store.get_node_runs(play.sid))
