"""All trends below each other, as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from flowgauge.errors import NotMeasured
from flowgauge.model.verdict import Trend
from flowgauge.report.charts import Spec, stacked
from flowgauge.report.painting import png_of, svg_of
from flowgauge.report.trend_charts import trend_charts


def write_svg(trends: Sequence[Trend], out: BinaryIO) -> None:
    """As SVG text."""
    out.write(svg_of(_whole(trends)).encode())


def write_png(trends: Sequence[Trend], out: BinaryIO) -> None:
    """As PNG."""
    out.write(png_of(_whole(trends)))


def _whole(trends: Sequence[Trend]) -> Spec:
    charts = trend_charts(trends)
    if not charts:
        raise NotMeasured("There is nothing to draw: no point of the trend has a value.", remedy="Write it as .md or .json to see why.")
    return stacked(" and ".join(dict.fromkeys(trend.subject for trend in trends)), charts.values())
