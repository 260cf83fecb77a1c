"""The formats of results: one row each, in the order in which they are tried."""

from __future__ import annotations

from flowgauge.define.ingest import hyperfine, metrics, pytest_benchmark
from flowgauge.define.ingest.format import Format

FORMATS: dict[str, Format] = {one.FORMAT.name: one.FORMAT for one in (pytest_benchmark, hyperfine, metrics)}
