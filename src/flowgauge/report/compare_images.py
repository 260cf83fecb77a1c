"""All charts of a comparison, below each other, as one picture."""

from __future__ import annotations

from typing import BinaryIO

from flowgauge.errors import NotMeasured
from flowgauge.report.charts import Spec, stacked
from flowgauge.report.compare_charts import compare_charts
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.painting import png_of, svg_of


def write_svg(source: CompareSource, out: BinaryIO) -> None:
    """As SVG text."""
    out.write(svg_of(_whole(source)).encode())


def write_png(source: CompareSource, out: BinaryIO) -> None:
    """As PNG."""
    out.write(png_of(_whole(source)))


def _whole(source: CompareSource) -> Spec:
    comparison = source.comparison
    charts = compare_charts(source)
    if not charts:
        raise NotMeasured("There is nothing to draw: the comparison has no figures.", remedy="Write it as .md or .json to see why.")
    return stacked(f"{comparison.candidate} against {comparison.baseline}", charts.values())
