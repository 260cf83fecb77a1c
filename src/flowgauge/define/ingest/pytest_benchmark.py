"""pytest-benchmark's JSON: one subject a test, with the time of every round where they were kept.

A time is that of one call: a round's, by its iterations. Tests that failed are
not in such a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from flowgauge.define.ingest.format import Format, Found, fitted, line_is_fit
from flowgauge.define.ingest.ingested import DURATION, MS, Ingested, Seconds, sampled, tag
from flowgauge.documents.document import Way
from flowgauge.documents.findings import Findings
from flowgauge.model.metric import Metric
from flowgauge.model.workflow import Json

NAME = "pytest-benchmark"
_HASH = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_NO_VALUE = "UNSERIALIZABLE"
"""What pytest-benchmark writes for a parameter that JSON cannot hold: it may differ from run to run."""


class _Stats(msgspec.Struct, frozen=True, kw_only=True):
    mean: Seconds
    data: tuple[Seconds, ...] | None = None
    rounds: int | None = None
    iterations: int | None = None


class _Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    fullname: str
    stats: Json
    group: str | None = None
    params: Json = None


def _looks_like(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("benchmarks"), list) and "machine_info" in value


def _read(value: Any, findings: Findings) -> Iterator[Found]:
    entries = value.get("benchmarks") if isinstance(value, Mapping) else None
    if not isinstance(entries, list):
        findings.add((), "There is no list of `benchmarks`.", "pytest --benchmark-json FILE makes one.")
        return
    for number, entry in enumerate(entries):
        way: Way = ("benchmarks", number)
        benchmark = fitted(_Benchmark, entry, way, findings)
        stats = fitted(_Stats, benchmark.stats, (*way, "stats"), findings) if benchmark else None
        if benchmark is None or stats is None:
            continue
        if line_is_fit(benchmark.fullname, (*way, "fullname"), findings, "Give the parameters ids: pytest.param(…, id=…)."):
            yield way, _ingested(value, benchmark, stats)


def _ingested(value: Mapping[str, Any], benchmark: _Benchmark, stats: _Stats) -> Ingested:
    version = value.get("version")
    return Ingested(
        subject=benchmark.fullname,
        metrics={DURATION: _duration(stats)},
        source=tag(f"{NAME} {_text(version)}").strip(),
        commit=_commit(value.get("commit_info")),
        measured_at=_moment(value.get("datetime")),
        machine=_machine(value.get("machine_info")),
        tags=dict(_tags(benchmark, value.get("machine_info"))),
        notes=tuple(_notes(stats)),
    )


def _duration(stats: _Stats) -> Metric:
    if stats.data:
        return sampled({"": [seconds * 1000 for seconds in stats.data]}, "lower", MS)
    return Metric(value=stats.mean * 1000, direction="lower", unit=MS)


def _notes(stats: _Stats) -> Iterator[str]:
    if stats.rounds is not None and stats.iterations is not None:
        yield f"rounds: {stats.rounds}, iterations in each: {stats.iterations}"
    if not stats.data:
        yield (
            "The file holds no single times, so that only bare thresholds can be held against it. "
            "pytest --benchmark-json keeps them, and --benchmark-save with --benchmark-save-data."
        )


def _commit(info: Any) -> str:
    """As our own benches store it; empty outside a repository."""
    known = info if isinstance(info, Mapping) else {}
    name = known.get("id")
    if not isinstance(name, str) or not _HASH.match(name):
        return ""
    return f"{name}+" if known.get("dirty") is True else name


def _moment(text: Any) -> int | None:
    """Older versions write UTC without saying so."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return max(0, round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)) or None


def _machine(info: Any) -> str:
    """System, processor, cores and Python, as far as the file says; it says nothing about memory."""
    known = info if isinstance(info, Mapping) else {}
    processor = known.get("cpu")
    cores = processor.get("count") if isinstance(processor, Mapping) else None
    python = ".".join(_text(known.get("python_version")).split(".")[:2])
    parts = (
        _text(known.get("system")).lower(),
        _text(known.get("machine")),
        f"{cores}cpu" if isinstance(cores, int) else "",
        f"{_INTERPRETERS.get(_text(known.get('python_implementation')), 'py')}{python}" if python else "",
    )
    return tag("-".join(part for part in parts if part))


_INTERPRETERS = {"PyPy": "pypy", "GraalVM": "graalpy"}


def _tags(benchmark: _Benchmark, info: Any) -> Iterator[tuple[str, str]]:
    if benchmark.group:
        yield "group", tag(benchmark.group)
    for name, value in (benchmark.params if isinstance(benchmark.params, Mapping) else {}).items():
        told = value if isinstance(value, str) else json.dumps(value) if not isinstance(value, list | dict) else _NO_VALUE
        if not told.startswith(_NO_VALUE):
            yield tag(f"param.{name}"), tag(told)
    processor = info.get("cpu") if isinstance(info, Mapping) else None
    if isinstance(processor, Mapping) and (brand := _text(processor.get("brand_raw"))):
        yield "cpu", tag(brand)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


FORMAT = Format(NAME, "pytest --benchmark-json FILE", _looks_like, _read)
