"""Read a YAML or JSON file into plain values that know their lines.

In: a path or text. Out: a Document. Refuses, each time with the place: files
past the size limit, text that is not UTF-8, deep nesting, aliases that blow up,
keys given twice, tags, more than one document, nothing at all.

Plain words follow YAML 1.2: only true and false are booleans, so `no`, `on` and
`yes` are text, and so are dates.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.documents.tree import Event, Place, Unreadable, build_tree
from flowgauge.errors import BadFile
from flowgauge.model.problem import Problem

MAX_BYTES = 5_000_000
Way = tuple[str | int, ...]


def spell_way(way: Way) -> str:
    """As a person writes it: nodes[2].when."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in way)
    return text.removeprefix(".")


class Document(msgspec.Struct, frozen=True):
    """What a file says, and where it says it."""

    file: str
    value: Any
    place: Place
    problems: tuple[Problem, ...] = ()

    def find(self, way: Way) -> Place:
        """The place of a value, or of the nearest thing around it that exists."""
        place = self.place
        for key in way:
            inner = place.children.get(key)
            if inner is None:
                break
            place = inner
        return place

    def problem(self, way: Way, message: str, remedy: str = "") -> Problem:
        """A mistake at a place; what is not in the file has the line of what should hold it."""
        return Problem(self.line_of(way), spell_way(way), message, remedy)

    def line_of(self, way: Way) -> int:
        """The line, counted from 1, where a value (or its key) is written."""
        return self.find(way).line


def read_document(path: str | Path) -> Document:
    """Read a file; raises BadFile."""
    document = scan_document(path)
    if document.problems:
        raise BadFile(document.file, document.problems)
    return document


def scan_document(path: str | Path) -> Document:
    """Read a file; problems that leave a value to look at are left for the caller to add its own to."""
    return scan_text(read_text(path), str(path), is_json=Path(path).suffix.lower() == ".json")


def read_text(path: str | Path, most_bytes: int = MAX_BYTES, if_larger: str = "Split it, or move data into inputs.") -> str:
    """The text of a file: not too large, and UTF-8."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(most_bytes + 1)
    except FileNotFoundError:
        raise _refused(path, "There is no such file.", "Check the path.") from None
    except OSError as error:
        raise _refused(path, f"The file cannot be read: {error.strerror}.", "Check the path and its permissions.") from None
    if len(raw) > most_bytes:
        raise _refused(path, f"The file is larger than {most_bytes // 1_000_000} MB.", if_larger)
    return _decode(path, raw)


def scan_text(text: str, file: str, *, is_json: bool = False) -> Document:
    """Read text; raises BadFile where nothing can be made of it."""
    if not text.strip():
        raise _refused(file, "The file is empty.", "Fill it, or name another file.")
    try:
        value, place, problems = build_tree(_events(text, is_json=is_json))
    except Unreadable as error:
        raise BadFile(file, [Problem(error.line, "", error.message, error.remedy)]) from None
    return Document(file, value, place, problems)


def _events(text: str, *, is_json: bool) -> Iterable[Event]:
    from flowgauge.documents.json_events import json_events
    from flowgauge.documents.yaml_events import yaml_events

    if is_json or (text.lstrip()[:1] in "{[" and _is_json(text)):
        return json_events(text)
    return yaml_events(text)


def _is_json(text: str) -> bool:
    """YAML allows no tabs between tokens, so what is JSON is read as JSON whatever its file is called."""
    try:
        msgspec.json.decode(text.encode(), type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return False
    return True


def _decode(path: str | Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"The file is not UTF-8: byte {raw[error.start]:#04x} at offset {error.start}."
        raise BadFile(str(path), [Problem(line, "", message, "Save it as UTF-8.")]) from None


def _refused(path: str | Path, message: str, remedy: str) -> BadFile:
    return BadFile(str(path), [Problem(0, "", message, remedy)])
