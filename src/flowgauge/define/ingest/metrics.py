"""Our own plain format: a subject with its metrics, or a list of such.

Every mistake is found, each with its way and line. Nothing is guessed: which
way is better must be said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from flowgauge.define.fields import field_names
from flowgauge.define.ingest.format import Format, Found, line_is_fit
from flowgauge.define.ingest.ingested import MS, Ingested, Number, sampled
from flowgauge.define.shape import check_shape
from flowgauge.documents.document import Way
from flowgauge.documents.findings import Findings
from flowgauge.lang.wording import did_you_mean, shown
from flowgauge.model.metric import Direction, Metric
from flowgauge.model.workflow import Json, Value

NAME = "metrics"
METRIC_NAME = r"^[A-Za-z][A-Za-z0-9_.:/-]{0,199}$"
COMMIT = r"^(([0-9a-f]{40}|[0-9a-f]{64})\+?)?$"
UNITS = {"_ms": MS, "_usd": "USD"}
_LATEST_MS = 253_402_300_799_999
"""The end of the year 9999."""


class MetricEntry(Value, frozen=True):
    """One figure of a subject."""

    direction: Annotated[Direction, Meta(description="Which way is better.")]
    value: Annotated[Number | None, Meta(description="The figure; by default the mean of the samples. null: could not be measured.")] = None
    unit: Annotated[str, Meta(max_length=40, description="ms, USD, tokens, …; a name that ends in _ms or _usd says it.")] = ""
    samples: Annotated[Json, Meta(description="In the order in which they were taken: a list, or lists by case.")] = None


class SubjectEntry(Value, frozen=True):
    """One subject with what was measured of it."""

    subject: Annotated[str, Meta(description="What was measured; the same name in every file.")]
    metrics: Annotated[dict[str, MetricEntry], Meta(description="By name: duration_ms, cost_usd, …")]
    commit: Annotated[str, Meta(description="In full, with + where files differed from it.")] = ""
    measured_at: Annotated[Json, Meta(description="ISO 8601 with its zone, or milliseconds since 1970.")] = None
    machine: Annotated[str, Meta(description="Its class: what must be alike for times to be compared.")] = ""
    tags: Annotated[dict[str, str], Meta(description="Text by name.")] = {}
    notes: Annotated[tuple[str, ...], Meta(description="A line each.")] = ()


_KEYS = frozenset(field_names(SubjectEntry))


def _looks_like(value: Any) -> bool:
    entries = value if isinstance(value, list) else [value]
    return any(isinstance(entry, Mapping) and ("metrics" in entry or "subject" in entry) for entry in entries)


def _read(value: Any, findings: Findings) -> Iterator[Found]:
    if not isinstance(value, list):
        yield from _entry(value, (), findings)
        return
    for number, entry in enumerate(value):
        yield from _entry(entry, (number,), findings)


def _entry(value: Any, way: Way, findings: Findings) -> Iterator[Found]:
    if not isinstance(value, dict):
        findings.add(way, "Expected an object with `subject` and `metrics`.", 'Write {"subject": "…", "metrics": {…}}.')
        return
    for key in [key for key in value if key not in _KEYS]:
        findings.add((*way, key), f"Unknown key '{key}'.", did_you_mean(key, sorted(_KEYS)))
    check_shape(SubjectEntry, {key: part for key, part in value.items() if key in _KEYS}, way, findings)
    _check_texts(value, way, findings)
    measured_at = _moment(value.get("measured_at"), (*way, "measured_at"), findings)
    metrics = _metrics(value.get("metrics"), (*way, "metrics"), findings)
    if not findings.has_fault(way):
        entry = msgspec.convert(value, SubjectEntry)
        yield (
            way,
            Ingested(
                subject=entry.subject,
                metrics=metrics,
                source=NAME,
                commit=entry.commit,
                measured_at=measured_at,
                machine=entry.machine,
                tags=entry.tags,
                notes=entry.notes,
            ),
        )


def _check_texts(value: Mapping[str, Any], way: Way, findings: Findings) -> None:
    """What is stored and shown must be fit for it."""
    tags, notes = value.get("tags"), value.get("notes")
    texts: list[tuple[Way, Any]] = [(("subject",), value.get("subject")), (("machine",), value.get("machine") or None)]
    texts += [(("notes", number), note) for number, note in enumerate(notes if isinstance(notes, list) else ())]
    for key, told in (tags if isinstance(tags, dict) else {}).items():
        texts += [(("tags", key), key), (("tags", key), told or None)]
    for inner, text in texts:
        if isinstance(text, str):
            line_is_fit(text, (*way, *inner), findings, "Write a line of text.")
    commit = value.get("commit")
    if isinstance(commit, str) and not re.fullmatch(COMMIT, commit):
        findings.add((*way, "commit"), f"{shown(commit)} is no whole commit hash.", "`git rev-parse HEAD` prints it.")


def _moment(value: Any, way: Way, findings: Findings) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LATEST_MS:
        return value
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        findings.add(way, f"{shown(value)} is no moment.", "Write 2026-01-31T12:00:00Z, or milliseconds since 1970.")
        return None
    if moment.tzinfo is None:
        findings.add(way, f"{shown(value)} does not say its zone.", "Add Z for UTC, or an offset such as +01:00.")
        return None
    return _moment(round(moment.timestamp() * 1000), way, findings)


def _metrics(value: Any, way: Way, findings: Findings) -> dict[str, Metric]:
    if not isinstance(value, dict):
        return {}
    if not value:
        findings.add(way, "There are no metrics.", "Give at least one.")
    made: dict[str, Metric] = {}
    for name, entry in value.items():
        inner = (*way, name)
        if not re.fullmatch(METRIC_NAME, name):
            findings.add(inner, f"{shown(name)} cannot be the name of a metric.", "Write a letter, then letters, digits and _ . : / -.")
        if isinstance(entry, dict):
            metric = _metric(name, entry, inner, findings)
            made.update({name: metric} if metric else {})
    return made


def _metric(name: str, entry: dict[str, Any], way: Way, findings: Findings) -> Metric | None:
    samples = _samples(entry.get("samples"), (*way, "samples"), findings)
    if "value" not in entry and entry.get("samples") is None:
        findings.add(way, "'value' is missing.", "Give the figure, or `samples`; null where it could not be measured.")
    unit = _unit(name, entry.get("unit", ""), (*way, "unit"), findings)
    if findings.has_fault(way):
        return None
    read = msgspec.convert(entry, MetricEntry)
    return sampled(samples, read.direction, unit, read.value)


def _unit(name: str, unit: Any, way: Way, findings: Findings) -> str:
    """A name that ends in a unit says it for all: gates and policies go by the name."""
    if isinstance(unit, str) and unit:
        line_is_fit(unit, way, findings, "Write a short word.")
    named = next((each for ending, each in UNITS.items() if name.endswith(ending)), "")
    if named and isinstance(unit, str) and unit.lower() not in ("", named.lower()):
        findings.add(way, f"{shown(unit)} is not the unit that {shown(name)} names.", f"Give it in {named}, or rename it.")
    return named or unit


def _samples(value: Any, way: Way, findings: Findings) -> dict[str, list[float]]:
    """By case. A list is that of the one case."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        return {"": _numbers(value, way, findings)}
    if not value:
        findings.add(way, "Nothing is listed.", "List samples by case, or leave `samples` out.")
    for case in value:
        line_is_fit(case, (*way, case), findings, "Name the case.")
    return {case: _numbers(numbers, (*way, case), findings) for case, numbers in value.items()}


def _numbers(value: Any, way: Way, findings: Findings) -> list[float]:
    if not isinstance(value, list):
        findings.add(way, f"Expected a list of numbers, not {shown(value)}.", "Write [1.5, 1.7].")
        return []
    if not value:
        findings.add(way, "Nothing is listed.", "List at least one sample, or leave `samples` out.")
    try:
        return msgspec.convert(value, list[Number])
    except msgspec.ValidationError:
        for number, sample in enumerate(value):
            if not _is_number(sample):
                findings.add(
                    (*way, number), f"Expected a number up to 1e100, not {shown(sample)[:60]}.", "Leave out what was not measured."
                )
    return []


def _is_number(value: Any) -> bool:
    try:
        msgspec.convert(value, Number)
    except msgspec.ValidationError:
        return False
    return True


FORMAT = Format(NAME, '{"subject": …, "metrics": {…}}, or a list of these (flowgauge schema metrics)', _looks_like, _read)
