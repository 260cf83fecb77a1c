"""`regex`: a pattern that is found in the text.

A pattern that is surely cheap on this text is matched in place. Any other is
matched in a worker process and killed after `timeout_s`: then the check is an
error, neither passed nor not passed.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable
from typing import Annotated

from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.bench import CheckSpec
from flowgauge.model.ports import Job
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import Services, fail
from flowgauge.nodes.kind import Complaint
from flowgauge.score.check import PASSED, Check, Evidence, Finding, Measure, Options, wrong
from flowgauge.score.checks.text import text_of
from flowgauge.score.pattern import worst_steps
from flowgauge.score.sandboxed import run_job
from flowgauge.score.templates import holds_template
from flowgauge.score.words import shown

IN_PLACE_STEPS = 300_000
"""About 10 ms of matching: no more may hold up the trials beside this one."""
_CODE = """
import re

def found(pattern, flags, text, full):
    compiled = re.compile(pattern, flags)
    return (compiled.fullmatch if full else compiled.search)(text) is not None
"""


class RegexOptions(Options, frozen=True, kw_only=True):
    """How the pattern is read and matched."""

    ignore_case: bool = False
    multiline: Annotated[bool, Meta(description="`^` and `$` match at every line.")] = False
    dotall: Annotated[bool, Meta(description="`.` matches line breaks, too.")] = False
    full: Annotated[bool, Meta(description="The whole text must match, not a part of it.")] = False
    negate: Annotated[bool, Meta(description="Passes where the pattern is not found.")] = False
    timeout_s: Annotated[float, Meta(gt=0, le=600, description="A match that takes longer is an error of the check.")] = 5.0


def prepare(options: RegexOptions, value: Json) -> Measure:
    """`value` is the pattern, in the words of Python's `re`."""
    pattern = text_of(value) or ""
    try:
        compiled = re.compile(pattern, _flags(options))
    except (re.error, RecursionError, OverflowError) as error:
        raise fail("template", f"Not a regular expression: {error}.") from error
    match = compiled.fullmatch if options.full else compiled.search

    def measure(found: Json, evidence: Evidence) -> Finding | Awaitable[Finding]:
        text = text_of(found)
        if text is None:
            return wrong("There is no text: the value is null.")
        if worst_steps(pattern, len(text)) > IN_PLACE_STEPS:
            return _apart(options, pattern, text, evidence.services)
        return _finding(match(text) is not None, options, pattern, text)

    return measure


async def _apart(options: RegexOptions, pattern: str, text: str, services: Services) -> Finding:
    arguments = {"pattern": pattern, "flags": int(_flags(options)), "text": text, "full": options.full}
    try:
        present = await run_job(services, Job(code=_CODE, function="found", arguments=arguments, timeout_s=options.timeout_s))
    except Failed as error:
        if error.failure.kind != "timeout":
            raise
        message = f"The pattern took longer than {options.timeout_s:g} s on this text. Write one that backtracks less, or raise timeout_s."
        raise fail("timeout", message) from error
    return _finding(bool(present), options, pattern, text)


def _finding(present: bool, options: RegexOptions, pattern: str, text: str) -> Finding:
    if present is not options.negate:
        return PASSED
    return wrong(f"{shown(pattern)} {'matches' if present else 'does not match'} {shown(text)}.")


def _flags(options: RegexOptions) -> re.RegexFlag:
    chosen = {re.IGNORECASE: options.ignore_case, re.MULTILINE: options.multiline, re.DOTALL: options.dotall}
    flags = re.RegexFlag(0)
    for flag, on in chosen.items():
        flags |= flag if on else re.RegexFlag(0)
    return flags


def problems(spec: CheckSpec, options: RegexOptions) -> Iterable[Complaint]:
    """The pattern must be one."""
    if holds_template(spec.value):
        return
    if not isinstance(spec.value, str):
        yield Complaint("value", "A pattern is text.", "Put it in quotes.")
        return
    try:
        prepare(options, spec.value)
    except Failed as error:
        yield Complaint("value", error.failure.message, "See the words of Python's `re`.")


CHECK = Check(options=RegexOptions, prepare=prepare, summary="A regular expression is found in the text.", problems=problems)
