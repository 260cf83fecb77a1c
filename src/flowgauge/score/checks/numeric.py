"""`numeric`: a number near the one expected, or between bounds. NaN is near nothing; true is no number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta

from flowgauge.model.bench import CheckSpec
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.nodes.kind import Complaint
from flowgauge.score.check import PASSED, Check, Evidence, Finding, Measure, Options, wrong
from flowgauge.score.templates import holds_template
from flowgauge.score.words import shown

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,400})(?:\.\d{1,400})?(?:[eE][-+]?\d{1,4})?")
MOST_CHARS = 1_000
"""A longer text is no number."""
LOOKED_AT_CHARS = 100_000
"""Of a text that a number is taken out of: its head, or its tail."""


class NumericOptions(Options, frozen=True, kw_only=True):
    """How near is near enough."""

    abs: Annotated[float, Meta(ge=0, description="The difference may be so large.")] = 0.0
    rel: Annotated[float, Meta(ge=0, description="Or so large a share of the expected number: 0.01 is 1 %.")] = 0.0
    min: Annotated[float | None, Meta(description="The least that passes.")] = None
    max: Annotated[float | None, Meta(description="The most that passes.")] = None
    extract: Annotated[
        Literal["no", "first", "last"], Meta(description="Take the first or last number out of a text; `no`: the text must be one.")
    ] = "no"


def number_of(value: Json, extract: str = "no") -> float | int | None:
    """A number, or the one that a text spells (thousands may be set off by commas); None where there is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str):
        return None
    spelled = _spelled(value, extract)
    return None if spelled is None else _read(spelled.replace(",", ""))


def _spelled(text: str, extract: str) -> str | None:
    if extract == "no":
        found = _NUMBER.fullmatch(text.strip()) if len(text) <= MOST_CHARS else None
        return found[0] if found else None
    if extract == "first":
        found = _NUMBER.search(text[:LOOKED_AT_CHARS])
        return found[0] if found else None
    every = _NUMBER.findall(text[-LOOKED_AT_CHARS:])
    return every[-1] if every else None


def _read(spelled: str) -> float | int | None:
    try:
        return int(spelled)
    except ValueError:
        return float(spelled)


def prepare(options: NumericOptions, value: Json) -> Measure:
    """`value` may be left out where there are bounds."""
    wanted = None if value is None else number_of(value)
    if wanted is None and (value is not None or (options.min is None and options.max is None)):
        raise fail("template", f"The expected number is none: {shown(value)}.")
    low, high = _band(options, wanted)

    def measure(found: Json, _: Evidence) -> Finding:
        number = number_of(found, options.extract)
        if number is None:
            return wrong(f"{shown(found)} is no number.")
        if low <= number <= high:
            return PASSED
        return wrong(f"{shown(number)} is not {_between(low, high)}.")

    return measure


def _band(options: NumericOptions, wanted: float | int | None) -> tuple[float | int, float | int]:
    low, high = options.min, options.max
    bounds: tuple[float | int, float | int] = (-math.inf if low is None else low, math.inf if high is None else high)
    if wanted is None:
        return bounds
    tolerance = max(options.abs, options.rel * abs(wanted)) if options.abs or options.rel else 0
    return max(bounds[0], wanted - tolerance), min(bounds[1], wanted + tolerance)


def _between(low: float | int, high: float | int) -> str:
    if low == high:
        return shown(low)
    if math.isinf(low):
        return f"at most {shown(high)}"
    return f"at least {shown(low)}" if math.isinf(high) else f"between {shown(low)} and {shown(high)}"


def problems(spec: CheckSpec, options: NumericOptions) -> Iterable[Complaint]:
    """There must be something to compare with."""
    if spec.value is None and options.min is None and options.max is None:
        yield Complaint("value", "There is nothing to compare with.", "Give a `value`, or `min` or `max`.")
    elif spec.value is not None and not holds_template(spec.value) and number_of(spec.value) is None:
        yield Complaint("value", f"{shown(spec.value)} is no number.", "Write a number or a template.")
    if options.min is not None and options.max is not None and options.min > options.max:
        yield Complaint("options.min", "`min` is more than `max`: nothing can pass.", "Swap them.")


CHECK = Check(
    options=NumericOptions,
    prepare=prepare,
    summary="A number near the expected one, or between bounds.",
    value="optional",
    problems=problems,
)
