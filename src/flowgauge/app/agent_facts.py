"""What is known of an agent now: from stored plays and benchmarks where its flow is a workflow, else what somebody hands in.

Plays and benchmarks are those of the version in use; a section that is handed in
takes the place of the one that would be computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowgauge.errors import NotFound
from flowgauge.model.ids import bench_name
from flowgauge.nodes.codec import read_workflow
from flowgauge.registry.agents.measuring import AttemptRow, BenchRow, PlayRow, benchmark_metrics, lightning_metrics, recipe_metrics
from flowgauge.registry.agents.snapshot import Facts, LightningMetrics, RecipeMetrics, Sections, Source, TrustEvolution

if TYPE_CHECKING:
    from flowgauge.model.workflow import WorkflowRecord
    from flowgauge.registry.agents.agent import Agent
    from flowgauge.store.store import Store

LAST = 50
MOST = 1000


def facts_of(store: Store, agent: Agent, posted: Sections, *, last: int = LAST, after: Source | None = None) -> Facts:
    """Of the last plays; `after`: only of those that ended after what another snapshot has counted."""
    workflow = _workflow(store, agent.flow_id)
    computed = _computed(store, workflow, last, after) if workflow is not None else Facts()
    source = computed.source
    return Facts(
        recipe_metrics=posted.recipe_metrics or computed.recipe_metrics,
        lightning_metrics=posted.lightning_metrics or computed.lightning_metrics,
        benchmark_metrics=computed.benchmark_metrics if posted.benchmark_metrics is None else posted.benchmark_metrics,
        trust_evolution=posted.trust_evolution or computed.trust_evolution,
        source=Source(
            workflow_sid=source.workflow_sid,
            version_sid=source.version_sid,
            plays=source.plays,
            last_play=source.last_play,
            last_play_at=source.last_play_at,
            benchmarks=source.benchmarks,
            posted=posted.given,
        ),
    )


def _workflow(store: Store, flow_id: str) -> WorkflowRecord | None:
    try:
        return store.get_workflow(flow_id)
    except NotFound:
        return None


def _computed(store: Store, workflow: WorkflowRecord, last: int, after: Source | None) -> Facts:
    version = store.get_version(workflow.current_version_sid)
    since = _since(workflow.sid, after)
    mark = since if after else _last_of_any_version(store, workflow.sid)
    plays = [PlayRow(*row) for row in store.play_outcomes(workflow.sid, last, since, version_sid=version.sid)]
    attempts = [AttemptRow(*row) for row in store.node_outcomes([play.sid for play in plays])]
    benches = _benches(store, version.sid)
    actions = [node.id for node in read_workflow(version.content).nodes]
    last_play_at, last_play = max([mark, *((play.finished_at, play.sid) for play in plays[-1:])])
    return Facts(
        recipe_metrics=recipe_metrics(actions, attempts),
        lightning_metrics=lightning_metrics(plays),
        benchmark_metrics=benchmark_metrics(benches),
        trust_evolution=TrustEvolution(generation=version.number),
        source=Source(
            workflow_sid=workflow.sid,
            version_sid=version.sid,
            plays=len(plays),
            last_play=last_play,
            last_play_at=last_play_at,
            benchmarks={each.sid: each.runs for each in benches},
        ),
    )


def others_played(store: Store, source: Source, after: Source) -> int:
    """Plays since then that ran another version than the one in use, so that they were not counted."""
    return store.count_other_outcomes(source.workflow_sid, source.version_sid, _since(source.workflow_sid, after))


def _since(workflow_sid: str, after: Source | None) -> tuple[int, str]:
    return (after.last_play_at, after.last_play) if after and after.workflow_sid == workflow_sid else (0, "")


def _last_of_any_version(store: Store, workflow_sid: str) -> tuple[int, str]:
    """Whatever ended until now is before the snapshot, whichever version it ran and whichever is in use later."""
    return next(((row[3], row[0]) for row in store.play_outcomes(workflow_sid, 1)), (0, ""))


def _benches(store: Store, version_sid: str) -> list[BenchRow]:
    """Of each bench (by its name) and configuration the newest, in that order."""
    newest: dict[tuple[str, str], BenchRow] = {}
    for each in store.iter_benchmarks(version=version_sid, kind="bench"):
        if each.num_runs:
            bench = bench_name(each.bench_id)
            newest[bench, each.config] = BenchRow(each.sid, bench, each.num_runs, each.success_rate)
    return [newest[key] for key in sorted(newest)]


def without_plays(facts: Facts) -> Facts:
    """For too few plays to judge by: what they say is not known."""
    kept = facts.source.posted
    return Facts(
        recipe_metrics=facts.recipe_metrics if "recipe_metrics" in kept else RecipeMetrics(),
        lightning_metrics=facts.lightning_metrics if "lightning_metrics" in kept else LightningMetrics(),
        benchmark_metrics=facts.benchmark_metrics,
        trust_evolution=facts.trust_evolution,
        source=facts.source,
    )
