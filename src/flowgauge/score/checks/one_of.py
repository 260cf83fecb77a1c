"""`one_of`: the value is one of a list."""

from __future__ import annotations

from collections.abc import Iterable

from flowgauge.model.bench import CheckSpec
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.nodes.kind import Complaint
from flowgauge.score.check import PASSED, Check, Evidence, Finding, Measure, wrong
from flowgauge.score.checks.equals import EqualsOptions
from flowgauge.score.checks.equals import prepare as equal_to
from flowgauge.score.templates import holds_template
from flowgauge.score.words import shown


def prepare(options: EqualsOptions, value: Json) -> Measure:
    """Each of the list is compared as `equals` does."""
    if not isinstance(value, list | tuple):
        raise fail("template", f"one_of needs a list, not {shown(value)}.")
    measures = [equal_to(options, one) for one in value]

    def measure(found: Json, evidence: Evidence) -> Finding:
        if any(one(found, evidence) is PASSED for one in measures):
            return PASSED
        return wrong(f"{shown(found)} is none of {shown(value)}.")

    return measure


def problems(spec: CheckSpec, _: EqualsOptions) -> Iterable[Complaint]:
    """The list must be one, and not empty."""
    if not holds_template(spec.value) and not (isinstance(spec.value, list | tuple) and spec.value):
        yield Complaint("value", "one_of needs a list of values.", "Write value: [a, b].")


CHECK = Check(options=EqualsOptions, prepare=prepare, summary="The value is one of a list.", problems=problems)
