"""The four files of a run as structs: manifest, summary, metrics, series. Their JSON Schemas are made from these.

Nothing is computed here. Null is unknown, never zero. Fields may be added
within a version; a field that is removed or changes its meaning makes a new one.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from flowgauge.model.workflow import Json
from flowgauge.perf.model import FailureType, Termination

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0)]
Stamp = Annotated[str, Meta(pattern=r"^\d{8}T\d{6}Z(-\d+)?$", description="Of the whole set: every file's name holds it.")]
State = Literal["steady", "drifting", "not_measured"]


BUILT_IN = "built-in"
"""What a manifest has for the file of the scenario that comes with the program."""


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of every part of a file: all fields are written, those that hold their default too."""


class Host(_File, frozen=True, kw_only=True):
    """Where it ran: only like is compared with like."""

    machine: Annotated[str, Meta(description="The class: times of another class are not comparable.")]
    cpu: str
    cores: Count
    memory_bytes: Count
    os: str
    python: str
    versions: Annotated[dict[str, str], Meta(description="Of flowgauge and of what it measures with.")]
    git: Annotated[str, Meta(description="The commit of the scenario's folder, + where files differ from it; empty outside a repository.")]


class RowFacts(_File, frozen=True, kw_only=True):
    """One row of the scenario."""

    agent: str
    task_ref: str
    base_seed: int
    inputs: dict[str, Json]


class ScenarioFacts(_File, frozen=True, kw_only=True):
    """What was run."""

    name: str
    file: str
    description: str
    hash: Annotated[str, Meta(description="Of the scenario, its rows and their workflows: another one is another scenario.")]
    rows: tuple[RowFacts, ...]


class Manifest(_File, frozen=True, kw_only=True):
    """What was asked for, and which files hold what came of it."""

    format: Literal["flowgauge-perf-manifest/1"] = "flowgauge-perf-manifest/1"
    stamp: Stamp
    generated_at: Annotated[str, Meta(description="UTC, ISO 8601.")]
    command: str
    episodes: Count
    workers: Count
    timeout: Annotated[float, Meta(gt=0, description="Seconds: one episode at the most.")]
    strict_spec: bool
    compress: bool
    repeats: Annotated[int, Meta(ge=0, description="Seeds of every row that were run once more, to see whether they repeat.")]
    interrupted: bool
    scenario: ScenarioFacts
    system_samples: Annotated[tuple[str, ...], Meta(description="Which fields were sampled through the run; empty: none could be.")]
    artifact_set: Annotated[tuple[str, ...], Meta(description="All files of this run, in this folder.")]
    bundle: Annotated[str | None, Meta(description="The zip, with --compress.")]
    host: Host


class Counts(_File, frozen=True, kw_only=True):
    """The run in a line."""

    total: Count
    passed: Count
    failed: Count
    workers: Count
    p50_wall_clock_s: Seconds | None
    p95_wall_clock_s: Seconds | None


class RunArtifacts(_File, frozen=True, kw_only=True):
    """The run artifacts of this run alone."""

    root: Annotated[str, Meta(description="Their folder, beside this file.")]
    file_count: Count
    total_bytes: Count
    avg_bytes: float | None


class SystemSummary(_File, frozen=True, kw_only=True):
    """The machine through the run; null where nothing could be sampled."""

    available: bool
    provider: Literal["psutil", "none"]
    samples: Count
    cpu_percent: Annotated[float | None, Meta(description="Of the whole machine, the mean of the samples.")]
    process_rss_bytes: Annotated[int | None, Meta(description="This process and all its workers, the most that was seen.")]
    system_memory_total_bytes: int | None
    system_memory_available_bytes: Annotated[int | None, Meta(description="The least that was seen.")]
    open_files: Annotated[int | None, Meta(description="Of this process and its workers, the most that was seen.")]
    event_loop_lag_ms: Annotated[float | None, Meta(description="How late this process woke up, the most that was seen.")]


class Verbosity(_File, frozen=True, kw_only=True):
    """How much the episodes wrote down."""

    artifact_bytes_total: Count
    artifact_bytes_avg: float | None
    artifact_bytes_max: Count | None
    llm_trace_entries_total: Count
    llm_trace_entries_avg: float | None
    prompt_bytes_total: Count
    completion_bytes_total: Count
    tokens_used_total: Annotated[Count | None, Meta(description="Null where an exchange was not counted by its provider.")]


class StartUp(_File, frozen=True, kw_only=True):
    """Starting workers: in no episode's wall clock."""

    workers_started: Count
    workers_replaced: Count
    median_s: Seconds | None
    total_s: Annotated[float, Meta(ge=0, description="From the command's start until every worker was ready.")]


class Finding(_File, frozen=True, kw_only=True):
    """One question about drift, with its answer."""

    name: str
    state: State
    line: str


class Judgement(_File, frozen=True, kw_only=True):
    """One threshold, held against what was measured."""

    threshold: str
    value: float | str | None
    broken: bool
    line: str


class Compared(_File, frozen=True, kw_only=True):
    """One line of the comparison with an earlier run."""

    subject: str
    status: Literal["passed", "failed", "not_measured"]
    verdict: Annotated[str, Meta(description="What it is judged by: unchanged, regressed, inconclusive, stable, …")]
    line: str


class Summary(_File, frozen=True, kw_only=True):
    """The run at a glance."""

    format: Literal["flowgauge-perf-summary/1"] = "flowgauge-perf-summary/1"
    stamp: Stamp
    summary: Counts
    episodes: Annotated[int, Meta(ge=0, description="That were run to an end; fewer than planned where the run was interrupted.")]
    success_count: Count
    failure_count: Count
    success_rate: Share | None
    max_wall_clock_s: Seconds | None
    duration_s: Seconds
    episodes_per_s: float | None
    failure_reasons: Annotated[dict[str, int], Meta(description="By termination reason, how often.")]
    run_artifacts: RunArtifacts
    system_samples: SystemSummary
    telemetry_verbosity: Verbosity
    start_up: StartUp
    mean_time_to_recovery_s: Annotated[
        float | None, Meta(description="From a first failure to the next success of the same agent, task and seed; null: none recovered.")
    ]
    drift: tuple[Finding, ...]
    thresholds: tuple[Judgement, ...]
    compared_with: Annotated[str | None, Meta(description="The stamp of the earlier run, with --compare.")] = None
    comparison: tuple[Compared, ...] = ()


class MetricsRow(_File, frozen=True, kw_only=True):
    """One agent on one task."""

    task_ref: str
    agent: str
    run_count: Count
    success_rate: Share
    success_low: Annotated[float, Meta(description="95 % interval (Wilson).")]
    success_high: float
    reproducibility_rate: Annotated[float | None, Meta(description="Of the seeds that were repeated: same success, end and failure type.")]
    identical_rate: Annotated[float | None, Meta(description="Of the same: equal artifact hashes.")]
    repeated_seeds: Count
    steps_p50: float | None
    steps_p95: float | None
    steps_ceiling: Count | None
    tool_calls_p50: float | None
    tool_calls_p95: float | None
    tool_calls_ceiling: Count | None
    failure_taxonomy: dict[str, int]
    termination_taxonomy: dict[str, int]
    avg_wall_clock_s: Seconds
    p50_wall_clock_s: Seconds
    p95_wall_clock_s: Seconds
    artifact_bytes_total: Count
    prompt_bytes_total: Count
    completion_bytes_total: Count
    tokens_used_total: Count | None
    mean_time_to_recovery_s: float | None


class Metrics(_File, frozen=True, kw_only=True):
    """A row for each agent and task."""

    format: Literal["flowgauge-perf-metrics/1"] = "flowgauge-perf-metrics/1"
    stamp: Stamp
    rows: tuple[MetricsRow, ...]


class SeriesRow(_File, frozen=True, kw_only=True):
    """One episode."""

    episode: Annotated[int, Meta(ge=1, description="From 1.")]
    episode_index: Annotated[int, Meta(ge=0, description="From 0.")]
    agent: str
    task_ref: str
    seed: int
    success: bool
    wall_clock_s: Seconds
    error: str | None
    artifact_bytes: Count
    llm_trace_entries: Count
    prompt_bytes: Count
    completion_bytes: Count
    tokens_used: Count | None
    started_at: Annotated[int, Meta(description="Milliseconds since 1970.")]
    steps: Count | None
    tool_calls: Count | None
    termination_reason: Termination
    failure_type: FailureType | None
    run_id: str
    artifact_hash: str


class Sample(_File, frozen=True, kw_only=True):
    """The machine at a moment of the run."""

    at_s: Annotated[float, Meta(description="Since the first episode began.")]
    episodes_done: Count
    cpu_percent: float
    process_rss_bytes: Count
    system_memory_available_bytes: Count
    open_files: Count
    event_loop_lag_ms: float


SAMPLED = tuple(name for name in Sample.__struct_fields__ if name not in ("at_s", "episodes_done"))


class Series(_File, frozen=True, kw_only=True):
    """A row for each episode, in episode order, and the machine through time."""

    format: Literal["flowgauge-perf-series/1"] = "flowgauge-perf-series/1"
    stamp: Stamp
    rows: tuple[SeriesRow, ...]
    samples: tuple[Sample, ...]


FILES: dict[str, type[_File]] = {"manifest": Manifest, "summary": Summary, "metrics": Metrics, "series": Series}
"""By the word in their names: perf-<word>-<stamp>.json."""


def file_name(word: str, stamp: str, ending: str = "json") -> str:
    """All files of a run are named alike."""
    return f"perf-{word}-{stamp}.{ending}"


def as_json(value: _File) -> bytes:
    """To be read by people, too."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def series_as_json(series: Series) -> bytes:
    """The same for a long one: an episode a line."""
    encode = msgspec.json.encode
    rows, samples = (b",\n".join(map(encode, items)) for items in (series.rows, series.samples))
    head = encode({"format": series.format, "stamp": series.stamp})[:-1]
    return head + b',\n"rows":[\n' + rows + b'\n],\n"samples":[\n' + samples + b"\n]}\n"


def file_json_schema(word: str) -> dict[str, Any]:
    """Of one of the four files, closed and with every field required."""
    (root,), components = msgspec.json.schema_components([FILES[word]], ref_template="#/$defs/{name}")
    for component in components.values():
        component["required"] = sorted(component["properties"])
        component["additionalProperties"] = False
    return {"$schema": DIALECT, "title": f"Flowgauge perf {word}, version 1", **root, "$defs": dict(sorted(components.items()))}


manifest_json_schema = partial(file_json_schema, "manifest")
summary_json_schema = partial(file_json_schema, "summary")
metrics_json_schema = partial(file_json_schema, "metrics")
series_json_schema = partial(file_json_schema, "series")
