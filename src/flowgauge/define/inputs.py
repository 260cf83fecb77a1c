"""Input values: held to their declarations, filled with defaults, read off a command line.

Every misfit is listed in one BadInputs. A boolean is no number; a number
without a fraction (3.0) is an integer and becomes one; null means not given, so
the default stands, and an optional input without one is null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import msgspec

from flowgauge.define.wording import did_you_mean, shown
from flowgauge.errors import BadInputs
from flowgauge.model.workflow import InputDecl, InputType, Json, Workflow


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


FITS: dict[str, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, (list, tuple)),
}
_REMEDIES: dict[InputType, str] = {
    "string": "Give text.",
    "number": "Give a number such as 1.5.",
    "integer": "Give a whole number such as 3.",
    "boolean": "Give true or false.",
    "object": 'Give an object such as {"a": 1}.',
    "array": "Give an array such as [1, 2].",
}


def fits(value: Json, kind: str) -> bool:
    """Is the value of the declared type?"""
    return FITS[kind](value)


def check_inputs(workflow: Workflow, values: Mapping[str, Json]) -> dict[str, Json]:
    """Every declared input with its value; raises BadInputs with all that does not fit."""
    declared = {item.name: item for item in workflow.inputs}
    problems = [f"{name}: There is no such input. {did_you_mean(name, declared)}" for name in values if name not in declared]
    result: dict[str, Json] = {}
    for name, item in declared.items():
        value = values.get(name)
        if value is None:
            problems += _absent(item, result)
        elif not fits(value, item.type):
            problems.append(f"{name}: Expected {_article(item.type)}, not {shown(value)}. {_REMEDIES[item.type]}")
        else:
            result[name] = int(value) if item.type == "integer" else value
    if problems:
        raise BadInputs(workflow.name, problems)
    return result


def parse_assignments(workflow: Workflow, assignments: Iterable[str]) -> dict[str, Json]:
    """`k=v` from a command line, each value read as its declaration says. Types are checked here, completeness is not."""
    declared = {item.name: item for item in workflow.inputs}
    values: dict[str, Json] = {}
    problems: list[str] = []
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not equals:
            problems.append(f"{assignment}: There is no '=' in it. Write name=value.")
        elif name not in declared:
            problems.append(f"{name}: There is no such input. {did_you_mean(name, declared)}")
        else:
            _assign(declared[name], text, values, problems)
    if problems:
        raise BadInputs(workflow.name, problems)
    return values


def _assign(item: InputDecl, text: str, values: dict[str, Json], problems: list[str]) -> None:
    value = text if item.type == "string" else read_json(text)
    if item.type == "string" or fits(value, item.type):
        values[item.name] = int(value) if item.type == "integer" else value
    else:
        problems.append(f"{item.name}: {shown(text)} is no {item.type}. {_REMEDIES[item.type]}")


def read_json(text: str) -> Json:
    """The JSON that a text is, else the text."""
    try:
        return msgspec.json.decode(text.strip().encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text


def _absent(item: InputDecl, result: dict[str, Json]) -> list[str]:
    if item.default is not msgspec.UNSET:
        result[item.name] = item.default
    elif item.required:
        return [f"{item.name}: It is required and was not given. Give {item.name}=…, {_article(item.type)}."]
    else:
        result[item.name] = None
    return []


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeio" else f"a {kind}"
