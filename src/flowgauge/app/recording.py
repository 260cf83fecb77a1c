"""Benchmarks that somebody else has measured: held to what they say of themselves, and kept beside our own.

With its runs, a benchmark is kept as a finished bench, and what it does not say
is worked out from them. Without, it is figures alone. Of what is stored, only
what people say about it can be changed: its notes, its tags, its difficulty.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from flowgauge.aggregate.benchmarks import to_benchmarks
from flowgauge.aggregate.rows import trial_row
from flowgauge.aggregate.summary import summarise
from flowgauge.errors import BadParameter
from flowgauge.model.bench import Answer, Bench, BenchRecord, Case, Configuration, Target, Trial
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.figure import Metric
from flowgauge.model.ids import BENCHMARK, new_sid
from flowgauge.model.play import Failure
from flowgauge.model.workflow import FailureKind, Json
from flowgauge.plan.ids import definition_hash, run_id
from flowgauge.plan.order import total

if TYPE_CHECKING:
    from flowgauge.store.store import Store

MOST = 1e12
"""Of any figure that is told: what is larger is a slip, and sums of it would leave the numbers."""
Ms = Annotated[float, Meta(ge=0, le=MOST, description="Milliseconds.")]
Usd = Annotated[float, Meta(ge=0, le=MOST)]
Count = Annotated[int, Meta(ge=0, le=10**12)]
MOST_RUNS = 10_000
_FIGURES = (
    "success_rate", "avg_duration_ms", "min_duration_ms", "max_duration_ms", "total_retries", "avg_tokens_prompt", "avg_tokens_completion",
    "estimated_cost_usd",
)  # fmt: skip
_METRICS: dict[str, tuple[str, str, Literal["higher", "lower"], float]] = {
    "success_rate": ("success_rate", "", "higher", 0.01),
    "avg_duration_ms": ("duration_ms", "ms", "lower", 1.0),
    "estimated_cost_usd": ("cost_usd", "USD", "lower", 1.0),
    "avg_tokens_prompt": ("tokens_prompt", "", "lower", 1.0),
    "avg_tokens_completion": ("tokens_completion", "", "lower", 1.0),
}
"""Figure → metric, unit, direction, scale: a metric's success rate is 0 to 1."""
_FAILED: FailureKind = "code_error"


class GivenRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run, as somebody else has measured it."""

    status: Literal["success", "failed", "timeout"]
    duration_ms: Ms
    play_sid: str = ""
    input_values: dict[str, Json] = {}
    retries: Count = 0
    tokens_prompt: Count = 0
    tokens_completion: Count = 0
    error: Annotated[str, Meta(description="Empty on success.")] = ""
    variant: Annotated[str, Meta(description="The case; by default each run is one of its own.")] = ""
    cost_usd: Usd | None = None
    scores: dict[str, Annotated[float, Meta(ge=-MOST, le=MOST)]] = {}


class GivenBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark, as somebody else has measured it. What is not given is worked out from the runs, or not known."""

    workflow_sid: str = ""
    workflow_version_sid: str = ""
    subject: str = ""
    config: str = "default"
    created_at: int = 0
    num_runs: int | None = None
    success_rate: float | None = None
    avg_duration_ms: float | None = None
    min_duration_ms: float | None = None
    max_duration_ms: float | None = None
    total_retries: int | None = None
    avg_tokens_prompt: float | None = None
    avg_tokens_completion: float | None = None
    estimated_cost_usd: float | None = None
    difficulty_rating: float = 0.5
    runs: tuple[GivenRun, ...] = ()
    notes: str = ""
    tags: dict[str, str] = {}
    commit: str = ""


class Subject(msgspec.Struct, frozen=True):
    """What was measured: its name, and the target of a bench."""

    name: str
    target: Target
    workflow_sid: str = ""
    version_sid: str = ""


def keep_benchmark(store: Store, given: GivenBenchmark) -> Benchmark:
    """Raises BadParameter with the field that does not fit, NotFound for a workflow or version that is not stored."""
    _check(given)
    subject = _subject(store, given)
    return _with_runs(store, given, subject) if given.runs else store.put_benchmarks([_figures(given, subject)])[0]


def annotate_benchmark(
    store: Store, sid: str, *, notes: str | None = None, tags: Mapping[str, str] | None = None, difficulty_rating: float | None = None
) -> Benchmark:
    """Change what people say about a benchmark; None leaves it. Raises NotFound."""
    found = store.get_benchmark(sid)
    said = {"notes": notes, "tags": None if tags is None else dict(tags), "difficulty_rating": difficulty_rating}
    return store.put_benchmarks([msgspec.structs.replace(found, **{name: value for name, value in said.items() if value is not None})])[0]


def _check(given: GivenBenchmark) -> None:
    low, mean, high = given.min_duration_ms, given.avg_duration_ms, given.max_duration_ms
    known = [value for value in (low, mean, high) if value is not None]
    if known != sorted(known):
        raise BadParameter("avg_duration_ms", "min_duration_ms, avg_duration_ms and max_duration_ms do not go up.", remedy="Correct them.")
    if given.runs:
        _check_runs(given)
    elif given.num_runs is None or given.success_rate is None:
        missing = "num_runs" if given.num_runs is None else "success_rate"
        raise BadParameter(missing, f"Without runs, {missing} is not known.", remedy=f"Give {missing}, or the runs.")


def _check_runs(given: GivenBenchmark) -> None:
    count = len(given.runs)
    if given.num_runs not in (None, count):
        raise BadParameter("num_runs", f"num_runs is {given.num_runs}, and there are {count} runs.", remedy="Leave it out.")
    for place, run in enumerate(given.runs):
        if run.status == "success" and run.error:
            raise BadParameter(f"runs[{place}].error", "A run that succeeded has no error.", remedy="Correct its status, or leave it out.")
    _check_variants(given.runs)
    measured = 100 * sum(run.status == "success" for run in given.runs) / count
    if given.success_rate is not None and not math.isclose(given.success_rate, measured, abs_tol=0.06):
        words = f"success_rate is {given.success_rate:g}, and {measured:g} % of the runs succeeded."
        raise BadParameter("success_rate", words, remedy="Leave it out.")


def _check_variants(runs: Sequence[GivenRun]) -> None:
    first: dict[str, GivenRun] = {}
    for place, run in enumerate(runs):
        if run.variant and first.setdefault(run.variant, run).input_values != run.input_values:
            words = f"Two runs of the variant {run.variant!r} have different inputs."
            raise BadParameter(f"runs[{place}].input_values", words, remedy="Give each set of inputs a variant of its own.")


def _subject(store: Store, given: GivenBenchmark) -> Subject:
    if not (given.workflow_sid or given.workflow_version_sid):
        if not given.subject:
            raise BadParameter("workflow_sid", "A benchmark is of a workflow, or of a subject.", remedy="Give workflow_sid or subject.")
        return Subject(given.subject, Target(kind="python", reference=given.subject, name=given.subject, content=given.subject))
    record = store.get_workflow(given.workflow_sid) if given.workflow_sid else None
    version = store.get_version(given.workflow_version_sid or (record.current_version_sid if record else ""))
    if record is not None and version.workflow_sid != record.sid:
        raise BadParameter("workflow_version_sid", f"{version.sid} is no version of {record.name}.", remedy="See: workflow_version_list")
    name = given.subject or store.get_workflow(version.workflow_sid).name
    target = Target(kind="workflow", reference=version.sid, name=name, content=version.hash)
    return Subject(name, target, version.workflow_sid, version.sid)


def _figures(given: GivenBenchmark, subject: Subject) -> Benchmark:
    """Without runs: what is known, as figures and as metrics that can be compared."""
    values = {name: getattr(given, name) for name in _FIGURES}
    metrics = {
        metric: Metric(value=values[name] * scale, unit=unit, direction=direction)
        for name, (metric, unit, direction, scale) in _METRICS.items()
        if values[name] is not None
    }
    return Benchmark(
        sid=new_sid(BENCHMARK),
        bench_uid="",
        bench_id="",
        subject=subject.name,
        kind="ingested",
        metrics=metrics,
        num_runs=given.num_runs or 0,
        **_said(given, subject),
        **values | {"success_rate": given.success_rate or 0.0, "total_retries": given.total_retries or 0},
        cost_source="none" if given.estimated_cost_usd is None else "provider",
    )


def _said(given: GivenBenchmark, subject: Subject) -> dict[str, Any]:
    moment = given.created_at or time.time_ns() // 1_000_000
    plain = {name: getattr(given, name) for name in ("config", "difficulty_rating", "notes", "tags", "commit")}
    return {**plain, "created_at": moment, "workflow_sid": subject.workflow_sid, "workflow_version_sid": subject.version_sid}


def _with_runs(store: Store, given: GivenBenchmark, subject: Subject) -> Benchmark:
    placed = _placed(given.runs)
    times = Counter(case for case, _ in placed)
    first = dict(reversed([(case, run) for (case, _), run in zip(placed, given.runs, strict=True)]))
    bench = Bench(
        name=subject.name,
        target=subject.target,
        configs=(Configuration(name=given.config),),
        cases=tuple(Case(name=case, inputs=first[case].input_values, runs=count) for case, count in times.items()),
        tags=given.tags,
    )

    def measure(record: BenchRecord) -> tuple[Sequence[Trial], Benchmark]:
        places = enumerate(zip(placed, given.runs, strict=True))
        trials = [_trial(run, given.config, *where, position, record.run_key) for position, (where, run) in places]
        return trials, _measured(given, subject, record, trials)

    return store.put_recorded(bench, definition_hash(bench), total(bench), measure, commit=given.commit)


def _placed(runs: Sequence[GivenRun]) -> list[tuple[str, int]]:
    """Where each run stands: its case, and the how manyeth of that case it is."""
    seen: Counter[str] = Counter()
    found = []
    for number, run in enumerate(runs, 1):
        case = run.variant or f"run {number}"
        found.append((case, seen[case]))
        seen[case] += 1
    return found


def _trial(run: GivenRun, config: str, case: str, repetition: int, position: int, run_key: str) -> Trial:
    failure = None
    if run.status != "success":
        kind: FailureKind = "timeout" if run.status == "timeout" else _FAILED
        failure = Failure(kind=kind, message=run.error or run.status)
    answer = Answer(
        status=run.status,
        duration_ms=run.duration_ms,
        retries=run.retries,
        tokens_prompt=run.tokens_prompt,
        tokens_completion=run.tokens_completion,
        cost_usd=run.cost_usd,
        cost_source="unpriced" if run.cost_usd is None else "provider",
        error=failure,
        play_sid=run.play_sid,
    )
    return Trial(
        run_id=run_id(config, case, repetition, run_key),
        position=position,
        config=config,
        case=case,
        repetition=repetition,
        answer=answer,
        failure_category=failure.kind if failure else "",
        scores=run.scores,
    )


def _measured(given: GivenBenchmark, subject: Subject, record: BenchRecord, trials: Sequence[Trial]) -> Benchmark:
    summary = summarise(record, map(trial_row, trials))
    made = to_benchmarks(summary, workflow_sid=subject.workflow_sid, version_sids=subject.version_sid)[0]
    told = {name: value for name in _FIGURES if (value := getattr(given, name)) is not None}
    return msgspec.structs.replace(made, **told | _said(given, subject))
