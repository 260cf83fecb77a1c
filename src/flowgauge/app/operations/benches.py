"""Benches: measured in the background, followed, stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from flowgauge.app.bench import BenchRequest, load
from flowgauge.app.host_benches import GRACE_S
from flowgauge.app.operations.operation import LARGEST, Operation, Paged, Params, about
from flowgauge.app.operations.workflows import find_version_of
from flowgauge.errors import BadParameter, Conflict
from flowgauge.model.bench import MOST_RUNS, BenchRecord, BenchStatus
from flowgauge.model.workflow import Json
from flowgauge.plan.ids import definition_hash
from flowgauge.store.page import Page

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.store.store import Store

BenchRef = Annotated[str, Meta(min_length=1, description="A bench id, the beginning of one that only one has, or latest.")]
_COPIED = ("bench_id", "uid", "name", "status", "total", "created_at", "finished_at", "duration_ms", "interruptions")
_REFS = ("workflow_sid", "workflow_version_sid")
_LAID_OVER = ("name", "runs", "max_concurrency", "limit", "seed", "budget_usd", "timeout_s", "cache", "tags")


class BenchmarkStart(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to measure: a workflow (or one version) × configurations × cases × runs."""

    workflow_sid: Annotated[str, Meta(description="A workflow's sid, or its name; not needed where a version is given.")] = ""
    workflow_version_sid: Annotated[str, Meta(description="By default the version in use.")] = ""
    configs: Annotated[
        dict[str, Json] | list[Json],
        Meta(description="What a bench file holds (configs, cases, checks, …), a list of configurations, or overrides by name."),
    ] = {}
    name: Annotated[str, Meta(max_length=128, description="By default the workflow's.")] = ""
    runs: Annotated[int, Meta(ge=1, le=MOST_RUNS, description="How often each configuration runs each case.")] | None = None
    max_concurrency: Annotated[int, Meta(ge=1, le=1000, description="Trials at once.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=LARGEST, description="Only the first so many cases.")] | None = None
    seed: int | None = None
    budget_usd: Annotated[float, Meta(gt=0, description="The bench stops before it would spend more.")] | None = None
    timeout_s: Annotated[float, Meta(gt=0, description="One trial at the most.")] | None = None
    cache: bool | None = None
    tags: dict[str, str] = {}
    bench_id: Annotated[
        str, Meta(max_length=200, description="A name of your own for the bench: asked for again, it is not begun twice.")
    ] = ""


class BenchGet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which bench."""

    bench_id: BenchRef


class BenchView(msgspec.Struct, frozen=True, kw_only=True):
    """A bench as it stands now."""

    bench_id: str
    uid: str
    name: str
    status: BenchStatus
    """running also while it waits for its turn; interrupted: stopped or failed, and not gone on with by itself."""
    queued: bool
    done: int
    total: int
    created_at: int
    finished_at: int
    """0 while it runs."""
    duration_ms: float
    interruptions: int
    """How often its owner died, or it was stopped."""
    workflow_version_sid: str
    tags: dict[str, str]
    benchmark_sids: tuple[str, ...]
    """One a configuration, once it has ended."""
    error: str
    """Why it could not go on, where that is so."""


async def benchmark_start(host: Host, params: BenchmarkStart) -> BenchView:
    """Stored when this answers; measured in the background."""
    request = await asyncio.to_thread(bench_request, host.store, params)
    try:
        with about("configs"):
            record = await host.start_bench(request)
    except Conflict:
        there = await asyncio.to_thread(_same, host.store, request)
        if there is None:
            raise
        record = there
    return await asyncio.to_thread(_view, host, record)


async def bench_get(host: Host, params: BenchGet) -> BenchView:
    """Raises NotFound."""
    record = await asyncio.to_thread(host.store.get_bench, params.bench_id)
    return await asyncio.to_thread(_view, host, record)


async def bench_list(host: Host, params: Paged) -> Page[BenchView]:
    """Newest first."""
    page = await asyncio.to_thread(host.store.list_benches, params.cursor or None, params.limit)
    return Page(await asyncio.to_thread(_views, host, page.items), page.next_cursor)


async def bench_cancel(host: Host, params: BenchGet) -> BenchView:
    """What was measured stays."""
    return await asyncio.to_thread(_view, host, await host.cancel_bench(params.bench_id))


def bench_request(store: Store, params: BenchmarkStart) -> BenchRequest:
    """What the bench runner is asked for. Raises NotFound, or BadParameter."""
    if isinstance(params.configs, dict) and "dataset" in params.configs:
        raise BadParameter("configs.dataset", "A data set is a file, and the server reads none.", remedy="Give its rows as cases.")
    record, version = find_version_of(store, _workflow(store, params), params.workflow_version_sid, fields=_REFS)
    given = {name: getattr(params, name) for name in _LAID_OVER}
    return BenchRequest(
        workflow=record.sid,
        version=version.sid,
        configs=params.configs or None,
        options={name: value for name, value in given.items() if value not in (None, "", {})},
        bench_id=params.bench_id,
        new=not params.bench_id,
        grace_s=GRACE_S,
    )


def _workflow(store: Store, params: BenchmarkStart) -> str:
    """That of the version, where only a version is given."""
    if params.workflow_sid:
        return params.workflow_sid
    if not params.workflow_version_sid:
        raise BadParameter("workflow_sid", "Nothing to measure is named.", remedy="Give workflow_sid or workflow_version_sid.")
    with about("workflow_version_sid"):
        return store.get_version(params.workflow_version_sid).workflow_sid


def _same(store: Store, request: BenchRequest) -> BenchRecord | None:
    """The bench that was asked for before under the same id; None where that is another one."""
    if not request.bench_id:
        return None
    bench, _ = load(store, request)
    there = store.get_bench(request.bench_id)
    asked = bench is not None and there.bench_id == request.bench_id and there.definition_hash == definition_hash(bench)
    return there if asked else None


def _view(host: Host, record: BenchRecord) -> BenchView:
    return _views(host, (record,))[0]


def _views(host: Host, records: Sequence[BenchRecord]) -> tuple[BenchView, ...]:
    """The benchmarks of all of them are asked for at once."""
    made = host.store.benchmark_sids([record.uid for record in records if record.status != "running"])
    return tuple(_told(host, record, made.get(record.uid, ())) for record in records)


def _told(host: Host, record: BenchRecord, benchmark_sids: tuple[str, ...]) -> BenchView:
    progress, target = host.bench_progress(record.uid), record.definition.target
    finished = record.status == "finished"
    return BenchView(
        **{name: getattr(record, name) for name in _COPIED},
        queued=progress is not None and progress.queued,
        done=progress.done if progress else record.total if finished else host.store.count_trials(record.uid),
        workflow_version_sid=target.reference if target.kind == "workflow" else "",
        tags=record.definition.tags,
        benchmark_sids=benchmark_sids,
        error=host.benches.failure(record.uid) if not finished else "",
    )


ROWS = (
    Operation(
        name="benchmark_start",
        scope="run",
        params=BenchmarkStart,
        result=BenchView,
        run=benchmark_start,
        summary="Measure a workflow in the background: configurations × cases × runs; answers at once with the bench's id.",
    ),
    Operation(name="bench_get", scope="read", params=BenchGet, result=BenchView, run=bench_get, summary="How far a bench is."),
    Operation(name="bench_list", scope="read", params=Paged, result=Page[BenchView], run=bench_list, summary="Benches, newest first."),
    Operation(
        name="bench_cancel",
        scope="run",
        params=BenchGet,
        result=BenchView,
        run=bench_cancel,
        summary="Stop a bench; what was measured stays.",
    ),
)
