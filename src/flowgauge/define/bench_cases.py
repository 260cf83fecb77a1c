"""The cases of a bench: rows (cases in the file, then data sets) and state variants become one list.

Without rows each variant is a case. With rows every variant is laid over every
row, and the case is called row/variant. With neither there is one case without
inputs. Rows are read only until `limit` cases are found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from flowgauge.define.bench_checks import CheckTypes, settle, settled_check
from flowgauge.define.bench_file import StateVariant
from flowgauge.define.bench_filters import Filter, refuse_none
from flowgauge.define.dataset import read_dataset
from flowgauge.define.dataset_rows import Declared, Enough, InlineSource, Source, misfits
from flowgauge.documents.findings import Findings
from flowgauge.model.bench import Case

DEFAULT = "default"
LONGEST_NAME = 200

Placed = tuple[Case, Source, int]
"""A case, and where to complain about it."""


class _Nowhere:
    """Where the one case of a bench without cases stands."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def add(self, at: int, where: str, message: str, remedy: str = "") -> None:
        """All that can be wrong with it is that it has no inputs."""
        del at, where, remedy
        given = (
            "Add `cases`, `state_variants` or a `dataset`."
            if self.findings.line(())
            else "Give `configs` with `cases` or `state_variants`."
        )
        self.findings.add((), f"There are no cases. {message}", given)


class Casting(msgspec.Struct, frozen=True, kw_only=True):
    """What cases are read with."""

    folder: Path
    declared: Declared
    types: CheckTypes
    check_names: tuple[str, ...]
    """Of the bench's own checks."""
    chosen: Filter
    limit: int | None
    findings: Findings


def read_cases(value: Mapping[str, Any], casting: Casting) -> tuple[Case, ...]:
    """All cases that are asked for; mistakes are found, not raised."""
    seen: list[str] = []
    placed = _crossed(value, casting)
    fitting = (case for case in _checked(placed, casting, seen) if casting.chosen.takes_case(case))
    try:
        cases = tuple(islice(fitting, None if casting.limit is None else min(casting.limit, sys.maxsize)))
    except Enough:
        return ()
    if not cases and seen and not casting.findings.problems:
        refuse_none(casting.chosen, seen)
    return cases


def name_complaint(name: str) -> str:
    """What is wrong with a name; nothing for most."""
    if not name.strip():
        return "The name is empty."
    if len(name) > LONGEST_NAME:
        return f"The name is longer than {LONGEST_NAME} characters."
    return "" if name.isprintable() else "The name has characters that cannot be shown."


def _crossed(value: Mapping[str, Any], casting: Casting) -> Iterator[Placed]:
    variants = list(_variants(value, casting))
    if not variants:
        yield from _rows(value, casting)
        if not any(value.get(key) for key in ("cases", "dataset", "state_variants")):
            yield Case(name=DEFAULT), _Nowhere(casting.findings), 0
    elif not value.get("cases") and not value.get("dataset"):
        yield from variants
    else:
        for number, (row, source, at) in enumerate(_rows(value, casting)):
            for variant, _, place in variants:
                if number == 0:
                    _warn_of_overlap(row, variant, place, casting.findings)
                yield _laid_over(row, variant), source, at


def _warn_of_overlap(row: Case, variant: Case, place: int, findings: Findings) -> None:
    both = [name for name in variant.inputs if name in row.inputs]
    if both:
        findings.warn(
            ("state_variants", place, "state"),
            f"'{variant.name}' replaces {', '.join(both)} of every row.",
            "Leave it to the rows, or drop them.",
        )


def _variants(value: Mapping[str, Any], casting: Casting) -> Iterator[Placed]:
    source = InlineSource(casting.findings, "state_variants", "state")
    names: set[str] = set()
    for number, variant in _whole(value, "state_variants", StateVariant, casting.findings):
        fields = msgspec.structs.asdict(variant)
        case = _settled(Case(inputs=fields.pop("state"), **fields), source, number, casting)
        if _is_named(case.name, names, source, number):
            yield case, source, number


def _rows(value: Mapping[str, Any], casting: Casting) -> Iterator[Placed]:
    source = InlineSource(casting.findings, "cases", "inputs")
    for number, case in _whole(value, "cases", Case, casting.findings):
        yield _settled(case, source, number, casting), source, number
    count = 0
    paths = value.get("dataset")
    for number, reference in enumerate(paths if isinstance(paths, list) else ()):
        if not isinstance(reference, str):
            continue
        for row, rows in read_dataset(casting.folder, reference, casting.declared, casting.findings, ("dataset", number)):
            count += 1
            case = row.case if row.case.name else msgspec.structs.replace(row.case, name=f"row-{count}")
            yield _settled_row(case, rows, row.at, casting.types) if case.checks else case, rows, row.at


def _whole(value: Mapping[str, Any], key: str, struct: Callable[..., Any], findings: Findings) -> Iterator[tuple[int, Any]]:
    """The items of a list that have the right shape, with their numbers."""
    items = value.get(key)
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if not findings.has_fault((key, number)):
            yield number, msgspec.convert(item, struct)


def _settled(case: Case, source: InlineSource, number: int, casting: Casting) -> Case:
    """A case of the file itself, its values and checks looked at."""
    for name, message, remedy in misfits(case.inputs, casting.declared):
        source.add_input(number, name, message, remedy)
    way = (source.key, number, "checks")
    checks = [settle(spec, (*way, index), casting.types, casting.findings) for index, spec in enumerate(case.checks)]
    return msgspec.structs.replace(case, checks=tuple(checks))


def _settled_row(case: Case, source: Source, at: int, types: CheckTypes) -> Case:
    checks = []
    for index, (spec, complaints) in enumerate(settled_check(spec, types) for spec in case.checks):
        for complaint in complaints:
            source.add(at, f"checks[{index}].{complaint.field}", complaint.message, complaint.remedy)
        checks.append(spec)
    return msgspec.structs.replace(case, checks=tuple(checks))


def _is_named(name: str, names: set[str], source: Source, at: int) -> bool:
    """Has it a name of its own? Then it is noted."""
    complaint = name_complaint(name) or (f"Two cases are called '{name}'." if name in names else "")
    if complaint:
        source.add(at, "name", complaint, "Give each case a name of its own.")
    names.add(name)
    return not complaint


def _check_check_names(case: Case, source: Source, at: int, casting: Casting) -> None:
    """Neither it nor the bench may use the name of one of its checks twice."""
    own = [spec.name for spec in case.checks if spec.name]
    for name in sorted({name for name in own if own.count(name) > 1 or name in casting.check_names}):
        source.add(at, "checks", f"Two checks are called '{name}'.", "Give each its own name.")


def _laid_over(row: Case, variant: Case) -> Case:
    """What the variant says wins."""
    return Case(
        name=f"{row.name}/{variant.name}",
        inputs={**row.inputs, **variant.inputs},
        expected={**row.expected, **variant.expected},
        checks=(*row.checks, *variant.checks),
        runs=variant.runs or row.runs,
        tags={**row.tags, **variant.tags},
    )


def _checked(placed: Iterator[Placed], casting: Casting, seen: list[str]) -> Iterator[Case]:
    """Names of their own, and all that is required."""
    names: set[str] = set()
    required = _required(casting.declared)
    for case, source, at in placed:
        _is_named(case.name, names, source, at)
        missing = [name for name in required if case.inputs.get(name) is None]
        if missing:
            source.add(at, "", f"The workflow needs {', '.join(missing)}.", f"Give {missing[0]} a value, or a default in the workflow.")
        seen += [case.name] if len(seen) < 100 else []
        if case.checks:
            _check_check_names(case, source, at, casting)
        yield case


def _required(declared: Declared) -> Sequence[str]:
    return [name for name, item in (declared or {}).items() if item.required and item.default is UNSET]
