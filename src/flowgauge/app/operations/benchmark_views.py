"""A benchmark and its runs as callers see them.

Every field of the record is there, always. A cost that nobody knows is 0.0 with
`cost_source` unpriced in `estimated_cost_usd`, because callers add it up and
show it; everywhere else unknown stays null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from flowgauge.model.bench import Case, CheckResult, Trial
from flowgauge.model.benchmark import Benchmark, Cell, ConfigurationStats, Fingerprint, NodeStats
from flowgauge.model.figure import Direction
from flowgauge.model.play import CostSource
from flowgauge.model.workflow import Json

if TYPE_CHECKING:
    from flowgauge.store.store import Store

RunStatus = Literal["success", "failed", "timeout"]
_COPIED = (
    "sid", "workflow_sid", "workflow_version_sid", "created_at", "num_runs", "success_rate", "avg_duration_ms", "min_duration_ms",
    "max_duration_ms", "total_retries", "avg_tokens_prompt", "avg_tokens_completion", "difficulty_rating", "notes", "bench_id", "config",
    "kind", "subject", "fingerprint", "tags", "commit",
)  # fmt: skip


class PerRunResult(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a benchmark."""

    play_sid: str
    """Empty where the target was no workflow."""
    input_values: dict[str, Json]
    status: RunStatus
    """success: it ran, and was not found wrong."""
    duration_ms: float
    retries: int
    tokens_prompt: int
    tokens_completion: int
    error: str
    """Empty on success."""
    config: str
    variant: str
    """The case."""
    repetition: int
    """From 0."""
    run_id: str
    cost_usd: float | None
    """Null where the model has no known price."""
    cost_source: CostSource
    failure_category: str
    """Empty on success; wrong_answer where it ran and a check did not pass."""
    scores: dict[str, float]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A metric without its samples."""

    value: float | None
    direction: Direction
    unit: str


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Percentiles, intervals, failures and scores over all runs, and the same by node."""

    model: str
    overall: Cell
    nodes: dict[str, NodeStats]


class BenchmarkView(msgspec.Struct, frozen=True, kw_only=True):
    """The stored measurement of one configuration of one workflow version, or of another subject."""

    sid: str
    workflow_sid: str
    workflow_version_sid: str
    created_at: int
    """Milliseconds since 1970."""
    num_runs: int
    success_rate: Annotated[float, Meta(ge=0, le=100)]
    avg_duration_ms: float | None
    """Of successful runs; null where none succeeded."""
    min_duration_ms: float | None
    max_duration_ms: float | None
    total_retries: int
    avg_tokens_prompt: float | None
    avg_tokens_completion: float | None
    estimated_cost_usd: float
    """Per run; 0.0 also where `cost_source` is unpriced."""
    cost_source: CostSource
    difficulty_rating: Annotated[float, Meta(ge=0, le=1)]
    runs: tuple[PerRunResult, ...] | None
    """Null where they were not asked for; the first page of them otherwise."""
    runs_next_cursor: str | None
    """For benchmark_runs, where there are more."""
    notes: str
    bench_id: str
    config: str
    kind: str
    """bench, ingested, perf or snapshot."""
    subject: str
    metrics: dict[str, Figure]
    stats: Stats | None
    """Null where they were not asked for, or only figures are known."""
    fingerprint: Fingerprint
    """What must be alike for two benchmarks to be compared."""
    tags: dict[str, str]
    commit: str


def view(benchmark: Benchmark, runs: tuple[PerRunResult, ...] | None = None, next_cursor: str | None = None) -> BenchmarkView:
    """With a page of its runs, where they were asked for."""
    return BenchmarkView(
        **{name: getattr(benchmark, name) for name in _COPIED},
        estimated_cost_usd=benchmark.estimated_cost_usd or 0.0,
        cost_source="unpriced" if benchmark.estimated_cost_usd is None and benchmark.num_runs else benchmark.cost_source,
        metrics={name: Figure(value=one.value, direction=one.direction, unit=one.unit) for name, one in benchmark.metrics.items()},
        stats=_stats(benchmark.stats),
        runs=runs,
        runs_next_cursor=next_cursor,
    )


def run_page(
    store: Store, benchmark: Benchmark, cursor: str, limit: int, *, failed: bool = False
) -> tuple[tuple[PerRunResult, ...], str | None]:
    """Runs in the order in which they were planned; of those that failed alone, where asked to."""
    if not benchmark.bench_uid:
        return (), None
    record = store.get_bench(benchmark.bench_uid)
    cases = {case.name: case for case in record.definition.cases}
    page = store.list_trials(benchmark.bench_uid, cursor or None, limit, config=benchmark.config, failed=failed)
    return tuple(run_result(trial, cases) for trial in page.items), page.next_cursor


def run_result(trial: Trial, cases: Mapping[str, Case]) -> PerRunResult:
    """A trial whose answer a check found wrong has failed, so that statuses and success rate agree."""
    answer, case = trial.answer, cases.get(trial.case)
    status: RunStatus = "failed" if answer.status == "success" and not trial.ok else answer.status
    return PerRunResult(
        play_sid=answer.play_sid,
        input_values=dict(case.inputs) if case else {},
        status=status,
        duration_ms=answer.duration_ms,
        retries=answer.retries,
        tokens_prompt=answer.tokens_prompt,
        tokens_completion=answer.tokens_completion,
        error="" if status == "success" else _why(trial),
        config=trial.config,
        variant=trial.case,
        repetition=trial.repetition,
        run_id=trial.run_id,
        cost_usd=answer.cost_usd,
        cost_source=answer.cost_source,
        failure_category=trial.failure_category,
        scores=trial.scores,
    )


def _why(trial: Trial) -> str:
    if trial.answer.error is not None:
        return trial.answer.error.message
    return "; ".join(_complaints(trial.checks)) or trial.failure_category or "failed"


def _complaints(checks: Iterable[CheckResult]) -> Iterable[str]:
    for check in checks:
        if check.error or check.passed is False:
            yield f"{check.name}: {check.error or check.reason or 'did not pass'}"


def _stats(stats: ConfigurationStats | None) -> Stats | None:
    return None if stats is None else Stats(model=stats.model, overall=stats.overall, nodes=stats.nodes)
