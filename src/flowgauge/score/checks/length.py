"""`length`: how many characters, words or items there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta

from flowgauge.model.bench import CheckSpec
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.nodes.kind import Complaint
from flowgauge.score.check import PASSED, Check, Evidence, Finding, Measure, Options, wrong
from flowgauge.score.checks.numeric import number_of
from flowgauge.score.words import shown


class LengthOptions(Options, frozen=True, kw_only=True):
    """What is counted, and how much may be there."""

    min: Annotated[int, Meta(ge=0)] | None = None
    max: Annotated[int, Meta(ge=0)] | None = None
    unit: Annotated[Literal["auto", "chars", "words"], Meta(description="`auto`: characters of text, items of an array or object.")] = (
        "auto"
    )


def prepare(options: LengthOptions, value: Json) -> Measure:
    """`value` is the exact length, where it is given."""
    exact = None if value is None else number_of(value)
    if value is not None and exact is None:
        raise fail("template", f"The expected length is no number: {shown(value)}.")
    low = exact if exact is not None else options.min or 0
    high = exact if exact is not None else options.max

    def measure(found: Json, _: Evidence) -> Finding:
        length = _length(found, options.unit)
        if length is None:
            return wrong(f"{shown(found)} has no length.")
        if length >= low and (high is None or length <= high):
            return PASSED
        wanted = f"{low}" if low == high else f"at least {low}" if high is None else f"{low} to {high}"
        return wrong(f"The length is {length}, not {wanted}.")

    return measure


def _length(value: Json, unit: str) -> int | None:
    if isinstance(value, str):
        return len(value.split()) if unit == "words" else len(value)
    return len(value) if isinstance(value, list | tuple | dict) and unit == "auto" else None


def problems(spec: CheckSpec, options: LengthOptions) -> Iterable[Complaint]:
    """Some length must be asked for."""
    if spec.value is None and options.min is None and options.max is None:
        yield Complaint("value", "No length is asked for.", "Give a `value`, or `min` or `max`.")


CHECK = Check(
    options=LengthOptions, prepare=prepare, summary="How many characters, words or items there are.", value="optional", problems=problems
)
