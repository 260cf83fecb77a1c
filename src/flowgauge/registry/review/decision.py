"""The steps of a review, and what is decided by them.

Pure. What failed rejects; what could not be measured is flagged as that, and is
never approved; what is well and simple is approved; what is well and larger goes
to a steward, a person who looks at it; so does what was linted and tested in a
part of the repository only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from flowgauge.registry.review.changes import Complexity, DiffStats

StepName = Literal["diff", "lint", "tests", "baseline"]
StepStatus = Literal["passed", "failed", "not_measured", "left_out"]
"""left_out: whoever asked for the review said so."""
Decision = Literal["approve", "steward", "reject", "not_measured"]
EXIT_CODES: dict[Decision, Literal[0, 1, 3]] = {"approve": 0, "steward": 0, "reject": 1, "not_measured": 3}
"""A steward's flag is no failure of the change: the exit code is 0, and the decision stands in the output."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a step looked at: a gate, an agent's baseline, an upgrade."""

    subject: str
    status: StepStatus
    words: str


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step, and how it ended."""

    name: StepName
    status: StepStatus
    reason: str = ""
    """One sentence; why, where it did not pass."""
    command: str = ""
    """What was run, as people would type it."""
    exit_code: int | None = None
    """None where nothing was run, or it did not end by itself."""
    duration_ms: float = 0.0
    output: str = ""
    """The last of what it wrote, without secrets."""
    checks: tuple[Check, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What stands between the change and an approval."""

    step: StepName
    status: StepStatus
    words: str


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    decision: Decision
    reason: str
    exit_code: Literal[0, 1, 3]
    base: str
    """The revision as it was named."""
    head: str
    """The same; empty for the work tree as it is."""
    base_sha: str
    head_sha: str
    """With + where files of the work tree differ from it."""
    merge_base: str
    diff: DiffStats | None
    """None where git could not tell."""
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """All that is decided by."""

    steps: Sequence[Step]
    complexity: Complexity | None
    part: str = ""
    """The folder, where lint and tests looked at no more than that."""


Fits = Callable[[Seen], bool]


class Row(msgspec.Struct, frozen=True):
    """Of the matrix: where it fits, what is decided, and in which words."""

    fits: Fits
    decision: Decision
    words: str


def _any(status: StepStatus, *names: StepName) -> Fits:
    return lambda seen: any(step.status == status and (not names or step.name in names) for step in seen.steps)


def _unmeasured(seen: Seen) -> bool:
    """A review in which no tests passed has measured nothing, whatever was left out of it."""
    tested = any(step.name == "tests" and step.status == "passed" for step in seen.steps)
    return seen.complexity is None or not tested or any(step.status == "not_measured" for step in seen.steps)


MATRIX: tuple[Row, ...] = (
    Row(_any("failed", "lint", "tests"), "reject", "Lint or tests fail."),
    Row(_any("failed"), "reject", "It regressed against its baseline."),
    Row(_unmeasured, "not_measured", "Not everything could be measured, so nothing is approved."),
    Row(
        lambda seen: bool(seen.part),
        "steward",
        "Tests pass, {held}; they were run only in the folder {part}, not over all that may have changed, so a steward must look at it.",
    ),
    Row(lambda seen: seen.complexity == "simple", "approve", "Tests pass, {held}, and the change is simple."),
    Row(lambda _: True, "steward", "Tests pass, {held}; the change is {complexity}, so a steward must look at it."),
)
"""The first row that fits decides."""


def decide(steps: Sequence[Step], complexity: Complexity | None, part: str = "") -> tuple[Decision, str]:
    """The decision, and why. `part`: the folder, where lint and tests looked at no more than that."""
    seen = Seen(steps, complexity, part)
    row = next(row for row in MATRIX if row.fits(seen))
    left_out = [step.name for step in steps if step.status == "left_out"]
    held = "no regression was found" if "baseline" not in left_out else "no baseline was looked at"
    lint = "; lint was left out" if "lint" in left_out else ""
    return row.decision, row.words.format(complexity=complexity, held=f"{held}{lint}", part=part)


def findings_of(steps: Sequence[Step]) -> tuple[Finding, ...]:
    """What failed first, then what could not be measured."""
    open_steps = [step for status in ("failed", "not_measured") for step in steps if step.status == status]
    return tuple(Finding(step=step.name, status=status, words=words) for step in open_steps for status, words in _told(step))


def _told(step: Step) -> list[tuple[StepStatus, str]]:
    checks: list[tuple[StepStatus, str]] = [
        (check.status, f"{check.subject}: {check.words}") for check in step.checks if check.status in ("failed", "not_measured")
    ]
    return checks or [(step.status, step.reason)]


def status_of(checks: Sequence[Check]) -> StepStatus:
    """What failed wins over what could not be measured."""
    found = {check.status for check in checks}
    return "failed" if "failed" in found else "not_measured" if "not_measured" in found or not found else "passed"
