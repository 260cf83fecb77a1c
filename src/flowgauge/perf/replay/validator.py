"""validator.json: what a replay must give again, as digests of what the recorded run gave.

A run artifact in, a validator out; two artifacts in, the changes that count
against a replay out. Pure. Small enough to be kept beside the code it holds.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from flowgauge.perf.model import FailureType, RunArtifact, Termination
from flowgauge.perf.replay.differences import Change, differences

FORMAT = "flowgauge-validator/1"
AGREE = frozenset({"success", "termination_reason", "failure_type", "steps", "action", "result", "output", "io_audit"})
"""Fields that must be the same; what an agent saw, its model calls and its words for a failure may differ."""
NO_MORE = ("steps", "tool_calls")
"""What --strict lets grow no further. Less is allowed by it, though another number of steps is not."""


class StepDigest(msgspec.Struct, frozen=True, kw_only=True):
    """One step."""

    step: int
    action: str
    result: str
    io_audit: str


class Validator(msgspec.Struct, frozen=True, kw_only=True):
    """All that must be given again."""

    format: str = FORMAT
    success: bool
    termination_reason: Termination
    failure_type: FailureType | None
    steps: int | None
    tool_calls: int | None
    output: str
    io_audit: str
    trace: tuple[StepDigest, ...]


def validator_of(run: RunArtifact) -> Validator:
    """What this run demands of a replay."""
    return Validator(
        success=run.success,
        termination_reason=run.termination_reason,
        failure_type=run.failure_type,
        steps=run.steps,
        tool_calls=run.tool_calls,
        output=_digest(run.output),
        io_audit=_digest(run.io_audit),
        trace=tuple(
            StepDigest(step=step.step, action=_digest(step.action), result=_digest(step.result), io_audit=_digest(step.io_audit))
            for step in run.action_trace
        ),
    )


def disagreements(recorded: RunArtifact, again: RunArtifact, *, strict: bool = False) -> tuple[Change, ...]:
    """What stands against a run being the same as the recorded one; empty where it is."""
    found = [change for change in differences(recorded, again) if change.field in AGREE]
    if strict:
        named = {change.field for change in found}
        found += [_more(name, recorded, again) for name in NO_MORE if name not in named and _grew(name, recorded, again)]
    return tuple(found)


def _grew(name: str, recorded: RunArtifact, again: RunArtifact) -> bool:
    """A count that is not known any more is no proof that it did not grow."""
    before, after = getattr(recorded, name), getattr(again, name)
    return before is not None and (after is None or after > before)


def _more(name: str, recorded: RunArtifact, again: RunArtifact) -> Change:
    return Change(area="budget", field=name, before=getattr(recorded, name), after=getattr(again, name))


def _digest(value: Any) -> str:
    return f"sha256:{hashlib.sha256(_canonical(value)).hexdigest()}"


_canonical = msgspec.json.Encoder(order="sorted").encode
