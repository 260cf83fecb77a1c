"""All charts of a bench, below each other, as one picture."""

from __future__ import annotations

from typing import BinaryIO

from flowgauge.report.bench_source import Source, durations_ms
from flowgauge.report.charts import whole_chart
from flowgauge.report.painting import painter, png_of, svg_of


def write_svg(source: Source, out: BinaryIO) -> None:
    """As SVG text."""
    painter()  # Before any trial is read: a missing extra is said at once.
    out.write(svg_of(whole_chart(source.summary, durations_ms(source))).encode())


def write_png(source: Source, out: BinaryIO) -> None:
    """As PNG."""
    painter()
    out.write(png_of(whole_chart(source.summary, durations_ms(source))))
