"""Trials in this process, on its event loop.

As many coroutines as there are slots take from one plan: no task is made for a
trial. A job that never waits for anything costs a call and two appends.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator

from flowgauge.errors import StoreFailure
from flowgauge.model.bench import PlannedTrial, Trial
from flowgauge.run.executors.executor import READY_LIMIT
from flowgauge.run.trial_job import TrialJob
from flowgauge.run.trial_results import failure_of, unanswered
from flowgauge.run.trial_time import cut_off


class LocalExecutor:
    """`Executor` on asyncio."""

    def __init__(self, max_concurrent: int) -> None:
        self._max_concurrent = max_concurrent
        self._slots: set[asyncio.Task[None]] = set()
        self._ready: deque[Trial] = deque()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._cancelled = False
        self._cutting: asyncio.Task[None] | None = None
        self._error: BaseException | None = None

    async def run(self, plan: Iterator[PlannedTrial], job: TrialJob) -> AsyncGenerator[Trial, None]:
        """See `Executor`."""
        self._cancelled, self._error, self._cutting = False, None, None
        self._ready.clear()
        self._room.set()
        for _ in range(self._max_concurrent):
            slot = asyncio.create_task(self._work(plan, job))
            self._slots.add(slot)
            slot.add_done_callback(self._slot_ended)
        try:
            while True:
                while self._ready:
                    yield self._ready.popleft()
                self._room.set()
                if self._error is not None:
                    raise self._error
                if not self._slots:
                    return
                self._wake.clear()
                await self._wake.wait()
        finally:
            await self._end()

    def cancel(self) -> None:
        """See `Executor`."""
        self._cancelled = True
        if self._cutting is None:
            self._cutting = asyncio.create_task(self._cut_off())

    async def _cut_off(self) -> None:
        await cut_off(*self._slots)
        self._slots.clear()  # what does not stop when told to is left behind
        self._wake.set()

    async def _end(self) -> None:
        self._cancelled = True
        await cut_off(*self._slots)
        self._slots.clear()
        if self._cutting is not None:
            await self._cutting

    async def _work(self, plan: Iterator[PlannedTrial], job: TrialJob) -> None:
        ready = self._ready
        for planned in plan:
            try:
                trial = await job.run(planned)
            except (StoreFailure, GeneratorExit):
                raise
            except asyncio.CancelledError as error:
                if self._cancelled:
                    raise
                trial = unanswered(planned, failure_of(error))
            except BaseException as error:  # noqa: BLE001 - one trial never ends the others
                trial = unanswered(planned, failure_of(error))
            if self._cancelled:
                self._late(trial)
                break
            ready.append(trial)
            if len(ready) == 1:
                self._wake.set()
            if len(ready) >= self._max_concurrent:
                await asyncio.sleep(0)  # targets that answer at once must not run ahead of the budget and of `stop`
            if len(ready) >= READY_LIMIT:
                self._room.clear()
                await self._room.wait()

    def _late(self, trial: Trial) -> None:
        """Over at the moment of the cut: a result, unless its slot was given up before."""
        if asyncio.current_task() in self._slots:
            self._ready.append(trial)
            self._wake.set()

    def _slot_ended(self, slot: asyncio.Task[None]) -> None:
        self._slots.discard(slot)
        self._wake.set()
        if not slot.cancelled() and (error := slot.exception()) is not None:
            self._error = self._error or error
