"""Benchmarks: read, found, kept, compared."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from flowgauge.app.comparing import compare_stored
from flowgauge.app.operations.benchmark_views import BenchmarkView, PerRunResult, run_page, view
from flowgauge.app.operations.operation import LARGEST, Done, Limit, Operation, Paged, Params, about
from flowgauge.app.operations.workflows import WorkflowRef
from flowgauge.app.policies import policy_of
from flowgauge.app.trends import trends_of
from flowgauge.errors import NotFound
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.verdict import Comparison, Trend
from flowgauge.model.workflow import Json
from flowgauge.store.page import Page

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.store.store import Store

BenchmarkRef = Annotated[str, Meta(min_length=1, description="A benchmark's sid, or the beginning of it that only one has.")]
VersionSid = Annotated[str, Meta(min_length=1, description="A version's sid.")]
SideRef = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=300,
        description="A benchmark's sid, a baseline's name, a bench id (with :configuration where it has several), newest:NAME, latest.",
    ),
]
RunsLimit = Annotated[int, Meta(ge=1, le=1000, description="Runs of each benchmark, at the most.")]


class BenchmarkGet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which benchmark, and how many of its runs."""

    sid: BenchmarkRef
    with_runs: bool = True
    runs_limit: RunsLimit = 100


class BenchmarkSid(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which benchmark."""

    sid: BenchmarkRef


class BenchmarkRuns(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which benchmark, and which runs."""

    sid: BenchmarkRef
    limit: Limit = 100
    failed: Annotated[bool, Meta(description="Only those that did not succeed.")] = False


class Listed(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of each benchmark."""

    with_runs: Annotated[bool, Meta(description="Also the first runs of each.")] = False
    runs_limit: RunsLimit = 100
    with_stats: Annotated[bool, Meta(description="Also percentiles, intervals and nodes of each.")] = False


class OfWorkflow(Listed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which workflow."""

    workflow_sid: WorkflowRef


class OfVersion(Listed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which version."""

    workflow_version_sid: VersionSid


class BenchmarkFind(Listed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is given must fit."""

    workflow_sid: str = ""
    workflow_version_sid: str = ""
    bench_id: str = ""
    config: str | None = None
    name: Annotated[str, Meta(description="Of its bench, or of the subject of what has none.")] = ""
    name_prefix: Annotated[str, Meta(description="The beginning of either.")] = ""
    subject: str = ""
    commit: str = ""
    kind: Literal["bench", "ingested", "perf", "snapshot"] | None = None
    tags: Annotated[dict[str, str], Meta(description="All of them.")] = {}
    before: Annotated[int, Meta(ge=0, le=LARGEST, description="Older than this moment, in ms since 1970.")] = 0


class LatestForVersion(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which version, and in which configuration."""

    workflow_version_sid: VersionSid
    config: Annotated[str | None, Meta(description="By default any.")] = None


class BenchmarkCompare(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is held against what."""

    candidate: SideRef
    baseline: SideRef
    policy: Annotated[dict[str, Json], Meta(description="Fields of a gate's policy: tolerance, metrics, only, …")] = {}
    with_nodes: Annotated[bool, Meta(description="Also which nodes a change of time comes from.")] = True


class BenchmarkTrend(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which metrics of what."""

    subject: Annotated[str, Meta(min_length=1, description="A workflow, the name of a bench, or an ingested subject.")]
    metrics: Annotated[tuple[str, ...], Meta(description="By default success rate, duration and cost.")] = ()
    config: str | None = None
    last: Annotated[int, Meta(ge=0, le=LARGEST, description="Only the last so many benchmarks; 0: all.")] = 0


async def benchmark_get(host: Host, params: BenchmarkGet) -> BenchmarkView:
    """Raises NotFound."""
    return await asyncio.to_thread(_one, host.store, params)


async def benchmark_runs(host: Host, params: BenchmarkRuns) -> Page[PerRunResult]:
    """In the order in which they were planned."""
    benchmark = await asyncio.to_thread(host.store.get_benchmark, params.sid)
    runs, cursor = await asyncio.to_thread(run_page, host.store, benchmark, params.cursor, params.limit, failed=params.failed)
    return Page(runs, cursor)


async def benchmark_list(host: Host, params: Listed) -> Page[BenchmarkView]:
    """Newest first."""
    return await asyncio.to_thread(_listed, host.store, params)


async def benchmark_find(host: Host, params: BenchmarkFind) -> Page[BenchmarkView]:
    """Newest first."""
    wanted = {
        "workflow": params.workflow_sid,
        "bench": params.bench_id,
        "name": params.name,
        "name_prefix": params.name_prefix,
        "subject": params.subject,
        "commit": params.commit,
        "kind": params.kind,
        "tags": params.tags,
        "before": params.before,
    }
    if params.workflow_version_sid:
        wanted["version"] = await asyncio.to_thread(_known_version, host.store, params.workflow_version_sid)
    asked = {name: value for name, value in wanted.items() if value}
    if params.config is not None:
        asked["config"] = params.config
    return await asyncio.to_thread(_listed, host.store, params, **asked)


async def benchmark_list_for_workflow(host: Host, params: OfWorkflow) -> Page[BenchmarkView]:
    """Newest first."""
    with about("workflow_sid"):
        return await asyncio.to_thread(_listed, host.store, params, workflow=params.workflow_sid)


async def benchmark_list_for_version(host: Host, params: OfVersion) -> Page[BenchmarkView]:
    """Newest first. Raises NotFound for a version that is not known."""
    version = await asyncio.to_thread(_known_version, host.store, params.workflow_version_sid)
    return await asyncio.to_thread(_listed, host.store, params, version=version)


async def benchmark_latest_for_version(host: Host, params: LatestForVersion) -> BenchmarkView | None:
    """Null where the version was never measured. Raises NotFound for one that is not known."""
    version = await asyncio.to_thread(_known_version, host.store, params.workflow_version_sid)
    found = await asyncio.to_thread(host.store.latest_for_version, version, params.config)
    return view(found) if found else None


async def benchmark_delete(host: Host, params: BenchmarkSid) -> Done:
    """Conflict where a baseline stands on it."""
    found = await asyncio.to_thread(host.store.get_benchmark, params.sid)
    await asyncio.to_thread(host.store.delete_benchmark, found.sid)
    return Done(sid=found.sid, message=f"The benchmark {found.sid} is deleted. Its runs stay with its bench.")


async def benchmark_compare(host: Host, params: BenchmarkCompare) -> Comparison:
    """An unknown baseline is an attempt that failed, and says so; an unknown candidate is an error."""
    with about("policy"):
        policy = policy_of(params.policy)
    with about("candidate"):
        compared = await asyncio.to_thread(
            compare_stored, host.store, params.candidate, params.baseline, policy, with_nodes=params.with_nodes
        )
    return compared.comparison


async def benchmark_trend(host: Host, params: BenchmarkTrend) -> tuple[Trend, ...]:
    """Oldest point first."""
    with about("subject"):
        return await asyncio.to_thread(trends_of, host.store, params.subject, params.metrics, config=params.config, last=params.last)


def _one(store: Store, params: BenchmarkGet) -> BenchmarkView:
    benchmark = store.get_benchmark(params.sid)
    return _with_runs(store, benchmark, params.runs_limit) if params.with_runs else view(benchmark)


def _known_version(store: Store, ref: str) -> str:
    """Its sid. A version that was deleted is known by what was measured of it."""
    with about("workflow_version_sid"):
        try:
            return store.get_version(ref).sid
        except NotFound:
            if store.latest_for_version(ref) is None:
                raise
            return ref


def _listed(store: Store, params: Listed, **asked: Any) -> Page[BenchmarkView]:
    page = store.list_benchmarks(params.cursor or None, params.limit, with_stats=params.with_stats, **asked)
    made = (_with_runs(store, each, params.runs_limit) if params.with_runs else view(each) for each in page.items)
    return Page(tuple(made), page.next_cursor)


def _with_runs(store: Store, benchmark: Benchmark, limit: int) -> BenchmarkView:
    return view(benchmark, *run_page(store, benchmark, "", limit))


ROWS = (
    Operation(
        name="benchmark_get",
        scope="read",
        params=BenchmarkGet,
        result=BenchmarkView,
        run=benchmark_get,
        summary="A benchmark with its statistics and the first of its runs.",
    ),
    Operation(
        name="benchmark_runs",
        scope="read",
        params=BenchmarkRuns,
        result=Page[PerRunResult],
        run=benchmark_runs,
        summary="The runs of a benchmark, page by page, in the order in which they were planned.",
    ),
    Operation(
        name="benchmark_list",
        scope="read",
        params=Listed,
        result=Page[BenchmarkView],
        run=benchmark_list,
        summary="All benchmarks, newest first.",
    ),
    Operation(
        name="benchmark_find",
        scope="read",
        params=BenchmarkFind,
        result=Page[BenchmarkView],
        run=benchmark_find,
        summary="Benchmarks that fit all that is asked, newest first.",
    ),
    Operation(
        name="benchmark_list_for_workflow",
        scope="read",
        params=OfWorkflow,
        result=Page[BenchmarkView],
        run=benchmark_list_for_workflow,
        summary="The benchmarks of all versions of a workflow, newest first.",
    ),
    Operation(
        name="benchmark_list_for_version",
        scope="read",
        params=OfVersion,
        result=Page[BenchmarkView],
        run=benchmark_list_for_version,
        summary="The benchmarks of one version, newest first.",
    ),
    Operation(
        name="benchmark_latest_for_version",
        scope="read",
        params=LatestForVersion,
        result=BenchmarkView | None,
        run=benchmark_latest_for_version,
        summary="The newest benchmark of a version; null where there is none.",
    ),
    Operation(
        name="benchmark_delete",
        scope="admin",
        params=BenchmarkSid,
        result=Done,
        run=benchmark_delete,
        summary="Delete a benchmark; its runs stay with its bench.",
    ),
    Operation(
        name="benchmark_compare",
        scope="read",
        params=BenchmarkCompare,
        result=Comparison,
        run=benchmark_compare,
        summary="Hold one benchmark against another: a verdict for each metric, with its uncertainty.",
    ),
    Operation(
        name="benchmark_trend",
        scope="read",
        params=BenchmarkTrend,
        result=tuple[Trend, ...],
        run=benchmark_trend,
        summary="Metrics over all benchmarks of a workflow or subject, with change points.",
    ),
)
