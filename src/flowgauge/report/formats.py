"""The formats of a bench report, and the one place that writes them to files.

A file is written whole or not at all: what is there stays as it was until the
new report is complete.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

import msgspec

from flowgauge.errors import UsageError
from flowgauge.model.benchmark import BenchSummary
from flowgauge.report.bench_source import Source, Trials


class Format(msgspec.Struct, frozen=True):
    """One way to report a bench. Its writer is imported when it is used."""

    name: str
    extensions: tuple[str, ...]
    writer: str
    """module:function, below this package."""
    binary: bool = False
    """Not for a terminal."""

    def write(self, source: Source, out: BinaryIO) -> None:
        """Write the whole report."""
        module, function = self.writer.split(":")
        write: Callable[[Source, BinaryIO], None] = getattr(import_module(f"{__package__}.{module}"), function)
        write(source, out)


_ALL = (
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
FORMATS: dict[str, Format] = {one.name: one for one in _ALL}
_BY_EXTENSION = {extension: one for one in _ALL for extension in one.extensions}


def format_of(path: Path | str, name: str | None = None) -> Format:
    """The one that is named, or else the one of the file's extension. Refuses what is in neither table."""
    if name is not None:
        if name not in FORMATS:
            raise UsageError(f"There is no report format {name!r}.", remedy=f"Take one of: {', '.join(FORMATS)}.")
        return FORMATS[name]
    extension = Path(path).suffix.lower()
    if extension not in _BY_EXTENSION:
        raise UsageError(
            f"The report's format cannot be told from the file name {str(path)!r}.",
            remedy=f"End it with one of {', '.join(_BY_EXTENSION)}, or name the format: {', '.join(FORMATS)}.",
        )
    return _BY_EXTENSION[extension]


def write_report(path: Path | str, summary: BenchSummary, trials: Trials, format: str | None = None, *, command: str = "") -> Format:  # noqa: A002 - the name that the command line has for it
    """Write one report file, whole or not at all; answers with the format it took."""
    chosen = format_of(path, format)
    place = Path(path)
    try:
        _replace(place, chosen, Source(summary, trials, command))
    except OSError as error:
        raise UsageError(
            f"The report {str(place)!r} cannot be written: {error.strerror or error}.", remedy="Check the folder and its permissions."
        ) from error
    return chosen


def _replace(place: Path, chosen: Format, source: Source) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:80]}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            chosen.write(source, out)
        part.chmod(_mode(place))
        part.replace(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _mode(place: Path) -> int:
    """The old file's, or what any new file would have."""
    if place.exists():
        return place.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
