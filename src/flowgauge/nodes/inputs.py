"""Input values held against their declarations.

All that is wrong is said at once. A whole number given as 3.0 is an integer; a
boolean is none. Missing inputs take their defaults; without one they are null.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from flowgauge.errors import BadInputs
from flowgauge.model.workflow import InputDecl, InputType, Json, Workflow

_FITS: dict[InputType, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer())),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list | tuple),
}


def checked_inputs(workflow: Workflow, values: Mapping[str, Json]) -> dict[str, Json]:
    """The values with defaults filled in. Raises BadInputs that lists everything that does not fit."""
    declared = {item.name: item for item in workflow.inputs}
    problems = [_unknown(name, declared) for name in values if name not in declared]
    result: dict[str, Json] = {}
    for item in workflow.inputs:
        if item.name in values:
            problem, result[item.name] = fit(item, values[item.name])
            problems += [problem] if problem else []
        elif item.default is not UNSET:
            result[item.name] = item.default
        elif item.required:
            problems.append(f"{item.name}: missing. It is a required {item.type}.{_about(item)}")
        else:
            result[item.name] = None
    if problems:
        raise BadInputs(f"workflow '{workflow.name}'", problems)
    return result


def fit(item: InputDecl, value: Json) -> tuple[str, Json]:
    """(what is wrong or nothing, the value as the type has it)."""
    if value is None and not item.required:
        return "", None
    if not _FITS[item.type](value):
        return f"{item.name}: expected {_article(item.type)}, got {_spoken(value)}.", value
    return "", int(value) if item.type == "integer" else value


def _unknown(name: str, declared: Mapping[str, InputDecl]) -> str:
    close = difflib.get_close_matches(name, declared, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(declared) or 'none'}."
    return f"{name}: there is no such input. {hint}"


def _about(item: InputDecl) -> str:
    return f" ({item.description})" if item.description else ""


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _spoken(value: Json) -> str:
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}
    shown = repr(value) if not isinstance(value, str) else f"'{value}'"
    return f"the {kinds.get(type(value), type(value).__name__)} {shown[:60]}"
