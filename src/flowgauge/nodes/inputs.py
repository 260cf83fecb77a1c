"""Input values held to their declarations and filled with defaults.

Every misfit is listed in one BadInputs. A boolean is no number; a number
without a fraction (3.0) is an integer and becomes one; null means not given, so
the default stands, and an optional input without one is null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from flowgauge.errors import BadInputs
from flowgauge.lang.wording import did_you_mean, shown
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
REMEDIES: dict[InputType, str] = {
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


def checked_inputs(workflow: Workflow, values: Mapping[str, Json]) -> dict[str, Json]:
    """Every declared input with its value; raises BadInputs with all that does not fit."""
    declared = {item.name: item for item in workflow.inputs}
    problems = [f"{name}: There is no such input. {did_you_mean(name, declared)}" for name in values if name not in declared]
    result: dict[str, Json] = {}
    for name, item in declared.items():
        value = values.get(name)
        if value is None:
            problems += _absent(item, result)
        elif problem := misfit(item, value):
            problems.append(problem)
        else:
            result[name] = int(value) if item.type == "integer" else value
    if problems:
        raise BadInputs(f"workflow '{workflow.name}'", problems)
    return result


def misfit(item: InputDecl, value: Json) -> str:
    """What is wrong with a value, or nothing."""
    if fits(value, item.type):
        return ""
    return f"{item.name}: Expected {_article(item.type)}, not {shown(value)}. {REMEDIES[item.type]}"


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
