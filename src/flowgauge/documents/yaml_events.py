"""YAML text as events, by PyYAML's reader in C; nothing is constructed by PyYAML itself.

Plain words become null, true/false and numbers by the rules of YAML 1.2. Tags
other than those of the JSON types are problems, as are keys that are no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from flowgauge.documents.tree import MERGE, Event, Unreadable

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_PREFIXES = {"0o": 8, "0x": 16}
_MOST_DIGITS = 400
TOO_LARGE = "The number is too large for 64 bits."
_TAGGED: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),)}


def yaml_events(text: str) -> Iterator[Event]:
    """The events of exactly one document; raises Unreadable."""
    try:
        yield from _translate(yaml.parse(text, Loader=_LOADER))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, min(error.position, len(text))) + 1
        character = error.character if isinstance(error.character, int) else ord(error.character[:1] or "\0")
        raise Unreadable(line, f"The character U+{character:04X} cannot stand in YAML.", "Remove it, or write it as an escape.") from None
    except yaml.YAMLError as error:
        raise _unreadable(error) from None


def _translate(events: Iterator[Any]) -> Iterator[Event]:
    documents = 0
    keys: list[bool | None] = []
    """For every open container: is a key next? None in a list."""
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise Unreadable(_line(event), "A second document begins here.", "Write one workflow a file.")
        if not isinstance(event, (yaml.NodeEvent, yaml.CollectionEndEvent)):
            continue
        yield _key(event) if keys and keys[-1] is True else _value(event)
        _keep_track(event, keys)


def _keep_track(event: Any, keys: list[bool | None]) -> None:
    if isinstance(event, yaml.CollectionEndEvent):
        keys.pop()
    if isinstance(event, yaml.CollectionStartEvent):
        keys.append(True if isinstance(event, yaml.MappingStartEvent) else None)
    elif keys and keys[-1] is not None:
        keys[-1] = not keys[-1]


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _key(event: Any) -> Event:
    line = _line(event)
    if isinstance(event, yaml.MappingEndEvent):
        return Event("end", line)
    if not isinstance(event, yaml.ScalarEvent):
        raise Unreadable(line, "A key must be a word.", "Write `key: value`; put braces that are text in quotes.")
    merges = event.value == "<<" and event.implicit[0]
    return Event("key", line, MERGE if merges else event.value, problem=_tag_problem(event.tag))


def _value(event: Any) -> Event:
    line = _line(event)
    if isinstance(event, yaml.CollectionEndEvent):
        return Event("end", line)
    if isinstance(event, yaml.AliasEvent):
        return Event("alias", line, event.anchor)
    anchor, problem = event.anchor or "", _tag_problem(event.tag)
    if isinstance(event, yaml.MappingStartEvent):
        return Event("map", line, anchor=anchor, problem=problem)
    if isinstance(event, yaml.SequenceStartEvent):
        return Event("list", line, anchor=anchor, problem=problem)
    value, wrong = _resolve(event)
    content_line = line + 1 if event.style == "|" else 0
    return Event("scalar", line, value, anchor, content_line, problem or wrong)


def _resolve(event: Any) -> tuple[Any, str]:
    """The value of a scalar, and what is wrong with it."""
    tag = (event.tag or "").removeprefix(_TAG)
    if not event.implicit[0] and tag not in _TAGGED:
        return event.value, ""
    value, problem = plain_value(event.value)
    if tag in _TAGGED and not isinstance(value, _TAGGED[tag]):
        return event.value, f"'{event.value[:40]}' does not fit its tag !!{tag}."
    return value, problem


def plain_value(text: str) -> tuple[Any, str]:
    """What a plain word stands for in YAML 1.2, and what is wrong with it."""
    if text in _NULLS:
        return None, ""
    if text in _BOOLEANS:
        return _BOOLEANS[text], ""
    if text[0] not in "-+.0123456789" or len(text) > _MOST_DIGITS:
        return text, ""
    if _INTEGER.match(text):
        number = int(text[2:], _PREFIXES[text[:2]]) if text[:2] in _PREFIXES else int(text)
        return (number, "") if -(2**63) <= number < 2**63 else (text, TOO_LARGE)
    if _FLOAT.match(text):
        decimal = float(text)
        return (decimal, "") if abs(decimal) != float("inf") else (text, TOO_LARGE)
    return text, ""


def _tag_problem(tag: str | None) -> str:
    if tag is None or tag == "!" or tag.removeprefix(_TAG) in {"str", "map", "seq", *_TAGGED}:
        return ""
    return f"The tag {tag.replace(_TAG, '!!')[:60]} is not allowed: files hold text, numbers, true/false, null, lists and mappings."


def _unreadable(error: yaml.YAMLError) -> Unreadable:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark else 0
    what = getattr(error, "problem", None) or "it cannot be read"
    return Unreadable(line, f"This is not YAML: {what}.", _remedy_for(what))


def _remedy_for(what: str) -> str:
    for sign, remedy in _REMEDIES.items():
        if sign in what:
            return remedy
    return "Check the indentation, and put text that holds : # { } [ ] in quotes."


_REMEDIES = {
    "cannot start any token": "Indent with spaces, not tabs, and put text that begins with @, ` or % in quotes.",
    "mapping values are not allowed": "Put text that holds a colon in quotes, or check the indentation.",
}
