"""A JSON file of results as plain values; where something is written is looked up only when it is asked for.

In: a path. Out: ResultsFile. Refuses, with the line: what is larger than
MOST_BYTES, not UTF-8 or not JSON, NaN and infinities, and keys given twice. An
empty file is what a program leaves that failed: not measured.

Files of programs hold millions of samples, so the fast reader reads them, and
the one that knows lines is called for mistakes only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from flowgauge.documents.document import Document, Way, read_text, scan_text
from flowgauge.documents.json_events import json_events
from flowgauge.documents.tree import MAX_DEPTH, Event, Place, Unreadable
from flowgauge.errors import BadFile, NotMeasured
from flowgauge.model.problem import Problem

MOST_BYTES = 256_000_000
_TOO_LARGE = "Keep fewer samples: pytest --benchmark-save leaves them out, --benchmark-max-time takes fewer."
_EMPTY = "The program stopped before it wrote results: see what it says. hyperfine -i goes on where a command fails."


class ResultsFile:
    """What a file says, and on demand where it says it."""

    def __init__(self, path: str | Path, expected: str) -> None:
        self.file = str(path)
        self._text = read_text(path, MOST_BYTES, _TOO_LARGE)
        if not self._text.strip():
            raise NotMeasured(f"{path} is empty.", remedy=_EMPTY)
        self.value: Any = self._parsed(expected)

    def locate(self, way: Way) -> Place:
        """The place of a value. Of a file too large for the reader that knows lines, the way alone must do: its line is 0."""
        return self._document.find(way) if self._document else Place(0)

    @cached_property
    def _document(self) -> Document | None:
        try:
            return scan_text(self._text, self.file, is_json=True)
        except BadFile:
            return None

    def _parsed(self, expected: str) -> Any:
        try:
            return json.loads(self._text, object_pairs_hook=_without_twins, parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise BadFile(self.file, list(_faults(self._text, "" if self._text.lstrip()[:1] in ("{", "[") else expected))) from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError
    return mapping


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _faults(text: str, expected: str) -> Iterator[Problem]:
    """What keeps a text from being JSON, to its first break; slow, so only for a text that is known to have something."""
    keys: list[set[str]] = []
    try:
        for event in json_events(text):
            if event.problem:
                yield Problem(event.line, "", event.problem)
            if event.kind == "key" and event.value in keys[-1]:
                yield Problem(event.line, "", f"The key '{event.value[:40]}' is given twice.", "Keep one of them.")
            _keep_track(event, keys)
    except Unreadable as error:
        yield Problem(error.line, "", error.message, expected or error.remedy)


def _keep_track(event: Event, keys: list[set[str]]) -> None:
    if event.kind == "key":
        keys[-1].add(event.value)
    elif event.kind in ("map", "list"):
        if len(keys) >= MAX_DEPTH:
            raise Unreadable(event.line, f"Values are nested more than {MAX_DEPTH} deep.", "Flatten them.")
        keys.append(set())
    elif event.kind == "end":
        keys.pop()
