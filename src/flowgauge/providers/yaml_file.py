"""Read a small YAML or JSON file that a person wrote, and remember the line of every key.

A path comes in, a document with its lines goes out. Refuses, with the place:
files that are too big, not UTF-8 or not YAML, aliases (a bomb is made of them)
and a key that is given twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from flowgauge.errors import BadFile
from flowgauge.model.problem import Problem
from flowgauge.model.workflow import Json

LARGEST_BYTES = 1_000_000
Place = tuple[str | int, ...]


class Document(msgspec.Struct, frozen=True):
    """What the file says, and where it says it."""

    file: str
    content: bytes
    value: Json
    lines: Mapping[Place, int]

    def problem(self, place: Place, message: str, remedy: str = "") -> Problem:
        """A mistake at a place; a place that is not in the file has the line of what should hold it."""
        nearest = place
        while nearest and nearest not in self.lines:
            nearest = nearest[:-1]
        return Problem(self.lines.get(nearest, 1), spelled(place), message, remedy)


class Mistakes(Exception):
    """Some mistakes in one part of a file, on their way to the list of all."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(f"{len(problems)} mistakes")
        self.problems = problems


def spelled(place: Place) -> str:
    """`answers[2].match`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).lstrip(".")


def read_document(path: Path) -> Document:
    """The whole file, or errors.BadFile."""
    from flowgauge.providers.yaml_nodes import NotYaml, parse

    content = _content(path)
    try:
        value, lines, twice = parse(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadFile(str(path), [Problem(0, "", f"Not UTF-8: byte {error.start}.", "Save it as UTF-8.")]) from error
    except NotYaml as error:
        raise BadFile(str(path), [Problem(error.line, "", f"Not YAML: {error}.")]) from error
    if twice:
        problems = [Problem(line, spelled(place), f"Given twice, first in line {lines[place]}.", "Remove one.") for place, line in twice]
        raise BadFile(str(path), problems)
    return Document(str(path), content, value, lines)


def each(document: Document, place: Place, parts: Mapping[str, Json], read: Callable[[Place, Json], None]) -> None:
    """Read every part, then report the mistakes of all of them at once."""
    problems: list[Problem] = []
    for key, part in parts.items():
        try:
            read((*place, key), part)
        except Mistakes as mistakes:
            problems += mistakes.problems
    if problems:
        raise BadFile(document.file, problems)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise BadFile(str(path), [Problem(0, "", f"It cannot be read: {error.strerror}.", "Check the path.")]) from error
    if len(content) > LARGEST_BYTES:
        raise BadFile(str(path), [Problem(0, "", f"It is larger than {LARGEST_BYTES:,} bytes.", "Split it.")])
    return content
