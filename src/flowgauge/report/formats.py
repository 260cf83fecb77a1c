"""The formats of a bench report."""

from __future__ import annotations

from pathlib import Path

from flowgauge.model.benchmark import BenchSummary
from flowgauge.report.bench_source import Source, Trials
from flowgauge.report.format import Format, choose, write_file

_ALL: tuple[Format[Source], ...] = (
    Format("markdown", (".md", ".markdown"), "bench_markdown:write_markdown"),
    Format("html", (".html", ".htm"), "bench_html:write_html"),
    Format("json", (".json",), "bench_json:write_json"),
    Format("jsonl", (".jsonl", ".ndjson"), "bench_json:write_jsonl"),
    Format("csv", (".csv",), "bench_csv:write_csv"),
    Format("csv-excel", (), "bench_csv:write_csv_for_excel"),
    Format("junit", (".xml",), "bench_junit:write_junit"),
    Format("svg", (".svg",), "bench_images:write_svg"),
    Format("png", (".png",), "bench_images:write_png", binary=True),
)
FORMATS: dict[str, Format[Source]] = {one.name: one for one in _ALL}


def format_of(path: Path | str, name: str | None = None) -> Format[Source]:
    """The one that is named, or else the one of the file's extension. Refuses what is in neither table."""
    return choose(FORMATS, path, name)


def write_report(
    path: Path | str,
    summary: BenchSummary,
    trials: Trials,
    format: str | None = None,  # noqa: A002 - the name that the command line has for it
    *,
    command: str = "",
) -> Format[Source]:
    """Write one report file, whole or not at all; answers with the format it took."""
    chosen = format_of(path, format)
    write_file(path, chosen, Source(summary, trials, command))
    return chosen
