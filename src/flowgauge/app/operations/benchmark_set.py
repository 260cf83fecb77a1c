"""Benchmarks of the caller's own, and what people say about those that are there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from flowgauge.app.operations.benchmark_views import BenchmarkView, run_page, view
from flowgauge.app.operations.operation import LARGEST, Operation, Params
from flowgauge.app.recording import MOST, MOST_RUNS, Count, GivenBenchmark, GivenRun, Ms, annotate_benchmark, keep_benchmark
from flowgauge.errors import BadParameter

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.model.benchmark import Benchmark
    from flowgauge.store.store import Store

RUNS_SHOWN = 100
_CHANGEABLE = frozenset({"sid", "notes", "tags", "difficulty_rating"})


class BenchmarkSet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark of your own; or, with the sid of one that is stored, new notes, tags or difficulty for it."""

    sid: Annotated[str, Meta(description="Of a stored benchmark whose notes, tags or difficulty_rating are to change.")] = ""
    workflow_sid: str = ""
    workflow_version_sid: Annotated[str, Meta(description="By default the workflow's version in use.")] = ""
    subject: Annotated[str, Meta(max_length=200, description="What was measured, where that is no workflow.")] = ""
    config: Annotated[str, Meta(min_length=1, max_length=128)] = "default"
    created_at: Annotated[int, Meta(ge=0, le=LARGEST, description="When it was measured, in ms since 1970; by default now.")] = 0
    num_runs: Annotated[int, Meta(ge=1, le=LARGEST)] | None = None
    success_rate: Annotated[float, Meta(ge=0, le=100)] | None = None
    avg_duration_ms: Ms | None = None
    min_duration_ms: Ms | None = None
    max_duration_ms: Ms | None = None
    total_retries: Count | None = None
    avg_tokens_prompt: Annotated[float, Meta(ge=0, le=MOST)] | None = None
    avg_tokens_completion: Annotated[float, Meta(ge=0, le=MOST)] | None = None
    estimated_cost_usd: Annotated[float, Meta(ge=0, le=MOST, description="Per run.")] | None = None
    difficulty_rating: Annotated[float, Meta(ge=0, le=1)] | None = None
    runs: Annotated[tuple[GivenRun, ...], Meta(max_length=MOST_RUNS)] = ()
    notes: str | None = None
    tags: dict[str, str] | None = None
    commit: str = ""


async def benchmark_set(host: Host, params: BenchmarkSet) -> BenchmarkView:
    """What is not given is worked out from the runs."""
    return await asyncio.to_thread(_set, host.store, params)


def _set(store: Store, params: BenchmarkSet) -> BenchmarkView:
    made = _changed(store, params) if params.sid else _kept(store, params)
    return view(made, *run_page(store, made, "", RUNS_SHOWN))


def _changed(store: Store, params: BenchmarkSet) -> Benchmark:
    plain = BenchmarkSet()
    for name in params.__struct_fields__:
        if name not in _CHANGEABLE and getattr(params, name) != getattr(plain, name):
            remedy = "Change notes, tags or difficulty_rating; or leave out the sid to store another benchmark."
            raise BadParameter(name, f"{name} of a stored benchmark is what was measured, and stays.", remedy=remedy)
    return annotate_benchmark(store, params.sid, notes=params.notes, tags=params.tags, difficulty_rating=params.difficulty_rating)


def _kept(store: Store, params: BenchmarkSet) -> Benchmark:
    told = {name: value for name, value in msgspec.structs.asdict(params).items() if name != "sid" and value is not None}
    return keep_benchmark(store, GivenBenchmark(**told))


ROWS = (
    Operation(
        name="benchmark_set",
        scope="run",
        params=BenchmarkSet,
        result=BenchmarkView,
        run=benchmark_set,
        summary="Store a benchmark that was measured elsewhere, or change the notes, tags and difficulty of a stored one.",
    ),
)
