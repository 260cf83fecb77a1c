"""JSON text as events, with lines. Strict JSON: no comments, no trailing commas, no NaN."""

from __future__ import annotations

import json.decoder
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from flowgauge.documents.tree import Event, Unreadable
from flowgauge.documents.yaml_events import TOO_LARGE

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"[A-Za-z]+")


_scan_string: Callable[[str, int, bool], tuple[str, int]] = getattr(json.decoder, "scanstring")  # noqa: B009  (no stub knows it)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.newlines = [match.start() for match in re.finditer("\n", text)]

    def line(self) -> int:
        return bisect_right(self.newlines, self.position - 1) + 1 if self.position else 1

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]
        return self.text[self.position : self.position + 1]

    def wrong(self, message: str, remedy: str = "") -> Unreadable:
        return Unreadable(self.line(), f"This is not JSON: {message}", remedy)

    def string(self) -> str:
        try:
            value, self.position = _scan_string(self.text, self.position + 1, True)
        except json.JSONDecodeError as error:
            self.position = error.pos
            raise self.wrong(f"{error.msg}.", "Close the string, and write line breaks in it as \\n.") from None
        return value

    def scalar(self, first: str) -> tuple[Any, str]:
        if first == '"':
            return self.string(), ""
        if word := _WORD.match(self.text, self.position):
            if word[0] not in _WORDS:
                raise self.wrong(f"'{word[0][:20]}' is no value.", "Put text in double quotes.")
            self.position = word.end()
            return _WORDS[word[0]], ""
        if number := _NUMBER.match(self.text, self.position):
            self.position = number.end()
            return _number(number)
        raise self.wrong(f"a value is missing before '{first}'." if first else "it ends too early.", "Check the commas and brackets.")


def _number(match: re.Match[str]) -> tuple[Any, str]:
    text = match[0]
    if match[1] is None and match[2] is None:
        if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
            return text[:60], TOO_LARGE
        return int(text), ""
    value = float(text)
    return (text[:60], TOO_LARGE) if abs(value) == float("inf") else (value, "")


def json_events(text: str) -> Iterator[Event]:
    """The events of one JSON value; raises Unreadable."""
    scanner = _Scanner(text)
    closing: list[str] = []
    yield from _value(scanner, closing)
    while closing:
        first = scanner.peek()
        if first == closing[-1]:
            yield _end(scanner, closing)
        elif first == ",":
            scanner.position += 1
            yield from _member(scanner, closing)
        else:
            raise scanner.wrong(
                f"',' or '{closing[-1]}' is missing before '{first}'." if first else "it ends too early.", "Check the brackets."
            )
    if scanner.peek():
        raise scanner.wrong("there is more after the end.", "Keep one value a file.")


def _value(scanner: _Scanner, closing: list[str]) -> Iterator[Event]:
    first = scanner.peek()
    line = scanner.line()
    if first not in ("{", "["):
        value, problem = scanner.scalar(first)
        yield Event("scalar", line, value, problem=problem)
        return
    scanner.position += 1
    closing.append("}" if first == "{" else "]")
    yield Event("map" if first == "{" else "list", line)
    if scanner.peek() == closing[-1]:
        yield _end(scanner, closing)
    else:
        yield from _member(scanner, closing)


def _member(scanner: _Scanner, closing: list[str]) -> Iterator[Event]:
    """The next item of the innermost container, with its key in an object."""
    if closing[-1] == "}":
        if scanner.peek() != '"':
            raise scanner.wrong("a key in double quotes is missing.", "Remove a comma before the end, and quote every key.")
        line = scanner.line()
        yield Event("key", line, scanner.string())
        if scanner.peek() != ":":
            raise scanner.wrong("':' is missing after a key.", 'Write "key": value.')
        scanner.position += 1
    yield from _value(scanner, closing)


def _end(scanner: _Scanner, closing: list[str]) -> Event:
    event = Event("end", scanner.line())
    scanner.position += 1
    closing.pop()
    return event
