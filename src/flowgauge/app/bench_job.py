"""The job of a bench: its target, its checks and its cache put together, here or in a worker process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.app.bench_pins import held, overridden
from flowgauge.app.pins import pin, pinned, references
from flowgauge.app.services import Isolation
from flowgauge.app.workspace import Workspace
from flowgauge.errors import NotFound
from flowgauge.model.bench import Answer, Bench, BenchRecord, Case, PlannedTrial
from flowgauge.model.play import NodeRun, Play
from flowgauge.model.workflow import Json
from flowgauge.nodes.codec import read_workflow, write_workflow
from flowgauge.nodes.inputs import checked_inputs
from flowgauge.run.targets.table import TargetServices, make_target
from flowgauge.run.targets.workflow import Configured, WorkflowServices
from flowgauge.run.trial_cache import AnswerCache
from flowgauge.run.trial_job import BenchJob, Recipe
from flowgauge.score.scorer import Scorer

if TYPE_CHECKING:
    from flowgauge.store.store import Store


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """All that a process needs to make the job: also sent to workers."""

    record: BenchRecord
    db: str
    """See `workers_db`."""
    workers: int = 1
    """Processes that call the same providers."""
    isolation: Isolation = "auto"
    continued: bool = False
    generation: str = ""


@contextlib.asynccontextmanager
async def open_job(
    workspace: Workspace, setting: Setting, function: Callable[..., Any] | None = None, *, in_worker: bool = False
) -> AsyncIterator[tuple[BenchJob, TargetServices]]:
    """The job in this process."""
    bench = setting.record.definition
    services = TargetServices(
        http=workspace.services.http,
        price=_price,
        plays=await asyncio.to_thread(_plays, workspace, setting, in_worker) if bench.target.kind == "workflow" else None,
        function=function,
    )
    caller = make_target(bench, services)
    recipe = None if function else Recipe("flowgauge.app.bench_worker:worker_job", msgspec.json.encode(setting))
    job = BenchJob(
        bench,
        caller,
        score=_score(bench, workspace),
        cache=_cache(workspace.store) if bench.cache else None,
        recipe=recipe,
    )
    try:
        yield job, services
    finally:
        await caller.close()


def workers_db(store: Store, asked: str) -> str:
    """Where workers find the same store: a file by its whole path; a server as it was asked for, because its place hides the password.

    Empty: as their environment says, which is also ours.
    """
    return asked if "://" in store.place else store.place


def _plays(workspace: Workspace, setting: Setting, in_worker: bool) -> WorkflowServices:
    record = setting.record
    return WorkflowServices(
        engine=workspace.engine,
        clock=workspace.services.clock,
        owner_sid=workspace.owner.sid,
        bench_uid=record.uid,
        created_at=record.created_at,
        graphs=configured(workspace.store, record.definition),
        stored_play=_stored_play(workspace.store) if setting.continued else None,
        trials_follow=not in_worker,
        generation=setting.generation,
    )


def configured(store: Store, bench: Bench) -> dict[str, Configured]:
    """The workflow as each configuration has it. Raises BadFile for an override that does not fit."""
    version = store.get_version(bench.target.reference)
    workflows, kept = overridden(store, bench), held(store, bench.target)
    found = {}
    for configuration in bench.configs:
        workflow = workflows[configuration.name]
        pins = kept or pin(store, references(workflow))
        found[configuration.name] = Configured(
            content=write_workflow(workflow),
            workflow_sid=version.workflow_sid,
            version_sid=version.sid,
            config=configuration.workflow_overrides.get("config") or {},
            pins=pins,
            workflows=pinned(store, pins),
        )
    return found


def _stored_play(store: Store) -> Callable[[str], tuple[Play, tuple[NodeRun, ...]] | None]:
    def find(sid: str) -> tuple[Play, tuple[NodeRun, ...]] | None:
        try:
            return store.get_play(sid), store.get_node_runs(sid)
        except NotFound:
            return None

    return find


def _score(bench: Bench, workspace: Workspace) -> Callable[[PlannedTrial, Case, Answer], Any] | None:
    if not (bench.checks or any(case.checks for case in bench.cases)):
        return None
    scorer = Scorer(bench.checks, workspace.services)
    inputs = _case_inputs(bench, workspace.store)

    def score(_planned: PlannedTrial, case: Case, answer: Answer) -> Any:
        return scorer.begin(answer, case, inputs.get(case.name, case.inputs))

    return score


def _case_inputs(bench: Bench, store: Store) -> Mapping[str, Mapping[str, Json]]:
    """Of a workflow, with its defaults filled in: what checks may name."""
    if bench.target.kind != "workflow":
        return {}
    workflow = read_workflow(store.get_version(bench.target.reference).content)
    return {case.name: checked_inputs(workflow, case.inputs) for case in bench.cases}


def _cache(store: Store) -> AnswerCache:
    async def get(key: str) -> Answer | None:
        return await asyncio.to_thread(store.cache_get, key)

    def put(key: str, answer: Answer) -> None:
        store.cache_put(key, answer)

    return AnswerCache(get=get, put=put)


def _price(model: str, tokens_prompt: int, tokens_completion: int) -> float | None:
    from flowgauge.providers.prices import table

    return table.table().estimate(model, tokens_prompt, tokens_completion)
