"""A format of a report, how it is found by a file's name, and the one place that writes report files.

A file is written whole or not at all: what is there stays as it was until the
new report is complete.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import msgspec

from flowgauge.errors import UsageError

T = TypeVar("T")
"""What is reported: a bench, a comparison, trends."""


class Format(msgspec.Struct, Generic[T], frozen=True):
    """One way to report something. Its writer is imported when it is used."""

    name: str
    extensions: tuple[str, ...]
    writer: str
    """module:function, below this package."""
    binary: bool = False
    """Not for a terminal."""
    files: tuple[str, ...] = ()
    """Whole file names that mean this format, whatever their extension says."""

    def write(self, source: T, out: BinaryIO) -> None:
        """Write the whole report."""
        module, function = self.writer.split(":")
        write: Callable[[T, BinaryIO], None] = getattr(import_module(f"{__package__}.{module}"), function)
        write(source, out)


def choose(formats: Mapping[str, Format[T]], path: Path | str, name: str | None = None) -> Format[T]:
    """The one that is named, or else the one of the file's name or extension. Refuses what is in no table."""
    if name is not None:
        if name not in formats:
            raise UsageError(f"There is no report format {name!r}.", remedy=f"Take one of: {', '.join(formats)}.")
        return formats[name]
    by_name = {file: one for one in formats.values() for file in (*one.extensions, *one.files)}
    place = Path(path)
    found = by_name.get(place.name.lower()) or by_name.get(place.suffix.lower())
    if found is None:
        endings = [extension for one in formats.values() for extension in one.extensions]
        raise UsageError(
            f"The report's format cannot be told from the file name {str(path)!r}.",
            remedy=f"End it with one of {', '.join(endings)}, or name the format: {', '.join(formats)}.",
        )
    return found


def write_file(path: Path | str, format: Format[T], source: T) -> None:  # noqa: A002 - the word of the command line
    """Write one report file, whole or not at all."""
    write_whole(path, lambda out: format.write(source, out))


def write_whole(path: Path | str, write: Callable[[BinaryIO], object]) -> None:
    """The same for anything that writes bytes."""
    place = Path(path)
    try:
        _replace(place, write)
    except OSError as error:
        raise UsageError(
            f"The report {str(place)!r} cannot be written: {error.strerror or error}.", remedy="Check the folder and its permissions."
        ) from error


def _replace(place: Path, write: Callable[[BinaryIO], object]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:80]}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            write(out)
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
