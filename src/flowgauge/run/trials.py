"""Runs the trials of a bench: a plan in, durable results out.

A trial counts as done (`on_trial`) when its record is on disk; its slot was free
before that. What waits for the disk is bounded, so a slow disk slows the bench
down and memory stays level. One failing trial never ends the others. A store
that fails does: without it there is no result.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Literal

import msgspec

from flowgauge.errors import StoreFailure
from flowgauge.model.bench import PlannedTrial, Trial, paid_for
from flowgauge.model.play import Failure
from flowgauge.nodes.together import first_error
from flowgauge.run.executors.executor import Executor
from flowgauge.run.heap import steady_heap
from flowgauge.run.trial_budget import TrialBudget
from flowgauge.run.trial_job import TrialJob
from flowgauge.run.trial_results import unanswered

GRACE_S = 10.0
"""How long trials under way may still take after `stop`."""
OWED_LIMIT = 1024
"""Trials handed to the journal and not yet on disk."""

Record = Callable[[Trial], Awaitable[object]]
"""Hands a trial to the journal at once; the answer is done when it is on disk. Records become durable in order."""


class TrialsOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How it went; what came of each trial is in the store."""

    status: Literal["finished", "interrupted", "budget_exceeded"]
    recorded: int
    cut_off: int = 0
    """Under way when the grace was over: they have no result and can be run again."""
    spent_usd: float = 0.0
    """Of these trials, where known."""
    unpriced: int = 0
    """Trials whose cost nobody knows."""


async def run_trials(
    plan: Iterator[PlannedTrial],
    executor: Executor,
    job: TrialJob,
    record: Record,
    *,
    on_trial: Callable[[Trial], None] | None = None,
    stop: asyncio.Event | None = None,
    grace_s: float = GRACE_S,
    budget: TrialBudget | None = None,
    hurry: Callable[[], None] | None = None,
) -> TrialsOutcome:
    """Run what is planned until it is done, `stop` is set or the money is spent. `hurry` is called when only the disk is waited for."""
    trials = _Trials(plan, executor, job, record, on_trial, stop or asyncio.Event(), budget)
    try:
        with steady_heap():
            await trials.run(grace_s, hurry)
    except BaseExceptionGroup as several:
        raise first_error(several) from None
    return trials.outcome()


class _Trials:
    def __init__(
        self,
        plan: Iterator[PlannedTrial],
        executor: Executor,
        job: TrialJob,
        record: Record,
        on_trial: Callable[[Trial], None] | None,
        stop: asyncio.Event,
        budget: TrialBudget | None,
    ) -> None:
        self._plan = plan
        self._executor = executor
        self._job = job
        self._record = record
        self._on_trial = on_trial
        self._stop = stop
        self._budget = budget
        self._owed: deque[tuple[Trial, Awaitable[object]]] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._all_run = False
        self._status: Literal["finished", "interrupted", "budget_exceeded"] = "finished"
        self._started = 0
        self._ended = 0
        self._recorded = 0
        self._spent_usd = 0.0
        self._unpriced = 0

    def outcome(self) -> TrialsOutcome:
        cut_off = self._started - self._ended
        return TrialsOutcome(
            status="interrupted" if cut_off else self._status,
            recorded=self._recorded,
            cut_off=cut_off,
            spent_usd=self._spent_usd,
            unpriced=self._unpriced,
        )

    async def run(self, grace_s: float, hurry: Callable[[], None] | None) -> None:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self.watch(grace_s))
            confirming = group.create_task(self.confirm())
            await self.pump()
            watching.cancel()
            if hurry is not None:
                hurry()
            await confirming

    async def pump(self) -> None:
        """From the plan through the executor to the journal."""
        async with contextlib.aclosing(self._executor.run(self._feed(), self._job)) as ended:
            async for trial in ended:
                self._count(trial)
                self._owed.append((trial, self._hand_over(trial)))
                self._news.set()
                if len(self._owed) >= OWED_LIMIT:
                    self._room.clear()
                    await self._room.wait()
        self._all_run = True
        self._news.set()

    async def confirm(self) -> None:
        """Wait for each record to be on disk, in order; then the trial is done."""
        owed = self._owed
        while owed or not self._all_run:
            if not owed:
                self._news.clear()
                await self._news.wait()
                continue
            trial, receipt = owed[0]
            try:
                await receipt
            except StoreFailure as error:
                trial = await self._again(trial, error)
            owed.popleft()
            self._recorded += 1
            if len(owed) < OWED_LIMIT:
                self._room.set()
            if self._on_trial is not None:
                self._on_trial(trial)

    async def watch(self, grace_s: float) -> None:
        """Once `stop` is set nothing more is started; after the grace, what runs is cut off."""
        await self._stop.wait()
        await asyncio.sleep(grace_s)
        self._executor.cancel()

    def _feed(self) -> Iterator[PlannedTrial]:
        for planned in self._plan:
            if self._stop.is_set():
                self._status = "interrupted"
                return
            if self._budget is not None and not self._budget.reserve(planned):
                self._status = "budget_exceeded"
                return
            self._started += 1
            yield planned

    def _count(self, trial: Trial) -> None:
        self._ended += 1
        if self._budget is not None:
            self._budget.settle(trial)
        paid_usd, known = paid_for(trial)
        self._spent_usd += paid_usd
        self._unpriced += not known

    def _hand_over(self, trial: Trial) -> Awaitable[object]:
        try:
            return self._record(trial)
        except StoreFailure:
            raise
        except Exception as error:  # noqa: BLE001 - an answer that cannot be written down is a failed trial
            return self._record(_unstorable(trial, error))

    async def _again(self, trial: Trial, error: StoreFailure) -> Trial:
        """A row that the database refuses must not end the bench: that much of it is stored as says so. A store that fails, fails again."""
        bare = _unstorable(trial, error)
        await self._record(bare)
        return bare


def _unstorable(trial: Trial, error: Exception) -> Trial:
    planned = PlannedTrial(trial.run_id, trial.position, trial.config, trial.case, trial.repetition)
    return unanswered(planned, Failure(kind="internal", message=f"The answer cannot be stored: {error}"))
