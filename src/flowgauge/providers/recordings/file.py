"""The file of a recording: JSON Lines with a header, one exchange a line, and a seal at the end.

    {"format":"flowgauge-recording","version":1,…}
    {"kind":"model","key":"…","turn":0,"request":{…},"response":{…},"duration_ms":12.5}
    {"seal":"sha256 of all before","exchanges":1}

Bytes in, places of exchanges out. A last line that a crash cut short is left
out with a warning; any other line that cannot be read is refused with its
number. A file without a seal is whole as far as it goes.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

import msgspec

from flowgauge.errors import BadFile
from flowgauge.model.play import Failure
from flowgauge.model.problem import Problem

FORMAT = "flowgauge-recording"
VERSION = 1


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    format: str
    version: int
    writer: str = ""
    started_at: int = 0


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One exchange: a response, or a failure."""

    kind: str
    key: str
    turn: int
    request: msgspec.Raw
    response: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    failure: Failure | None = None
    duration_ms: float


class Seal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line: what came before it is complete and unchanged."""

    seal: str
    exchanges: int


class Place(msgspec.Struct, frozen=True):
    """Where an exchange stands in the file."""

    kind: str
    key: str
    turn: int
    offset: int
    length: int


class Contents(msgspec.Struct, frozen=True):
    """What a file holds; `end` is where a next exchange would be written."""

    places: tuple[Place, ...]
    end: int
    warnings: tuple[str, ...] = ()


_header = msgspec.json.Decoder(Header)
_line = msgspec.json.Decoder(Line)
_seal = msgspec.json.Decoder(Seal)


def read_line(content: bytes) -> Line:
    """One exchange."""
    return _line.decode(content)


def scan(path: Path) -> Contents:
    """Check the whole file, one line at a time."""
    try:
        with path.open("rb") as file:
            return _Scan(path).run(iter(file))
    except OSError as error:
        raise BadFile(str(path), [Problem(0, "", f"The recording cannot be read: {error.strerror}.", "Check the path.")]) from error


def scan_bytes(content: bytes, name: str) -> Contents:
    """The same for a recording that is in no file of its own."""
    return _Scan(Path(name)).run(iter(io.BytesIO(content)))


class _Scan:
    """Goes through a file once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self.offset = 0
        self.places: dict[tuple[str, int], Place] = {}
        self.digest = hashlib.sha256()
        self.sealed_at: int | None = None

    def run(self, lines: Iterator[bytes]) -> Contents:
        warnings: tuple[str, ...] = ()
        for line in lines:
            self.number += 1
            if not line.endswith(b"\n"):
                warnings = (f"{self.path}:{self.number}: the last line was cut short and is left out.",)
                break
            self._take(line)
            self.offset += len(line)
            self.digest.update(line)
        if not self.number or (warnings and self.number == 1):
            raise self._bad("It is empty.", "Record again.")
        return Contents(tuple(self.places.values()), self.offset if self.sealed_at is None else self.sealed_at, warnings)

    def _take(self, line: bytes) -> None:
        if self.sealed_at is not None:
            raise self._bad("There is something after the seal.", "Restore the file, or record again.")
        try:
            if self.number == 1:
                self._check(_header.decode(line))
            elif line.startswith(b'{"seal"'):
                self._close(_seal.decode(line))
            else:
                self._add(_line.decode(line), len(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._bad(f"The line is damaged: {error}.", "Restore the file, or record again.") from error

    def _check(self, header: Header) -> None:
        if header.format != FORMAT:
            raise self._bad(f"It is no recording: its format is {header.format!r}.", "Choose a file that --record wrote.")
        if header.version != VERSION:
            raise self._bad(f"Version {header.version} of the format is not known here.", "Update flowgauge, or record again.")

    def _close(self, seal: Seal) -> None:
        if seal.seal != self.digest.hexdigest() or seal.exchanges != len(self.places):
            raise self._bad("The seal does not fit what is before it: the file was changed.", "Restore the file, or record again.")
        self.sealed_at = self.offset

    def _add(self, line: Line, length: int) -> None:
        if (line.response is msgspec.UNSET) == (line.failure is None):
            raise self._bad("The line needs either a response or a failure.", "Restore the file, or record again.")
        if (line.key, line.turn) in self.places:
            raise self._bad(f"Turn {line.turn} of this request stands here a second time.", "Remove one of the two lines.")
        self.places[line.key, line.turn] = Place(line.kind, line.key, line.turn, self.offset, length)

    def _bad(self, message: str, remedy: str) -> BadFile:
        return BadFile(str(self.path), [Problem(self.number, "", message, remedy)])
