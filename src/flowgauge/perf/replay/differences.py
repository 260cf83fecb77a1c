"""What differs between two runs of an episode, field by field and step by step.

Two run artifacts in, changes out, in the order of the artifact. Pure. Steps of
equally long runs are paired by their number; of others by their actions, so
that one step more does not make all later ones differ. What varies from run to
run by its nature (ids, moments, times) is not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

import msgspec

from flowgauge.model.workflow import Json
from flowgauge.perf.model import IoEvent, RunArtifact, TraceStep

Area = Literal["subject", "taxonomy", "steps", "budget", "io", "models"]
Kind = Literal["changed", "added", "removed"]
ALIGNED_STEPS = 2000
"""Longer runs of unequal length are paired by number: finding the best pairs would take too long."""

_FIELDS: tuple[tuple[str, Area], ...] = (
    ("agent", "subject"),
    ("task_ref", "subject"),
    ("task_version", "subject"),
    ("seed", "subject"),
    ("inputs", "subject"),
    ("success", "taxonomy"),
    ("termination_reason", "taxonomy"),
    ("failure_type", "taxonomy"),
    ("failure_reason", "taxonomy"),
    ("budgets", "budget"),
    ("steps", "budget"),
    ("tool_calls", "budget"),
    ("output", "steps"),
)
_IN_STEP: tuple[str, ...] = ("observation", "action", "result")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as before. `before` and `after` are whole values."""

    area: Area
    field: str
    step: int | None = None
    """Of the first run, or of the second where the first has none; None outside of steps."""
    kind: Kind = "changed"
    before: Json = None
    after: Json = None


def differences(before: RunArtifact, after: RunArtifact) -> tuple[Change, ...]:
    """Everything that differs; empty where both runs did the same."""
    return (
        *_fields(before, after),
        *_io(before.io_audit, after.io_audit, None),
        *_steps(before.action_trace, after.action_trace),
        *_models(before, after),
    )


def _fields(before: RunArtifact, after: RunArtifact) -> Iterator[Change]:
    for name, area in _FIELDS:
        one, other = _plain(getattr(before, name)), _plain(getattr(after, name))
        if not _same(one, other):
            yield Change(area=area, field=name, before=one, after=other)


def _models(before: RunArtifact, after: RunArtifact) -> Iterator[Change]:
    one, other = _plain(before.llm_trace), _plain(after.llm_trace)
    for number in range(max(len(one), len(other))):
        mine, theirs = one[number : number + 1], other[number : number + 1]
        if not _same(mine, theirs):
            yield _change("models", "llm_trace", (mine or theirs)[0]["step"], mine, theirs)


def _steps(before: Sequence[TraceStep], after: Sequence[TraceStep]) -> Iterator[Change]:
    for one, other in _pairs(before, after):
        if one is not None and other is not None:
            yield from _in_step(one, other)
        else:
            only = one or other
            assert only is not None
            yield _change("steps", "action", only.step, [one.action] if one else [], [other.action] if other else [])


def _in_step(one: TraceStep, other: TraceStep) -> Iterator[Change]:
    for name in _IN_STEP:
        mine, theirs = getattr(one, name), getattr(other, name)
        if not _same(mine, theirs):
            yield Change(area="steps", field=name, step=one.step, before=mine, after=theirs)
    yield from _io(one.io_audit, other.io_audit, one.step)


def _io(before: Sequence[IoEvent], after: Sequence[IoEvent], step: int | None) -> Iterator[Change]:
    if before == after:
        return
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    if not (gone or new):
        yield Change(area="io", field="io_audit", step=step, before=_plain(before), after=_plain(after))
    yield from (Change(area="io", field="io_audit", step=step, kind="removed", before=_plain(event)) for event in gone.elements())
    yield from (Change(area="io", field="io_audit", step=step, kind="added", after=_plain(event)) for event in new.elements())


def _change(area: Area, field: str, step: int, before: list[Json], after: list[Json]) -> Change:
    """From lists of one or none."""
    if before and after:
        return Change(area=area, field=field, step=step, before=before[0], after=after[0])
    if before:
        return Change(area=area, field=field, step=step, kind="removed", before=before[0])
    return Change(area=area, field=field, step=step, kind="added", after=after[0])


def _pairs(before: Sequence[TraceStep], after: Sequence[TraceStep]) -> Iterator[tuple[TraceStep | None, TraceStep | None]]:
    if len(before) == len(after) or max(len(before), len(after)) > ALIGNED_STEPS:
        yield from _side_by_side(before, after)
        return
    matcher = SequenceMatcher(None, _actions(before), _actions(after), autojunk=False)
    for _, one, one_end, other, other_end in matcher.get_opcodes():
        yield from _side_by_side(before[one:one_end], after[other:other_end])


def _side_by_side(before: Sequence[TraceStep], after: Sequence[TraceStep]) -> Iterator[tuple[TraceStep | None, TraceStep | None]]:
    for number in range(max(len(before), len(after))):
        yield (before[number] if number < len(before) else None, after[number] if number < len(after) else None)


def _actions(trace: Sequence[TraceStep]) -> list[bytes]:
    return [_canonical(step.action) for step in trace]


def _same(one: Any, other: Any) -> bool:
    """As JSON: True is not 1."""
    return _canonical(one) == _canonical(other)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


_canonical = msgspec.json.Encoder(order="sorted").encode
