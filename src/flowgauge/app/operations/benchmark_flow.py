"""The steps of the template benchmark_flow: what is to be measured, the measuring, the report.

Each can be called by itself. Between the first two a model makes up the inputs;
whoever has inputs already can hand them to benchmark_measure.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from flowgauge.app.bench import BenchRequest
from flowgauge.app.host_benches import GRACE_S
from flowgauge.app.made_inputs import Batch, batches, checked_sets, fitting
from flowgauge.app.operations.benchmark_views import view
from flowgauge.app.operations.benchmarks import BenchmarkRef
from flowgauge.app.operations.operation import Operation, Params
from flowgauge.app.operations.workflows import WorkflowRef, find_version_of
from flowgauge.errors import NotMeasured
from flowgauge.model.bench import BenchStatus
from flowgauge.model.ids import bench_id
from flowgauge.model.play import CostSource
from flowgauge.model.workflow import InputDecl, Json
from flowgauge.nodes.codec import read_workflow
from flowgauge.report.benchmark_text import benchmark_text

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.model.benchmark import Benchmark
    from flowgauge.store.store import Store

MOST_RUNS = 1000
EXAMPLES = 10
EXAMPLES_BYTES = 20_000
"""Of all examples that a model is shown, written as JSON."""
VersionOf = Annotated[str, Meta(description="By default the version in use.")]


class BenchmarkPrepare(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be measured, and how often."""

    workflow_sid: WorkflowRef
    workflow_version_sid: VersionOf = ""
    num_runs: Annotated[int, Meta(ge=1, le=MOST_RUNS, description="Input sets, each run once.")] = 5


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """All that a model must know to make up inputs for a workflow, and an id for the bench that runs them."""

    workflow_sid: str
    workflow_version_sid: str
    name: str
    description: str
    inputs: tuple[InputDecl, ...]
    examples: tuple[dict[str, Json], ...]
    """Stored ones that fit this version: real inputs to make up others from."""
    num_runs: int
    bench_id: str
    """A new one. benchmark_measure that is called with it twice measures once."""
    batches: tuple[Batch, ...]
    """What to ask a model for, each with the schema of its answer; none where the workflow takes no inputs."""


class BenchmarkMeasure(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which version, and with which inputs."""

    workflow_sid: WorkflowRef
    workflow_version_sid: VersionOf = ""
    input_sets: Annotated[
        tuple[dict[str, Json], ...], Meta(max_length=MOST_RUNS, description="Each is run once, as a case of its own.")
    ] = ()
    num_runs: Annotated[int, Meta(ge=0, le=MOST_RUNS, description="How many sets there must be; 0: as many as there are.")] = 0
    bench_id: Annotated[
        str, Meta(max_length=200, description="A name of your own for the bench: asked for again, it is not begun twice.")
    ] = ""
    name: Annotated[str, Meta(max_length=128, description="Of the bench; by default the workflow's.")] = ""
    max_concurrency: Annotated[int, Meta(ge=1, le=1000, description="Runs at once.")] | None = None
    timeout_s: Annotated[float, Meta(gt=0, description="One run at the most.")] | None = None
    tags: dict[str, str] = {}


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The stored benchmark, in short."""

    benchmark_sid: str
    bench_id: str
    status: BenchStatus
    """finished; else it was stopped, and only some sets were run."""
    workflow_sid: str
    workflow_version_sid: str
    num_runs: int
    success_rate: float
    avg_duration_ms: float | None
    estimated_cost_usd: float
    """Per run; 0.0 also where `cost_source` is unpriced."""
    cost_source: CostSource


class BenchmarkReport(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which benchmark."""

    sid: BenchmarkRef


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark for people."""

    benchmark_sid: str
    text: str


async def benchmark_prepare(host: Host, params: BenchmarkPrepare) -> Prepared:
    """Stores nothing."""
    return await asyncio.to_thread(_prepared, host.store, params)


async def benchmark_measure(host: Host, params: BenchmarkMeasure) -> Measured:
    """Answers when it is measured and stored; benchmark_start answers at once. Takes no slot of other benches."""
    request = await asyncio.to_thread(_request, host.store, params)
    outcome = await host.run_bench(request)
    if not outcome.benchmarks:
        raise NotMeasured(f"The bench {outcome.record.bench_id} was stopped before a run had ended.", remedy="Start it again.")
    return _measured(outcome.benchmarks[0], outcome.record.status)


async def benchmark_report(host: Host, params: BenchmarkReport) -> Report:
    """Raises NotFound."""
    return await asyncio.to_thread(_report, host.store, params.sid)


def _prepared(store: Store, params: BenchmarkPrepare) -> Prepared:
    record, version = find_version_of(
        store, params.workflow_sid, params.workflow_version_sid, fields=("workflow_sid", "workflow_version_sid")
    )
    workflow = read_workflow(version.content)
    examples = _shown(fitting(workflow.inputs, (one.input_values for one in store.list_examples(record.sid, limit=EXAMPLES).items)))
    return Prepared(
        workflow_sid=record.sid,
        workflow_version_sid=version.sid,
        name=record.name,
        description=workflow.description,
        inputs=workflow.inputs,
        examples=examples,
        num_runs=params.num_runs,
        bench_id=bench_id(f"{record.name}-made", secrets.token_hex(8), 1),
        batches=batches(workflow.inputs, examples, params.num_runs),
    )


def _shown(examples: list[dict[str, Json]]) -> tuple[dict[str, Json], ...]:
    """As many as a prompt can bear."""
    kept, room = [], EXAMPLES_BYTES
    for example in examples:
        room -= len(msgspec.json.encode(example))
        if room < 0:
            break
        kept.append(example)
    return tuple(kept)


def _request(store: Store, params: BenchmarkMeasure) -> BenchRequest:
    record, version = find_version_of(
        store, params.workflow_sid, params.workflow_version_sid, fields=("workflow_sid", "workflow_version_sid")
    )
    sets = checked_sets(read_workflow(version.content), params.input_sets, params.num_runs)
    cases = [{"name": f"set {number}", "inputs": values} for number, values in enumerate(sets, start=1)]
    laid_over = {"name": params.name, "max_concurrency": params.max_concurrency, "timeout_s": params.timeout_s, "tags": params.tags}
    return BenchRequest(
        workflow=record.sid,
        version=version.sid,
        configs={"cases": cases},
        options={"runs": 1, **{name: value for name, value in laid_over.items() if value}},
        bench_id=params.bench_id,
        new=not params.bench_id,
        grace_s=GRACE_S,
    )


def _measured(benchmark: Benchmark, status: BenchStatus) -> Measured:
    seen = view(benchmark)
    names = ("bench_id", "workflow_sid", "workflow_version_sid", "num_runs", "success_rate", "avg_duration_ms", "estimated_cost_usd")
    return Measured(benchmark_sid=seen.sid, status=status, cost_source=seen.cost_source, **{name: getattr(seen, name) for name in names})


def _report(store: Store, sid: str) -> Report:
    benchmark = store.get_benchmark(sid)
    what = benchmark.subject
    if benchmark.workflow_version_sid:
        version = store.get_version(benchmark.workflow_version_sid)
        what = f"{store.get_workflow(version.workflow_sid).name} v{version.number}"
    return Report(benchmark_sid=benchmark.sid, text=benchmark_text(benchmark, what))


ROWS = (
    Operation(
        name="benchmark_prepare",
        scope="read",
        params=BenchmarkPrepare,
        result=Prepared,
        run=benchmark_prepare,
        summary="What a benchmark with made-up inputs needs to know of a workflow: its inputs, its examples, what to ask a model for.",
    ),
    Operation(
        name="benchmark_measure",
        scope="run",
        params=BenchmarkMeasure,
        result=Measured,
        run=benchmark_measure,
        summary="Run a workflow once with each of some input sets, and store the benchmark; answers when it is done.",
    ),
    Operation(
        name="benchmark_report",
        scope="read",
        params=BenchmarkReport,
        result=Report,
        run=benchmark_report,
        summary="A stored benchmark as a short text.",
    ),
)
