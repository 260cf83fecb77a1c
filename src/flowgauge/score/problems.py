"""What is wrong with a check that a file declares, before anything runs.

In: a CheckSpec. Out: a Complaint for every mistake found; its `field` is
 type, path, value, threshold, or options.NAME. Nothing outside is asked, but
a python check's file is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from flowgauge.lang.path import ExpressionError
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.bench import CheckSpec
from flowgauge.model.workflow import Json
from flowgauge.nodes.kind import Complaint
from flowgauge.score.check import Check
from flowgauge.score.path import compile_path
from flowgauge.score.table import CHECKS
from flowgauge.score.templates import Filled, holds_template


def check_problems(spec: CheckSpec) -> Iterable[Complaint]:
    """Every mistake; none where the check can be made."""
    row = CHECKS.get(spec.type)
    if row is None:
        yield Complaint("type", f"There is no check '{spec.type}'.", did_you_mean(spec.type, CHECKS))
        return
    found = [*_place(spec, row), *_value(spec, row), *_options(spec, row)]
    yield from found
    if not found:
        plain = {name: value for name, value in spec.options.items() if name in row.literal or not _filled_later(name, value, row)}
        yield from _own(spec, row, plain)


def _place(spec: CheckSpec, row: Check) -> Iterator[Complaint]:
    if row.looks:
        try:
            compile_path(spec.path)
        except ExpressionError as error:
            yield Complaint("path", error.message, error.remedy)
    if spec.threshold is not None and not row.scores:
        yield Complaint("threshold", f"A check of type {spec.type} gives no score.", "Remove the threshold.")


def _value(spec: CheckSpec, row: Check) -> Iterator[Complaint]:
    yield from _bad_template("value", spec.value)
    if row.value == "unused" and spec.value is not None:
        yield Complaint("value", f"A check of type {spec.type} takes no value.", f"Its options are {', '.join(_names(row))}.")
    if row.value == "required" and spec.value is None:
        yield Complaint("value", "There is nothing to compare with.", "Write value: …, for example '{{ expected.label }}'.")


def _options(spec: CheckSpec, row: Check) -> Iterator[Complaint]:
    for name, value in spec.options.items():
        field = f"options.{name}"
        if name not in _names(row):
            yield Complaint(field, f"A check of type {spec.type} has no option '{name}'.", did_you_mean(name, _names(row)))
        elif name not in row.literal and holds_template(value):
            yield from _bad_template(field, value)
        elif message := _misfit(row, name, value):
            yield Complaint(field, message, f"See the options of {spec.type} in docs/checks.md.")
    for name in _required(row):
        if name not in spec.options:
            yield Complaint(f"options.{name}", f"A check of type {spec.type} needs '{name}'.", f"Write {name}: ….")


def _bad_template(field: str, value: Json) -> Iterator[Complaint]:
    try:
        Filled(value)
    except ExpressionError as error:
        yield Complaint(field, error.message, error.remedy)


def _misfit(row: Check, name: str, value: Json) -> str:
    hint = next(one.type for one in msgspec.structs.fields(row.options) if one.encode_name == name)
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        return f"{str(error).replace(' - at `$', ' at `').rstrip('.')}."
    return ""


def _filled_later(name: str, value: Json, row: Check) -> bool:
    """Is the option a template that must be filled before it has its type? A text that is required is looked at as it is."""
    return holds_template(value) and name not in _required(row)


def _own(spec: CheckSpec, row: Check, plain: Mapping[str, Json]) -> Iterator[Complaint]:
    """What the type itself finds. Options that are filled in later are taken as unset, unless that alone would be a mistake."""
    try:
        options: Any = msgspec.convert(plain, row.options)
    except msgspec.ValidationError:
        return  # a required option of another type than text, filled in later
    later = {f"options.{name}" for name in spec.options if name not in plain}
    for complaint in row.problems(spec, options):
        if not later or complaint.field not in ("value", "options"):
            yield complaint


def _names(row: Check) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(row.options)]


def _required(row: Check) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(row.options) if field.required]
