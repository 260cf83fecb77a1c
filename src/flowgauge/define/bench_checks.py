"""Checks and scorers of a bench file: known types, names of their own, templates that name what is there.

In: specs with their places. Out: the same, with the code of files they name
inside them. The types are handed in, since what a type means is known elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.define.dataset_rows import Declared
from flowgauge.define.references import strings_in
from flowgauge.documents.document import Way, read_text
from flowgauge.documents.findings import Findings
from flowgauge.errors import BadFile
from flowgauge.lang.path import ALL_ROOTS, ExpressionError
from flowgauge.lang.path import Path as ValuePath
from flowgauge.lang.template import OPEN, parse_template
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.bench import Case, CheckSpec
from flowgauge.nodes.kind import Complaint

Complain = Callable[[CheckSpec], Iterable[Complaint]]
"""What a type itself has to say about a check: its options, its value."""
_ROOTS = ALL_ROOTS | {"output"}


class CheckTypes(msgspec.Struct, frozen=True):
    """What checks are read with. `names` None: every type is let through."""

    folder: Path
    """Where the files lie that checks name."""
    names: frozenset[str] | None = None
    complain: Complain | None = None


def read_checks(value: Mapping[str, Any], types: CheckTypes, findings: Findings) -> tuple[CheckSpec, ...]:
    """The bench's own checks, then its scorers; those with mistakes are found."""
    specs: list[CheckSpec] = []
    for way, written in _specs(value, findings):
        spec = settle(written, way, types, findings)
        if way[0] == "scorers" and spec.required:
            findings.add((*way, "required"), "A scorer only measures.", "Put it under `checks`, or leave `required` out.")
        if spec.name and any(spec.name == other.name for other in specs):
            findings.add((*way, "name"), f"Two checks are called '{spec.name}'.", "Give each its own name.")
        specs.append(spec)
    return tuple(specs)


def settle(spec: CheckSpec, way: Way, types: CheckTypes, findings: Findings) -> CheckSpec:
    """The check with the code that it names inside it; mistakes are found where they stand."""
    settled, complaints = settled_check(spec, types)
    for complaint in complaints:
        findings.add(_place(way, complaint.field, findings), complaint.message, complaint.remedy)
    return settled


def settled_check(spec: CheckSpec, types: CheckTypes) -> tuple[CheckSpec, list[Complaint]]:
    """The same, for a check that stands in no bench file."""
    if types.names is not None and spec.type not in types.names:
        return spec, [Complaint("type", f"There is no check of type '{spec.type}'.", did_you_mean(spec.type, sorted(types.names)))]
    try:
        spec = _with_code(spec, types.folder)
    except BadFile as error:
        return spec, [Complaint("options.file", f"{spec.options['file']}: {problem.message}", problem.remedy) for problem in error.problems]
    return spec, list(types.complain(spec)) if types.complain else []


def _with_code(spec: CheckSpec, folder: Path) -> CheckSpec:
    """A bench needs no other file, and another code is another definition."""
    file = spec.options.get("file")
    if spec.type != "python" or not isinstance(file, str) or not file or spec.options.get("code"):
        return spec
    options = {name: setting for name, setting in spec.options.items() if name != "file"}
    return msgspec.structs.replace(spec, options={**options, "code": read_text(folder / file)})


def check_names(value: Mapping[str, Any], cases: Sequence[Case], declared: Declared, findings: Findings) -> None:
    """Do the templates of the bench's own checks name inputs that are declared, and gold that some case has?"""
    paths = [
        (way, path)
        for way, spec in _specs(value, findings)
        for _, text in strings_in([spec.value, spec.options], way)
        for path in _paths(text)
        if path.keys and not path.optional
    ]
    known = _gold(cases) if any(path.root == "expected" for _, path in paths) else {}
    for way, path in paths:
        key = str(path.keys[0])
        if path.root == "expected":
            _judge_gold(key, known, len(cases), way, findings)
        elif path.root == "inputs" and declared is not None and key not in declared:
            findings.add(way, f"{path} names an input that is not declared.", did_you_mean(key, declared))


def _gold(cases: Sequence[Case]) -> dict[str, int]:
    """How many cases say what is right, by name."""
    known: dict[str, int] = {}
    for case in cases:
        for key in case.expected:
            known[key] = known.get(key, 0) + 1
    return known


def _judge_gold(key: str, known: Mapping[str, int], cases: int, way: Way, findings: Findings) -> None:
    if key not in known:
        findings.add(
            way, f"No case has expected.{key}.", f"{did_you_mean(key, known)} Add a column expected.{key}, or `expected:` to the cases."
        )
    elif known[key] < cases:
        findings.warn(way, f"{cases - known[key]} of {cases} cases have no expected.{key}.", "There the check cannot be made.")


def _paths(text: str) -> Iterable[ValuePath]:
    """What a template names; one that cannot be read is the business of its type."""
    if OPEN not in text:
        return ()
    try:
        return parse_template(text, _ROOTS).paths
    except ExpressionError:
        return ()


def _specs(value: Mapping[str, Any], findings: Findings) -> Iterator[tuple[Way, CheckSpec]]:
    for key in ("checks", "scorers"):
        items = value.get(key)
        for number, item in enumerate(items if isinstance(items, list) else ()):
            if not findings.has_fault((key, number)):
                yield (key, number), msgspec.convert(item, CheckSpec)


def _place(way: Way, field: str, findings: Findings) -> Way:
    """Where a field is written: settings may stand flat beside `type`."""
    keys = tuple(part for part in field.split(".") if part)
    if keys[:1] == ("options",) and findings.locate((*way, "options")) is findings.locate(way):
        keys = keys[1:]
    return (*way, *keys)
