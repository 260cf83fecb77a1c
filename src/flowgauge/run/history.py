"""What an earlier run of the same play has stored: which nodes are done, how often others were tried, what it cost.

Node runs in, lookups out. Skipped nodes are not taken as done: why they were
skipped is worked out again, for the node that they waited for may fare better now.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from flowgauge.model.play import Failure, NodeRun, Usage
from flowgauge.model.workflow import Json


class Past(msgspec.Struct, frozen=True):
    """A node's attempts so far. Those that were cut off by others are numbered but do not use up its tries."""

    attempt: int = 0
    failures: int = 0
    failure: Failure | None = None

    def after(self, run: NodeRun) -> Past:
        """With one attempt more."""
        failed = run.status not in ("success", "skipped", "cancelled")
        attempt = self.attempt if run.status == "skipped" else max(self.attempt, run.attempt)
        return Past(attempt, self.failures + failed, run.error if failed else self.failure)


NEVER = Past()
_NO_USAGE = Usage()


class History:
    """Lookups by path. The engine goes on writing in `done` and `past`, so that a container that is tried again knows too."""

    __slots__ = ("_runs", "done", "past", "retries", "skipped", "usage")

    def __init__(self, before: Sequence[NodeRun] = ()) -> None:
        self._runs = before
        self.done: dict[str, Json] = {}
        self.past: dict[str, Past] = {}
        self.skipped: set[str] = set()
        self.retries = 0
        self.usage = _NO_USAGE
        if before:
            for run in sorted(before, key=lambda run: run.attempt):
                self._take(run)

    def _take(self, run: NodeRun) -> None:
        path = run.node_id
        if run.status == "success":
            self.done[path] = run.output
        if run.status == "skipped":
            self.skipped.add(path)
        else:
            self.past[path] = self.past.get(path, NEVER).after(run)
        self.retries += run.attempt > 1
        self.usage = self.usage.plus(_usage(run))

    def spent_usd(self, prefix: str = "") -> float:
        """What is known to have been spent under a path; calls without a price count nothing."""
        return sum(_known_usd(run) for run in self._runs if run.node_id.startswith(prefix))


def _usage(run: NodeRun) -> Usage:
    return Usage(
        tokens_prompt=run.tokens_prompt, tokens_completion=run.tokens_completion, cost_usd=run.cost_usd, cost_source=run.cost_source
    )


def _known_usd(run: NodeRun) -> float:
    if run.cost_usd is not None:
        return run.cost_usd
    return sum(step.usage.cost_usd or 0.0 for step in run.steps)
