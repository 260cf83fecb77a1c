"""Paths into JSON values: `nodes.a.items[0].x`, `inputs["odd key"]`.

In: a root name and keys. Out: the value found in a scope. Follows keys of
mappings and indexes of lists only, never attributes of Python objects. A path
through None (the output of a skipped node) is None; a missing key is a Failure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.play import Failure

Key = str | int
Scope = Mapping[str, Any]

ROOTS = frozenset({"inputs", "nodes", "config"})
"""What every template and condition of a workflow may name."""
MAP_ROOTS = ROOTS | {"item", "index"}
"""Inside a map node."""
REPAIR_ROOTS = ROOTS | {"repair"}
"""In an ai node that a `retry.repair` names: the failing code and its error."""
ALL_ROOTS = MAP_ROOTS | REPAIR_ROOTS | {"expected"}

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


class ExpressionError(ValueError):
    """A template or condition that cannot be read. `offset` counts characters from 0."""

    def __init__(self, message: str, offset: int, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".rstrip())
        self.message = message
        self.offset = offset
        self.remedy = remedy


class Path(msgspec.Struct, frozen=True):
    """Where a value stands. `offset` is where the path was written in its text."""

    root: str
    keys: tuple[Key, ...] = ()
    offset: int = 0
    optional: bool = False
    """True where a default stands in for a missing value."""

    def __str__(self) -> str:
        return spell(self.root, self.keys)

    def find(self, scope: Scope) -> Any:
        """The value, or Failed with what there is instead."""
        try:
            value = scope[self.root]
        except KeyError:
            raise template_failure(f"There is no '{self.root}' here; there is {_listed(scope)}.") from None
        for depth, key in enumerate(self.keys):
            if type(value) is dict and key in value:
                value = value[key]
            elif value is None:
                return None
            else:
                value = step(value, key, self, depth)
        return value


def step(value: Any, key: Key, path: Path | None = None, depth: int = 0) -> Any:
    """One key into a value that is not None; raises Failed with the way there."""
    if isinstance(value, Mapping):
        if key in value:
            return value[key]
    elif isinstance(value, (list, tuple)) and type(key) is int and -len(value) <= key < len(value):
        return value[key]
    here = spell(path.root, path.keys[:depth]) if path else "The value"
    raise template_failure(_missing(here, value, key))


def spell(root: str, keys: tuple[Key, ...]) -> str:
    """The path as a person writes it."""
    return root + "".join(f".{key}" if isinstance(key, str) and _PLAIN.match(key) else f"[{_quoted(key)}]" for key in keys)


def kind_of(value: Any) -> str:
    """What JSON calls it, with its article."""
    if value is None:
        return "null"
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return f"a Python {type(value).__name__}"


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "a string"),
    ((list, tuple), "an array"),
    (Mapping, "an object"),
)


def template_failure(message: str) -> Failed:
    """A failed attempt whose cause is a template or condition."""
    return Failed(Failure(kind="template", message=message))


def _quoted(key: Key) -> str:
    return str(key) if isinstance(key, int) else '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _missing(here: str, value: Any, key: Key) -> str:
    shown = f"'{key}'" if isinstance(key, str) else f"[{key}]"
    if isinstance(value, Mapping):
        return f"{here} has no {shown}; it has {_listed(value)}."
    if isinstance(value, (list, tuple)):
        return f"{here} has no {shown}; it is an array of {len(value)}."
    return f"{here} has no {shown}; it is {kind_of(value)}."


def _listed(names: Mapping[str, Any], limit: int = 12) -> str:
    shown = [str(name) for name in list(names)[:limit]]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return (", ".join(shown) + more) if shown else "nothing"
