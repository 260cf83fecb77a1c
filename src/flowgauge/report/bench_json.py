"""A bench as JSON and as JSON lines, and the schema of the former.

The schema is made from the same declarations that are written, so it cannot
fall behind. Fields may be added within a version; a field that is removed or
changes its meaning makes a new version.
"""

from __future__ import annotations

from typing import Annotated, Any, BinaryIO, Literal

import msgspec
from msgspec import Meta

from flowgauge.model.bench import Trial
from flowgauge.model.benchmark import BenchSummary
from flowgauge.report.bench_source import Source

FORMAT: Literal["flowgauge-bench-report"] = "flowgauge-bench-report"
VERSION: Literal[1] = 1


class BenchReport(msgspec.Struct, frozen=True, kw_only=True):
    """A bench with its aggregates and every trial."""

    format: Annotated[Literal["flowgauge-bench-report"], Meta(description="What this file is.")]
    version: Annotated[Literal[1], Meta(description="Of this schema.")]
    command: Annotated[str, Meta(description="What made the bench, or shows it again.")]
    summary: Annotated[BenchSummary, Meta(description="The aggregates. null is unknown, never zero.")]
    trials: Annotated[tuple[Trial, ...], Meta(description="Every run; fields that hold their default are left out.")]


def bench_report_json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of what `write_json` writes."""
    (root,), components = msgspec.json.schema_components([BenchReport], ref_template="#/$defs/{name}")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Flowgauge bench report, version 1"}
    return {**head, **root, "$defs": components}


def write_json(source: Source, out: BinaryIO) -> None:
    """One object; its trials are written one after the other and never held together."""
    encode = msgspec.json.Encoder().encode
    head = {"format": FORMAT, "version": VERSION, "command": source.how_to_repeat, "summary": source.summary}
    out.write(encode(head)[:-1] + b',"trials":[')
    before = b"\n"
    for trial in source.trials():
        out.write(before + encode(trial))
        before = b",\n"
    out.write(b"\n]}\n")


def write_jsonl(source: Source, out: BinaryIO) -> None:
    """A trial a line."""
    encoder = msgspec.json.Encoder()
    out.writelines(encoder.encode(trial) + b"\n" for trial in source.trials())
