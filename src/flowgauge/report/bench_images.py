"""Charts as SVG and PNG, drawn by vl-convert (extra `report`). No network: every reference to outside is refused."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from flowgauge.errors import MissingExtra
from flowgauge.report.bench_source import Source, durations_ms
from flowgauge.report.charts import Spec, whole_chart

VEGA_LITE = "5.21"
PIXELS_PER_POINT = 2.0


def painter() -> Any:
    """The package that draws; an error that says how to get it where it is missing."""
    try:
        import vl_convert  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise MissingExtra("Drawing charts", "report") from None
    return vl_convert


def svg_of(spec: Spec) -> str:
    """One chart as SVG text."""
    svg: str = painter().vegalite_to_svg(json.dumps(spec), vl_version=VEGA_LITE, allowed_base_urls=[])
    return svg


def write_svg(source: Source, out: BinaryIO) -> None:
    """All charts of a bench, below each other."""
    painter()
    out.write(svg_of(whole_chart(source.summary, durations_ms(source))).encode())


def write_png(source: Source, out: BinaryIO) -> None:
    """The same, twice as many pixels as points."""
    draw = painter().vegalite_to_png
    spec = json.dumps(whole_chart(source.summary, durations_ms(source)))
    out.write(draw(spec, vl_version=VEGA_LITE, scale=PIXELS_PER_POINT, allowed_base_urls=[]))
