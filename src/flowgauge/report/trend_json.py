"""Trends as JSON, and the schema of it, made from the same declarations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, BinaryIO, Literal

import msgspec
from msgspec import Meta

from flowgauge.model.verdict import Trend
from flowgauge.report.finite import finite_json

FORMAT: Literal["flowgauge-trend-report"] = "flowgauge-trend-report"
VERSION: Literal[1] = 1


class TrendReport(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics over all benchmarks of a subject."""

    format: Annotated[Literal["flowgauge-trend-report"], Meta(description="What this file is.")]
    version: Annotated[Literal[1], Meta(description="Of this schema.")]
    trends: Annotated[tuple[Trend, ...], Meta(description="One a metric; points oldest first. null is unknown, never zero.")]


def trend_report_json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of what `write_json` writes."""
    (root,), components = msgspec.json.schema_components([TrendReport], ref_template="#/$defs/{name}")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Flowgauge trend report, version 1"}
    return {**head, **root, "$defs": components}


def write_json(trends: Sequence[Trend], out: BinaryIO) -> None:
    """One object, indented."""
    out.write(finite_json(TrendReport(format=FORMAT, version=VERSION, trends=tuple(trends))))
