"""The formats of a report on trends. What is reported: trends, one a metric."""

from __future__ import annotations

from pathlib import Path

from flowgauge.model.verdict import Trend
from flowgauge.report.format import Format, choose, write_file

Trends = tuple[Trend, ...]

_ALL: tuple[Format[Trends], ...] = (
    Format("markdown", (".md", ".markdown"), "trend_markdown:write_markdown"),
    Format("html", (".html", ".htm"), "trend_html:write_html"),
    Format("json", (".json",), "trend_json:write_json"),
    Format("svg", (".svg",), "trend_images:write_svg"),
    Format("png", (".png",), "trend_images:write_png", binary=True),
)
TREND_FORMATS: dict[str, Format[Trends]] = {one.name: one for one in _ALL}


def write_trend_report(path: Path | str, trends: Trends, format: str | None = None) -> Format[Trends]:  # noqa: A002 - the word of the command line
    """Write one report file, whole or not at all; answers with the format it took."""
    chosen = choose(TREND_FORMATS, path, format)
    write_file(path, chosen, trends)
    return chosen
