"""`json_path`: what stands at a path exists, or compares with a value; with `[*]` for all or any of several.

A path that finds nothing passes only `exists: false`: "all of none" is no pass.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from msgspec import Meta

from flowgauge.model.bench import CheckSpec
from flowgauge.model.workflow import Json
from flowgauge.nodes.kind import Complaint
from flowgauge.score.check import PASSED, Check, Evidence, Finding, Measure, Options, wrong
from flowgauge.score.checks.equals import same_json
from flowgauge.score.path import Matches, Missing
from flowgauge.score.words import shown

Holds = Callable[[Json, Json], bool]


def _ordered(compare: Callable[[Any, Any], bool]) -> Holds:
    """Numbers with numbers, texts with texts; nothing else has an order."""

    def holds(found: Json, wanted: Json) -> bool:
        if isinstance(found, bool) or isinstance(wanted, bool):
            return False
        alike = all(isinstance(one, int | float) for one in (found, wanted)) or all(isinstance(one, str) for one in (found, wanted))
        return alike and bool(compare(found, wanted))

    return holds


def _within(found: Json, wanted: Json) -> bool:
    if isinstance(wanted, str):
        return isinstance(found, str) and found in wanted
    return isinstance(wanted, list | tuple | dict) and any(same_json(found, one) for one in wanted)


COMPARISONS: dict[str, Holds] = {
    "==": same_json,
    "!=": lambda found, wanted: not same_json(found, wanted),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "in": _within,
    "contains": lambda found, wanted: _within(wanted, found),
}


class JsonPathOptions(Options, frozen=True, kw_only=True):
    """What must hold at the path."""

    op: Annotated[
        Literal["==", "!=", "<", "<=", ">", ">=", "in", "contains"], Meta(description="How what is found compares with `value`.")
    ] = "=="
    each: Annotated[Literal["all", "any"], Meta(description="With `[*]`: must it hold for all that is found, or for any?")] = "all"
    exists: Annotated[bool | None, Meta(description="Only ask whether something is there; `value` does not count.")] = None


def prepare(options: JsonPathOptions, value: Json) -> Measure:
    """Existence or comparison."""
    return _existence(options.exists) if options.exists is not None else _comparison(options, value)


def _existence(wanted: bool) -> Measure:
    def measure(found: Json, _: Evidence) -> Finding:
        there = not (isinstance(found, Missing) or (isinstance(found, Matches) and not found))
        if there is wanted:
            return PASSED
        return wrong(f"There is {shown(found)}." if there else getattr(found, "reason", "Nothing is there."))

    return measure


def _comparison(options: JsonPathOptions, value: Json) -> Measure:
    holds, combine = COMPARISONS[options.op], all if options.each == "all" else any

    def measure(found: Json, _: Evidence) -> Finding:
        if isinstance(found, Missing):
            return wrong(found.reason)
        several = found if isinstance(found, Matches) else [found]
        if several and combine(holds(one, value) for one in several):
            return PASSED
        return wrong(f"Expected {options.op} {shown(value)}, found {shown(found) if several else 'nothing'}.")

    return measure


def problems(spec: CheckSpec, options: JsonPathOptions) -> Iterable[Complaint]:
    """A comparison with null that is no equality is a forgotten value."""
    if spec.value is None and options.exists is None and options.op not in ("==", "!="):
        yield Complaint("value", f"There is nothing to compare with by '{options.op}'.", "Give a `value`, or `exists: true`.")


CHECK = Check(
    options=JsonPathOptions,
    prepare=prepare,
    summary="What stands at a path exists or compares with a value.",
    value="optional",
    finds_missing=True,
    problems=problems,
)
