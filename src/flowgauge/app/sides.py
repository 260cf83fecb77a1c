"""What people type → one side of a comparison.

    bm_019a8b…            a benchmark by its sid, or the beginning of one
    release               a baseline by its name
    latest, support-1f2e  a bench, where it has one configuration; else with :configuration
    suite/test_sort       the newest benchmark of a subject that was ingested
    merge-base:main       the newest benchmark of an ancestor of the merge base, alike in all that must be alike; else of the same data set
    newest:nightly        the newest benchmark whose bench (or subject) begins so, of the candidate's configuration

Reads the store and, for a merge base, git.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.merge_base import ancestors_of_merge_base
from flowgauge.errors import NotFound, UsageError
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.ids import BENCHMARK
from flowgauge.model.metric import Measured

if TYPE_CHECKING:
    from flowgauge.store.store import Store

MERGE_BASE, NEWEST = "merge-base:", "newest:"
LATEST = "latest"


class Side(msgspec.Struct, frozen=True):
    """A benchmark, and what people call it."""

    benchmark: Benchmark
    label: str


def find_side(store: Store, ref: str, *, like: Benchmark | None = None, folder: Path | None = None) -> Side:
    """Raises NotFound, or UsageError where several fit. `like`: the candidate that a baseline is looked for."""
    if ref.startswith(MERGE_BASE):
        return _of_merge_base(store, ref, like, folder)
    if ref.startswith(NEWEST):
        return _newest(store, ref, like)
    if ref.startswith(f"{BENCHMARK}_"):
        return _side(store.get_benchmark(ref))
    with contextlib.suppress(NotFound):
        return Side(store.get_benchmark(store.get_baseline(ref).benchmark_sid), ref)
    alone = [store.get_benchmark(LATEST)] if ref == LATEST else store.list_benchmarks(limit=1, subject=ref).items
    if alone and not alone[0].bench_uid:
        return _side(alone[0])
    return _of_bench(store, ref, like)


def load_side(store: Store, side: Side, *, with_nodes: bool = False) -> Measured:
    """With its samples."""
    from flowgauge.aggregate.measured import measured

    benchmark = side.benchmark
    trials = store.measured_columns(benchmark.bench_uid, benchmark.config) if benchmark.bench_uid else ()
    nodes = store.node_columns(benchmark.bench_uid, benchmark.config) if with_nodes and benchmark.bench_uid else ()
    return measured(benchmark, side.label, trials, nodes)


def label_of(benchmark: Benchmark) -> str:
    """Bench id and configuration, or the subject of what has no bench."""
    return f"{benchmark.bench_id}:{benchmark.config}" if benchmark.bench_uid else benchmark.subject or benchmark.sid


def benchmark_if_there(store: Store, sid: str) -> tuple[Benchmark | None, str]:
    """With its label; neither for one that was deleted."""
    try:
        found = store.get_benchmark(sid)
    except NotFound:
        return None, ""
    return found, label_of(found)


def _side(benchmark: Benchmark) -> Side:
    return Side(benchmark, label_of(benchmark))


def _of_bench(store: Store, ref: str, like: Benchmark | None) -> Side:
    bench_ref, _, config = ref.partition(":")
    try:
        record = store.get_bench(bench_ref)
    except NotFound as error:
        raise NotFound(
            f"Nothing is stored under {ref!r}: no baseline, bench or benchmark.",
            remedy="See: flowgauge baseline list, flowgauge benchmark list",
        ) from error
    made = {each.config: each for each in store.list_benchmarks(limit=1000, bench=record.uid).items}
    wanted = config or (next(iter(made)) if len(made) == 1 else like.config if like else "")
    if wanted in made:
        return _side(made[wanted])
    if not made:
        raise NotFound(f"Bench {record.bench_id} has no benchmark: none of its trials was measured.", remedy="Run it first.")
    which = f"has no configuration {wanted!r}" if wanted else "has several configurations"
    names = ", ".join(f"{record.bench_id}:{name}" for name in made)
    raise UsageError(f"Bench {record.bench_id} {which}.", remedy=f"Name one of: {names}")


def _of_merge_base(store: Store, ref: str, like: Benchmark | None, folder: Path | None) -> Side:
    if like is None:
        raise UsageError(f"{ref} is a baseline only: it is looked for by what the candidate is.", remedy="Name a benchmark.")
    commits = ancestors_of_merge_base(ref.removeprefix(MERGE_BASE), folder or Path.cwd())
    found = store.newest_by_commits(commits, like=like)
    if found is None:
        raise NotFound(
            f"No benchmark like {label_of(like)} is stored for the merge base or the {len(commits) - 1} commits before it.",
            remedy="Run the bench on that branch first, with the same configuration and data set.",
        )
    return Side(found, f"{ref} ({found.commit[:7]})")


def _newest(store: Store, ref: str, like: Benchmark | None) -> Side:
    prefix = ref.removeprefix(NEWEST)
    config = like.config if like else None
    page = store.list_benchmarks(limit=2, name_prefix=prefix, config=config)
    for found in page.items:
        if like is None or found.sid != like.sid:
            return Side(found, f"{label_of(found)}")
    raise NotFound(f"No other benchmark's name begins with {prefix!r}.", remedy="See what there is with: flowgauge benchmark list")
