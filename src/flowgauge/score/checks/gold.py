"""`gold`: what a person said, beside the target's label or another check's score. Pairs of both feed agreement.

Where nobody said anything (null or empty) nothing is measured. With `of`, it
is the other check that is held against the person: the trial does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta

from flowgauge.lang.filters import to_text
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.bench import CheckResult, CheckSpec
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.nodes.kind import Complaint
from flowgauge.score.check import Check, Evidence, Finding, Measure, Options
from flowgauge.score.checks.numeric import number_of
from flowgauge.score.path import Missing
from flowgauge.score.words import shown

_WORDS = {"true": True, "yes": True, "pass": True, "passed": True, "1": True,
          "false": False, "no": False, "fail": False, "failed": False, "0": False}  # fmt: skip


class GoldOptions(Options, frozen=True, kw_only=True):
    """What is held against the person's word."""

    of: Annotated[str, Meta(description="The name of another check; without it, what stands at `path`.")] = ""
    use: Annotated[
        Literal["auto", "score", "passed"], Meta(description="Which part of that check; `auto`: its score, or else whether it passed.")
    ] = "auto"
    tolerance: Annotated[float, Meta(ge=0, description="Numbers that differ by no more agree.")] = 0.0
    ignore_case: bool = True


def prepare(options: GoldOptions, value: Json) -> Measure:
    """`value` is what the person said: {{ expected.NAME }}."""
    unsaid = value is None or (isinstance(value, str) and not value.strip())

    def measure(found: Json, evidence: Evidence) -> Finding:
        if unsaid:
            return Finding(None, None, "There is no gold label.")
        if options.of:
            label = _of_check(options, evidence)
        elif isinstance(found, Missing):
            return Finding(False, None, found.reason, gold=value)
        else:
            label = found
        label, gold = _alike(label, value)
        agree = _agree(label, gold, options)
        return Finding(agree, None, "" if agree else f"Gold is {shown(gold)}, found {shown(label)}.", label=label, gold=gold)

    return measure


def _of_check(options: GoldOptions, evidence: Evidence) -> Json:
    result = evidence.results.get(options.of)
    if result is None:
        raise fail("template", f"There is no check '{options.of}'. {did_you_mean(options.of, evidence.results)}")
    label = _part(result, options.use)
    if label is None:
        raise fail("invalid_output", f"The check '{options.of}' gave nothing to compare. {result.error}".rstrip())
    return label


def _part(result: CheckResult, use: str) -> Json:
    if use == "passed" or (use == "auto" and result.score is None):
        return result.passed
    return result.score


def _alike(label: Json, gold: Json) -> tuple[Json, Json]:
    """Both as booleans, as numbers or as text."""
    if isinstance(label, bool):
        said = gold if isinstance(gold, bool) else _WORDS.get(to_text(gold).strip().casefold())
        if said is None:
            raise fail("template", f"Gold is neither yes nor no: {shown(gold)}.")
        return label, said
    numbers = number_of(label), number_of(gold)
    if None not in numbers:
        return numbers
    if isinstance(label, int | float):
        raise fail("template", f"Gold is no number: {shown(gold)}.")
    return to_text(label).strip(), to_text(gold).strip()


def _agree(label: Json, gold: Json, options: GoldOptions) -> bool:
    if isinstance(label, str):
        return bool(label.casefold() == gold.casefold() if options.ignore_case else label == gold)
    if isinstance(label, bool):
        return label is gold
    return bool(abs(label - gold) <= options.tolerance)


def problems(spec: CheckSpec, options: GoldOptions) -> Iterable[Complaint]:
    """What makes no sense together."""
    if spec.value is not None and "expected" not in to_text(spec.value):
        yield Complaint("value", "Gold is what a person said about each case.", "Write value: '{{ expected.NAME }}'.")
    if options.use != "auto" and not options.of:
        yield Complaint("options.use", "`use` says which part of another check counts.", "Name that check by `of`.")


CHECK = Check(
    options=GoldOptions,
    prepare=prepare,
    summary="Agreement with what a person said.",
    last=True,
    finds_missing=True,
    problems=problems,
)
