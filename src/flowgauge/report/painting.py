"""Charts as SVG and PNG, drawn by vl-convert (extra `report`). No network: every reference to outside is refused."""

from __future__ import annotations

import json
from typing import Any

from flowgauge.errors import MissingExtra
from flowgauge.report.charts import Spec

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


def png_of(spec: Spec) -> bytes:
    """One chart as PNG, twice as many pixels as points."""
    png: bytes = painter().vegalite_to_png(json.dumps(spec), vl_version=VEGA_LITE, scale=PIXELS_PER_POINT, allowed_base_urls=[])
    return png
