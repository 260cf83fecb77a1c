"""Where the time of a play went: its own work, waiting for limiters, back-off.

In: the play's node runs, each with the moment it ended. Out: three lengths that
do not overlap. Every moment counts once: as work where any node works, else as
queueing where any node queues, else as back-off where any backs off. What is
none of these (the engine, the journal between two nodes) is nobody's. So the
own time of nodes in a row is the sum of theirs, and of nodes side by side the
time in which at least one of them worked.

Within an attempt, queueing comes first in the step that reports it, as the
gateway measures it. A node that only holds others (a map, a sub-workflow) works
in its own model calls alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from flowgauge.model.play import NodeRun

Span = tuple[float, float]
_INSIDE = re.compile(r"[\[/]")
_REPAIR = "/repair["


class Ended(msgspec.Struct, frozen=True):
    """An attempt, and when it ended, in milliseconds since 1970 with their fractions."""

    run: NodeRun
    at_ms: float


class OwnTime(msgspec.Struct, frozen=True):
    """Lengths in milliseconds."""

    work_ms: float = 0.0
    queue_ms: float = 0.0
    backoff_ms: float = 0.0


def own_time(attempts: Sequence[Ended]) -> OwnTime:
    """See above."""
    if len(attempts) == 1:
        run = attempts[0].run
        return OwnTime(run.duration_ms, run.queue_ms, run.backoff_ms)
    holders = _holders(item.run.node_id for item in attempts)
    work: list[Span] = []
    queue: list[Span] = []
    backoff: list[Span] = []
    for item in attempts:
        _place(item, item.run.node_id in holders, work, queue, backoff)
    worked = _length(work)
    waited = _length([*work, *queue])
    return OwnTime(worked, waited - worked, _length([*work, *queue, *backoff]) - waited)


def _place(item: Ended, holds_others: bool, work: list[Span], queue: list[Span], backoff: list[Span]) -> None:
    run = item.run
    begin = item.at_ms - run.duration_ms - run.queue_ms
    if run.backoff_ms:
        backoff.append((begin - run.backoff_ms, begin))
    if holds_others:
        for step in run.steps:
            if step.kind == "model":
                at = begin + (step.started_at - run.started_at)
                queue.append((at, at + step.queue_ms))
                work.append((at + step.queue_ms, at + step.queue_ms + step.duration_ms))
        return
    at = begin
    for step in run.steps:
        if step.queue_ms:
            held = max(at, min(begin + (step.started_at - run.started_at), item.at_ms - step.queue_ms))
            work.append((at, held))
            queue.append((held, held + step.queue_ms))
            at = held + step.queue_ms
    work.append((at, item.at_ms))


def _holders(paths: Iterable[str]) -> set[str]:
    """Paths of nodes that others run inside of. A repair runs between two attempts of its node, not inside one."""
    found: set[str] = set()
    for path in paths:
        inner = path.split(_REPAIR, 1)[0]
        found.update(inner[: mark.start()] for mark in _INSIDE.finditer(inner))
    return found


def _length(spans: list[Span]) -> float:
    """Of what the spans cover, each moment once."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        if end > until:
            total += end - max(begin, until)
            until = end
    return total
