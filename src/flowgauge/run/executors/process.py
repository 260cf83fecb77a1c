"""Trials in worker processes: for targets that need more than one core, or that may take their process down.

Trials are handed out as slots become free, further ones ahead only where trials
are so short that the way to the worker would show. A worker that dies costs
the trials it had begun one more try, each alone in a worker, so that the one
at fault is found and the others are not blamed; the second time the trial has
failed (killed). Trials that it had not begun are handed to others.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Iterator

import msgspec

from flowgauge.errors import StoreFailure, UsageError
from flowgauge.model.bench import PlannedTrial, Trial
from flowgauge.model.play import Failure
from flowgauge.run.executors.executor import READY_LIMIT
from flowgauge.run.executors.frames import Broken, Done, FromWorker, Pong, Ready
from flowgauge.run.executors.worker import Worker
from flowgauge.run.trial_job import Recipe, TrialJob
from flowgauge.run.trial_results import unanswered

AHEAD = 32
"""Trials that a worker may hold beyond its slots, where trials are short."""
SHORT_MS = 5.0
LOOK_S = 0.5
STARTS = 3
"""So many workers in a row that end before they are ready: no further one is tried."""


class ProcessExecutor:
    """`Executor` on worker processes. `stall_s`: a worker whose event loop stands still for so long is killed."""

    def __init__(self, max_concurrent: int, *, workers: int | None = None, stall_s: float | None = None) -> None:
        count = min(workers or os.cpu_count() or 1, max_concurrent)
        self._shares = [max_concurrent // count + (number < max_concurrent % count) for number in range(count)]
        self._stall_s = stall_s
        self._wake = asyncio.Event()
        self._reset()

    def _reset(self) -> None:
        self._plan: Iterator[PlannedTrial] = iter(())
        self._recipe = Recipe("", b"")
        self._planned_all = False
        self._cancelled = False
        self._workers: list[Worker] = []
        self._starting: set[asyncio.Task[None]] = set()
        self._returned: deque[PlannedTrial] = deque()
        self._suspects: deque[PlannedTrial] = deque()
        self._deaths: dict[str, int] = {}
        self._ready: deque[Trial] = deque()
        self._error: BaseException | None = None
        self._false_starts = 0
        self._usual_ms = SHORT_MS * 10

    async def run(self, plan: Iterator[PlannedTrial], job: TrialJob) -> AsyncGenerator[Trial, None]:
        """See `Executor`."""
        self._reset()
        self._plan, self._recipe = plan, job.recipe()
        looking = asyncio.create_task(self._look())
        try:
            for slots in self._shares:
                self._start(slots)
            while True:
                while self._ready:
                    yield self._ready.popleft()
                if self._error is not None:
                    raise self._error
                self._hand_out_all()
                if not self._ready and self._is_over():
                    return
                if not self._ready:
                    self._wake.clear()
                    await self._wake.wait()
        finally:
            looking.cancel()
            self._cancelled = True
            await asyncio.gather(*self._starting, return_exceptions=True)
            await asyncio.gather(*(worker.finish() for worker in self._workers))

    def cancel(self) -> None:
        """See `Executor`."""
        self._cancelled = True
        for worker in self._workers:
            worker.kill()
        self._wake.set()

    def _is_over(self) -> bool:
        if self._cancelled:
            return all(worker.lost or not worker.held for worker in self._workers)
        held = any(worker.held for worker in self._workers)
        return self._planned_all and not (held or self._returned or self._suspects)

    # ── workers ─────────────────────────────────────────────────────────────

    def _start(self, slots: int) -> None:
        worker = Worker(slots, self._heard, self._lost)
        self._workers.append(worker)
        task = asyncio.create_task(worker.start(self._recipe))
        self._starting.add(task)
        task.add_done_callback(self._came_up)

    def _came_up(self, task: asyncio.Task[None]) -> None:
        self._starting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _heard(self, worker: Worker, message: FromWorker) -> None:
        worker.answered()
        if isinstance(message, Done):
            self._take(worker, message.trial)
        elif isinstance(message, Ready):
            worker.ready = True
            self._false_starts = 0
            self._hand_out(worker)
        elif isinstance(message, Broken):
            self._fail(
                StoreFailure(message.message) if message.of_store else UsageError(f"A worker cannot run this bench: {message.message}")
            )
        else:
            assert isinstance(message, Pong)

    def _lost(self, worker: Worker) -> None:
        """A worker is gone: its trials are handed on, and another takes its place."""
        self._workers.remove(worker)
        self._wake.set()
        if self._cancelled or self._error is not None:
            return
        begun = worker.started()
        for planned in begun:
            self._blame(planned, worker)
        self._returned.extend(planned for planned in worker.held.values() if planned not in begun)
        worker.held.clear()
        self._false_starts += not worker.ready
        if self._false_starts >= STARTS * len(self._shares):
            self._fail(UsageError(f"No worker process comes up: the last one {worker.how_it_ended()}.", remedy="See its stderr."))
        else:
            self._start(worker.slots)

    def _blame(self, planned: PlannedTrial, worker: Worker) -> None:
        deaths = self._deaths[planned.run_id] = self._deaths.get(planned.run_id, 0) + 1
        if deaths == 1:
            self._suspects.append(planned)
            return
        failure = Failure(
            kind="timeout" if worker.stalled else "killed",
            message=f"The worker process that ran this trial {worker.how_it_ended()}, twice; the second time it ran nothing else.",
        )
        self._ready.append(unanswered(planned, failure, repeated=1))

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self._wake.set()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for worker in tuple(self._workers):
                worker.look(self._stall_s)

    # ── trials ──────────────────────────────────────────────────────────────

    def _take(self, worker: Worker, trial: Trial) -> None:
        if worker.held.pop(trial.run_id, None) is None:
            return
        worker.alone = False
        deaths = self._deaths.pop(trial.run_id, 0)
        if deaths:
            trial = msgspec.structs.replace(trial, answer=msgspec.structs.replace(trial.answer, repeated=trial.answer.repeated + deaths))
        self._usual_ms += 0.1 * (trial.answer.duration_ms + trial.score_ms - self._usual_ms)
        self._ready.append(trial)
        if len(self._ready) == 1:
            self._wake.set()
        self._hand_out(worker)

    def _hand_out_all(self) -> None:
        for worker in self._workers:
            self._hand_out(worker)

    def _hand_out(self, worker: Worker) -> None:
        """Fill a worker up, unless results pile up here."""
        if not worker.ready or worker.lost or worker.alone or self._cancelled or len(self._ready) >= READY_LIMIT:
            return
        ahead = AHEAD if self._usual_ms < SHORT_MS else 0
        room = worker.slots + ahead - len(worker.held)
        if room <= ahead // 2 and worker.held:
            return
        trials = self._next(room)
        if trials:
            worker.send(trials)
        elif self._suspects and not worker.held:
            worker.alone = True
            worker.send([self._suspects.popleft()])

    def _next(self, count: int) -> list[PlannedTrial]:
        trials: list[PlannedTrial] = []
        while len(trials) < count:
            planned = self._returned.popleft() if self._returned else self._planned()
            if planned is None:
                self._planned_all = True
                self._wake.set()
                break
            trials.append(planned)
        return trials

    def _planned(self) -> PlannedTrial | None:
        try:
            return next(self._plan, None)
        except Exception as error:  # noqa: BLE001 - met in a callback: it is raised where the trials are taken
            self._fail(error)
            return None
