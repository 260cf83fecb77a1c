"""The charts of a run as picture files: SVG and PNG of each."""

from __future__ import annotations

from collections.abc import Iterator

from flowgauge.perf.charts import perf_charts
from flowgauge.perf.files import Series
from flowgauge.report.painting import png_of, svg_of

Picture = tuple[str, str, bytes]
"""The word in its name, its ending, its content."""


def pictures(series: Series) -> Iterator[Picture]:
    """Two files a chart."""
    for name, spec in perf_charts(series).items():
        yield name, "svg", svg_of(spec).encode()
        yield name, "png", png_of(spec)
