"""Events of a YAML or JSON reader become plain values with places.

In: events in order. Out: the value, its place, and problems that did not stop
the reading (keys given twice, tags). Iterative, so that depth costs no stack;
counts every value, aliases with all they stand for, so that no small text can
become a large value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from flowgauge.model.problem import Problem

MAX_DEPTH = 60
MAX_VALUES = 100_000
MERGE = object()
"""The key << of YAML."""


class Place:
    """Where a value is written. `content_line` is where a block of literal text begins, 0 for other values."""

    __slots__ = ("children", "content_line", "line", "size")

    def __init__(self, line: int, content_line: int = 0) -> None:
        self.line = line
        self.content_line = content_line
        self.children: dict[str | int, Place] = {}
        self.size = 1


class Event(msgspec.Struct, frozen=True):
    """One step of a reader. A mapping's keys are events of kind `key`; `value` is a scalar or an alias' name."""

    kind: Literal["map", "list", "end", "key", "scalar", "alias"]
    line: int
    value: Any = None
    anchor: str = ""
    content_line: int = 0
    problem: str = ""


class Unreadable(Exception):
    """Text of which nothing can be made."""

    def __init__(self, line: int, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.remedy = remedy


def _refuse_half_characters(event: Event) -> None:
    """An escape can spell half of a surrogate pair, which no encoding can write. Raises Unreadable."""
    if isinstance(event.value, str) and not event.value.isascii():
        try:
            event.value.encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(event.value[error.start]):04x}"
            raise Unreadable(event.line, f"{half} is half of a surrogate pair, not a character.", "Write the character itself.") from None


class _Open:
    """A container that is being filled."""

    __slots__ = ("anchor", "key", "key_line", "merges", "place", "value")

    def __init__(self, value: Any, place: Place, anchor: str) -> None:
        self.value = value
        self.place = place
        self.anchor = anchor
        self.key: Any = None
        self.key_line = 0
        self.merges: list[tuple[Any, Place]] = []


class _Builder:
    def __init__(self) -> None:
        self.stack: list[_Open] = []
        self.anchors: dict[str, tuple[Any, Place] | None] = {}
        self.problems: list[Problem] = []
        self.count = 0
        self.root: tuple[Any, Place] | None = None

    def feed(self, event: Event) -> None:
        if event.problem:
            self.problems.append(Problem(event.line, self.where(), event.problem))
        _refuse_half_characters(event)
        _HANDLERS[event.kind](self, event)

    def where(self) -> str:
        names = [str(frame.key) for frame in self.stack if isinstance(frame.key, str)]
        return ".".join(names)

    def open(self, event: Event) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise Unreadable(event.line, f"Values are nested more than {MAX_DEPTH} deep.", "Flatten them.")
        if event.anchor:
            self.anchors[event.anchor] = None
        self.stack.append(_Open({} if event.kind == "map" else [], Place(event.line), event.anchor))

    def close(self, _: Event) -> None:
        frame = self.stack.pop()
        for merged, place in frame.merges:
            self.merge(frame, merged, place)
        self.add(frame.value, frame.place, frame.anchor, 1)

    def scalar(self, event: Event) -> None:
        self.add(event.value, Place(event.line, event.content_line), event.anchor, 1)

    def alias(self, event: Event) -> None:
        if event.value not in self.anchors:
            raise Unreadable(event.line, f"Nothing is anchored as &{event.value}.", "Define the anchor before it is used.")
        known = self.anchors[event.value]
        if known is None:
            raise Unreadable(event.line, f"The alias *{event.value} contains itself.", "Write the value out.")
        value, place = known
        self.add(value, place, "", place.size)

    def key(self, event: Event) -> None:
        frame = self.stack[-1]
        frame.key, frame.key_line = event.value, event.line
        if event.value is not MERGE and event.value in frame.value:
            first = frame.place.children[event.value].line
            remedy = "Keep one of them."
            self.problems.append(Problem(event.line, self.where(), f"The key '{event.value}' was given on line {first} already.", remedy))

    def add(self, value: Any, place: Place, anchor: str, counted: int) -> None:
        self.count += counted
        if self.count > MAX_VALUES:
            raise Unreadable(place.line, f"The file stands for more than {MAX_VALUES} values.", "Use fewer aliases, or split the file.")
        if anchor:
            self.anchors[anchor] = (value, place)
        if not self.stack:
            self.root = (value, place)
            return
        frame = self.stack[-1]
        frame.place.size += place.size
        if isinstance(frame.value, list):
            frame.place.children[len(frame.value)] = place
            frame.value.append(value)
        elif frame.key is MERGE:
            self.note_merge(frame, value, place)
        else:
            frame.value[frame.key] = value
            frame.place.children[frame.key] = _at_key(place, frame.key_line)

    def note_merge(self, frame: _Open, value: Any, place: Place) -> None:
        sources = value if isinstance(value, list) else [value]
        for index, source in enumerate(sources):
            if not isinstance(source, dict):
                self.problems.append(
                    Problem(frame.key_line, self.where(), "<< can merge mappings only.", "Give it *an_anchor of a mapping.")
                )
            else:
                frame.merges.append((source, place.children[index] if isinstance(value, list) else place))

    @staticmethod
    def merge(frame: _Open, merged: dict[str, Any], place: Place) -> None:
        """What is written in the mapping itself wins, then what was merged first."""
        for key, value in merged.items():
            if key not in frame.value:
                frame.value[key] = value
                frame.place.children[key] = place.children[key]


_HANDLERS = {
    "map": _Builder.open,
    "list": _Builder.open,
    "end": _Builder.close,
    "key": _Builder.key,
    "scalar": _Builder.scalar,
    "alias": _Builder.alias,
}


def _at_key(place: Place, line: int) -> Place:
    """A value of a mapping is looked for at its key."""
    if place.line == line:
        return place
    moved = Place(line, place.content_line)
    moved.children, moved.size = place.children, place.size
    return moved


def build_tree(events: Iterable[Event]) -> tuple[Any, Place, tuple[Problem, ...]]:
    """Value, place and lesser problems; raises Unreadable."""
    builder = _Builder()
    for event in events:
        builder.feed(event)
    if builder.root is None:
        raise Unreadable(0, "The file holds no value.", "Write a workflow; `flowgauge init` makes one to begin with.")
    return (*builder.root, tuple(builder.problems))


def plain(value: Any) -> Any:
    """Lists and dicts for all that is like them, as a file would have given."""
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value
