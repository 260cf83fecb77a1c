"""Input values read off a command line: `name=value`, each as its declaration says."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from flowgauge.errors import BadInputs
from flowgauge.lang.wording import did_you_mean, shown
from flowgauge.model.workflow import InputDecl, Json, Workflow
from flowgauge.nodes.inputs import REMEDIES, fits


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
        raise BadInputs(f"workflow '{workflow.name}'", problems)
    return values


def _assign(item: InputDecl, text: str, values: dict[str, Json], problems: list[str]) -> None:
    value = text if item.type == "string" else read_json(text)
    if item.type == "string" or fits(value, item.type):
        values[item.name] = int(value) if item.type == "integer" else value
    else:
        problems.append(f"{item.name}: {shown(text)} is no {item.type}. {REMEDIES[item.type]}")


def read_json(text: str) -> Json:
    """The JSON that a text is, else the text."""
    try:
        return msgspec.json.decode(text.strip().encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
