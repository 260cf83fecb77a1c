"""The main job, offline: a workflow is run, changed, run again, then measured in three configurations, then gated; all of it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.bench import BenchOutcome, BenchRequest, run_bench
from flowgauge.app.comparing import Compared, compare_sides, gate_stored
from flowgauge.app.plays import start_play
from flowgauge.app.sides import Side, label_of
from flowgauge.app.templates import template_text
from flowgauge.app.workflows import Saved, save_workflow
from flowgauge.app.workspace import Workspace
from flowgauge.model.gate import Policy
from flowgauge.model.play import NodeRun, Play
from flowgauge.model.verdict import GateResult
from flowgauge.model.workflow import Workflow

if TYPE_CHECKING:
    from flowgauge.store.store import Store

BASELINE = "demo"
TICKETS = (
    "I was charged twice for my subscription, please refund one payment.",
    "The login screen shows an error since the update.",
    "Do you have an office in Lisbon?",
)


LABELS = ("billing", "technical", "general")
BENCH = {
    "name": "triage-shootout",
    "runs": 5,
    "configs": [
        {"name": "small", "workflow_overrides": {"config": {"model": "default"}}},
        {"name": "large", "workflow_overrides": {"config": {"model": "expensive"}}},
        {"name": "flaky", "workflow_overrides": {"config": {"model": "flaky", "max_retries": 0}}},
    ],
    "cases": [
        {"name": label, "inputs": {"ticket": ticket}, "expected": {"label": label}} for label, ticket in zip(LABELS, TICKETS, strict=True)
    ],
    "checks": [{"type": "contains", "name": "label", "path": "nodes.classify.text", "value": "{{ expected.label }}"}],
}
"""Three models on three tickets whose right label is known, five times each."""


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


async def demo_bench(workspace: Workspace, saved: Saved) -> BenchOutcome:
    """Measure the version in three configurations; a bench that was left is finished."""
    return await run_bench(workspace, BenchRequest(workflow=saved.record.sid, configs=BENCH, new=True))


def demo_gate(store: Store, outcome: BenchOutcome) -> tuple[Compared, GateResult]:
    """May the large model take the small one's place?"""
    by_config = {each.config: each for each in outcome.benchmarks}
    store.set_baseline(BASELINE, by_config["small"].sid, "the demo's")
    compared = compare_sides(store, Side(by_config["large"], label_of(by_config["large"])), BASELINE, Policy())
    return compared, gate_stored(store, compared, Policy())


async def demo_scene(workspace: Workspace, workflow: Workflow, ticket: str) -> Scene:
    """Save the workflow and play it once."""
    saved = save_workflow(workspace.store, workflow, make_current=True)
    play = await start_play(workspace, saved.version, {"ticket": ticket}, name="demo")
    return Scene(saved, play, workspace.store.get_node_runs(play.sid))
