"""Rows of data sets: the shape that all formats are read into, and how their mistakes are told.

A row is a case without its final name. Its mistakes are listed at the place
that names the data set, each with the row's line, and no more than anybody reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from flowgauge.documents.document import Way
from flowgauge.documents.findings import Findings
from flowgauge.lang.wording import did_you_mean, shown
from flowgauge.model.bench import Case
from flowgauge.model.workflow import InputDecl, Json
from flowgauge.nodes.inputs import FITS

MOST_PROBLEMS = 20
"""Of one data set."""

Declared = Mapping[str, InputDecl] | None
"""The inputs of the workflow by name; None where the target declares none."""


class Source(Protocol):
    """Where a case stands, so that its mistakes can be told."""

    def add(self, at: int, where: str, message: str, remedy: str = "") -> None:
        """A mistake of the case at a line or index."""


class Row(NamedTuple):
    """A case as read, and where: a line, or an index where the format has no lines. Without a name it is numbered later."""

    at: int
    case: Case


class Enough(Exception):
    """The data set has more mistakes than anybody reads."""


class DatasetSource:
    """Mistakes of one data set file, told in the bench file that names it."""

    def __init__(self, findings: Findings, way: Way, reference: str, *, has_lines: bool = True) -> None:
        self.findings = findings
        self.way = way
        self.reference = reference
        self.has_lines = has_lines
        self.count = 0

    def add(self, at: int, where: str, message: str, remedy: str = "") -> None:
        """Raises Enough after the last that is told."""
        self.findings.add(self.way, f"{self._place(at)}: {where + ': ' if where else ''}{message}", remedy)
        self.count += 1
        if self.count >= MOST_PROBLEMS:
            self.findings.add(self.way, f"{self.reference}: The list ends here, after {MOST_PROBLEMS} problems.", "Mend these first.")
            raise Enough

    def warn(self, message: str, remedy: str = "") -> None:
        """Something odd about the file as a whole."""
        self.findings.warn(self.way, f"{self.reference}: {message}", remedy)

    def _place(self, at: int) -> str:
        if not self.has_lines:
            return f"{self.reference}[{at}]"
        return f"{self.reference}:{at}" if at else self.reference


class InlineSource:
    """Mistakes of cases that stand in the bench file itself."""

    def __init__(self, findings: Findings, key: str, inputs: str) -> None:
        self.findings = findings
        self.key = key
        self.inputs = inputs

    def add(self, at: int, where: str, message: str, remedy: str = "") -> None:
        """`where` is `name`, `checks`, or nothing in particular."""
        self.findings.add((self.key, at, where) if where else (self.key, at), message, remedy)

    def add_input(self, at: int, name: str, message: str, remedy: str = "") -> None:
        """A mistake in the value of an input."""
        self.findings.add((self.key, at, self.inputs, name), message, remedy)


def misfits(inputs: Mapping[str, Json], declared: Declared) -> Iterator[tuple[str, str, str]]:
    """(input, what is wrong, remedy) for values that are not declared or of another type. Null means not given."""
    for name, value in inputs.items() if declared is not None else ():
        item = declared.get(name) if declared is not None else None
        if item is None:
            yield name, "The workflow has no such input.", did_you_mean(name, declared or ())
        elif value is not None and not FITS[item.type](value):
            yield name, f"Expected {item.type}, not {shown(value)}.", "Correct the value, or the declaration in the workflow."


def row_case(value: Mapping[str, Any], declared: Declared) -> dict[str, Any]:
    """A row of JSON or YAML as the value of a case: one with `inputs` is a whole case, any other is flat like a line of CSV."""
    known = declared or {}
    if isinstance(value.get("inputs"), dict) and "inputs" not in known:
        case = dict(value)
        if "id" in case and "name" not in case:
            case["name"] = case.pop("id")
    else:
        case = _flat_case(value, known)
    name = case.get("name")
    return {**case, "name": str(name) if isinstance(name, int) and not isinstance(name, bool) else name if name is not None else ""}


def naming_column(columns: Mapping[str, Any] | list[str], declared: Mapping[str, InputDecl]) -> str:
    """The column that holds the names of cases: the first of `name` and `id` that is no input."""
    return next((key for key in ("name", "id") if key in columns and key not in declared), "")


def nest(target: dict[str, Json], keys: tuple[str, ...], value: Json) -> None:
    """`expected.a.b` lies inside `a`."""
    for key in keys[:-1]:
        inner = target.get(key)
        if not isinstance(inner, dict):
            inner = target[key] = {}
        target = inner
    target[keys[-1]] = value


def _flat_case(value: Mapping[str, Any], declared: Mapping[str, InputDecl]) -> dict[str, Any]:
    naming = naming_column(value if isinstance(value, dict) else dict(value), declared)
    case: dict[str, Any] = {"inputs": {}, "expected": {}, "tags": {}}
    for key, entry in value.items():
        if key == naming:
            case["name"] = entry
        elif key in ("expected", "tags") and key not in declared and isinstance(entry, dict):
            case[key].update(entry)
        elif key.startswith("expected."):
            nest(case["expected"], tuple(key.split(".")[1:]), entry)
        elif key.startswith("tag."):
            case["tags"][key[4:]] = entry
        else:
            case["inputs"][key.removeprefix("inputs.")] = entry
    return case


def converted(value: Mapping[str, Any], at: int, source: Source) -> Case | None:
    """The case that a value is, or None and a complaint."""
    try:
        return msgspec.convert(value, Case)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        source.add(at, path.strip(".`"), f"{message}.", "Correct it.")
        return None
