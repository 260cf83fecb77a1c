"""What every executor does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Protocol

from flowgauge.model.bench import PlannedTrial, Trial
from flowgauge.run.trial_job import TrialJob

READY_LIMIT = 256
"""Trials that are over and not yet taken: with more of them no further one is started."""


class Executor(Protocol):
    """Runs planned trials, so many at once. Serves one `run` at a time.

    A slot is free when its trial was answered and scored, not when it was
    stored. Every trial is yielded once, as it ends, whatever came of it; a job
    that raises is a failed trial. Only StoreFailure ends the iterator early.
    """

    def run(self, plan: Iterator[PlannedTrial], job: TrialJob) -> AsyncGenerator[Trial, None]:
        """Takes from the plan as slots become free. To close the iterator cuts off what is under way."""

    def cancel(self) -> None:
        """Cut off what is under way, start nothing more; what is over is still yielded, then the iterator ends."""
