"""The formats of a comparison's report, gated or not."""

from __future__ import annotations

from pathlib import Path

from flowgauge.report.compare_source import CompareSource
from flowgauge.report.format import Format, choose, write_file

_ALL: tuple[Format[CompareSource], ...] = (
    Format("markdown", (".md", ".markdown"), "compare_markdown:write_markdown"),
    Format("pr-comment", (), "compare_comment:write_pr_comment", files=("eval-pr-comment.md",)),
    Format("html", (".html", ".htm"), "compare_html:write_html"),
    Format("json", (".json",), "compare_json:write_json"),
    Format("junit", (".xml",), "gate_junit:write_junit"),
    Format("svg", (".svg",), "compare_images:write_svg"),
    Format("png", (".png",), "compare_images:write_png", binary=True),
)
COMPARE_FORMATS: dict[str, Format[CompareSource]] = {one.name: one for one in _ALL}


def write_compare_report(path: Path | str, source: CompareSource, format: str | None = None) -> Format[CompareSource]:  # noqa: A002 - the word of the command line
    """Write one report file, whole or not at all; answers with the format it took."""
    chosen = choose(COMPARE_FORMATS, path, format)
    write_file(path, chosen, source)
    return chosen
