"""Benches, trials and benchmarks to rows and back.

A bench's cases stand in a column of their own, because there may be many: lists
leave them out.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Any, Final

import msgspec
from sqlalchemy import RowMapping

from flowgauge.errors import StoreFailure
from flowgauge.model.bench import Answer, Bench, BenchRecord, Case, CheckResult, Trial
from flowgauge.model.benchmark import Benchmark, ConfigurationStats, Fingerprint
from flowgauge.model.figure import Metric
from flowgauge.model.play import Failure
from flowgauge.model.redaction import MARK
from flowgauge.store.rows import RowEncoder

_bench = msgspec.json.Decoder(Bench).decode
_cases = msgspec.json.Decoder(tuple[Case, ...]).decode
_any = msgspec.json.Decoder().decode
_READERS: Final[dict[str, Any]] = {
    "stats": msgspec.json.Decoder(ConfigurationStats).decode,
    "fingerprint": msgspec.json.Decoder(Fingerprint).decode,
    "tags": msgspec.json.Decoder(dict[str, str]).decode,
    "metrics": msgspec.json.Decoder(dict[str, Metric]).decode,
}
_BENCHMARK_PLAIN: Final = tuple(name for name in Benchmark.__struct_fields__ if name not in _READERS)
_TRIAL_READERS: Final[dict[str, Any]] = {
    "scores": msgspec.json.Decoder(dict[str, float]).decode,
    "checks": msgspec.json.Decoder(tuple[CheckResult, ...]).decode,
}
_ANSWER_READERS: Final[dict[str, tuple[str, Any]]] = {
    "scores": ("target_scores", msgspec.json.Decoder(dict[str, float]).decode),
    "error": ("error", msgspec.json.Decoder(Failure).decode),
    "output": ("output", _any),
    "nodes": ("nodes", _any),
}
_ANSWER_PLAIN: Final = tuple(name for name in Answer.__struct_fields__ if name not in _ANSWER_READERS and name != "cached")
_RECORD_PLAIN: Final = tuple(name for name in BenchRecord.__struct_fields__ if name != "definition")


def definition_values(encoder: RowEncoder, definition: Bench, bench_id: str) -> dict[str, Any]:
    """The columns that a definition fills."""
    bare = encoder.noun(msgspec.structs.replace(definition, cases=()), bench_id)
    cases = encoder.json(definition.cases, bench_id)
    if MARK in cases and not _readable(cases):
        cases = encoder.noun(definition.cases, bench_id)
    version = definition.target.reference if definition.target.kind == "workflow" else ""
    return {"definition": bare, "cases": cases, "version_sid": version}


def on_version(definition: str, version_sid: str) -> str:
    """The same definition, its target the version that stands for it in this store."""
    found = _bench(definition)
    if not version_sid or found.target.reference == version_sid:
        return definition
    target = msgspec.structs.replace(found.target, reference=version_sid)
    return msgspec.json.encode(msgspec.structs.replace(found, target=target)).decode()


def read_bench(row: RowMapping) -> BenchRecord:
    """A bench; without cases where they were not asked for."""
    definition = _bench(row["definition"])
    if "cases" in row:
        definition = msgspec.structs.replace(definition, cases=_cases(row["cases"]))
    return BenchRecord(definition=definition, **{name: row[name] for name in _RECORD_PLAIN})


def read_trial(row: RowMapping) -> Trial:
    """A trial as it was written, but for what was redacted, what was not asked for, and what its play holds."""
    answer = {name: row[name] for name in _ANSWER_PLAIN}
    for name, (column, reader) in _ANSWER_READERS.items():
        if (text := row.get(column)) is not None:
            answer[name] = reader(text)
    told = {name: reader(row[name]) for name, reader in _TRIAL_READERS.items() if row[name] is not None}
    passed = row["passed"]
    return Trial(
        run_id=row["run_id"],
        position=row["position"],
        config=row["config"],
        case=row["case_name"],
        repetition=row["repetition"],
        answer=Answer(cached=bool(row["cached"]), **answer),
        passed=None if passed is None else bool(passed),
        failure_category=row["failure_category"],
        score_ms=row["score_ms"],
        **told,
    )


def benchmark_values(encoder: RowEncoder, benchmark: Benchmark) -> dict[str, Any]:
    """Every column."""
    for name, metric in benchmark.metrics.items():
        _check_numbers(benchmark.subject or benchmark.sid, name, metric)
    row: dict[str, Any] = {name: getattr(benchmark, name) for name in benchmark.__struct_fields__}
    for name in _READERS:
        row[name] = encoder.noun(row[name], benchmark.sid) if row[name] else None
    return row | {name: encoder.redacted(row[name]) for name in ("notes", "subject")}


def read_benchmark(row: RowMapping) -> Benchmark:
    """A benchmark as it was written, but for what was redacted and what was not asked for."""
    fields = {name: row[name] for name in _BENCHMARK_PLAIN}
    return Benchmark(**fields, **{name: reader(row[name]) for name, reader in _READERS.items() if row.get(name) is not None})


def read_fingerprint(text: str | None) -> Fingerprint:
    """Of a benchmark."""
    return Fingerprint() if text is None else _READERS["fingerprint"](text)


def _check_numbers(subject: str, name: str, metric: Metric) -> None:
    """JSON has no word for infinity, and writes what is no number as null: it could not be read again."""
    known = [] if metric.value is None else [metric.value]
    if not all(map(math.isfinite, chain(known, *metric.samples.values()))):
        raise StoreFailure(
            f"The metric {name} of {subject} holds what is no finite number.",
            remedy="Leave it out; an unknown value is null.",
        )


def check_readable(values: dict[str, Any], bench_id: str) -> None:
    """Before a bench is begun: what was redacted must still be a definition."""
    try:
        _bench(values["definition"])
    except msgspec.ValidationError as error:
        raise StoreFailure(
            f"The definition of {bench_id} holds a secret where a name must stand: {error}.",
            remedy="Name the environment variable that holds it instead of its value.",
        ) from error


def _readable(cases: str) -> bool:
    try:
        _cases(cases)
    except msgspec.ValidationError:
        return False
    return True
