"""A worker process: makes the job by its recipe and runs the trials that it is sent.

As many coroutines as it has slots take trials in the order in which they came.
A slot hands its result to the system before it takes the next trial, so the
parent knows what can have been started. When the parent is gone, so is this.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from typing import NoReturn

from flowgauge.errors import StoreFailure
from flowgauge.model.bench import PlannedTrial, Trial
from flowgauge.run.executors.frames import Broken, Done, Finish, FrameLine, Ping, Pong, Ready, Setup, ToWorker, Work
from flowgauge.run.targets.importing import find_object
from flowgauge.run.trial_job import TrialJob
from flowgauge.run.trial_results import failure_of, unanswered

ORPHANED = 3


def main() -> None:
    """The program: `… FD`, the socket to the parent."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is the parent's to answer
    line = socket.socket(fileno=int(sys.argv[1]))
    line.set_inheritable(False)
    asyncio.run(_serve(line))
    sys.stdout.flush()
    os._exit(0)  # threads of plain functions that hang must not hold it up


async def _serve(line: socket.socket) -> None:
    worker = _Worker()
    await asyncio.get_running_loop().create_connection(lambda: worker.line, sock=line)
    await worker.serve()


class _Worker:
    def __init__(self) -> None:
        self.line: FrameLine[ToWorker] = FrameLine(ToWorker, self._take, _orphaned)
        self._waiting: asyncio.Queue[PlannedTrial] = asyncio.Queue()
        self._setup: asyncio.Future[Setup] = asyncio.get_running_loop().create_future()
        self._finished = asyncio.Event()

    async def serve(self) -> None:
        setup = await self._setup
        try:
            async with find_object(setup.recipe.factory)(setup.recipe.payload) as job:
                await self._work(job, setup.slots)
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent must know why no worker comes up
            await self._break(error)

    def _take(self, message: ToWorker) -> None:
        if isinstance(message, Work):
            for planned in message.trials:
                self._waiting.put_nowait(planned)
        elif isinstance(message, Ping):
            self.line.send(Pong())
        elif isinstance(message, Finish):
            self._finished.set()
        else:
            self._setup.set_result(message)

    async def _work(self, job: TrialJob, slots: int) -> None:
        self.line.send(Ready())
        working = [asyncio.create_task(self._slot(job)) for _ in range(slots)]
        await self._finished.wait()
        for slot in working:
            slot.cancel()
        await asyncio.gather(*working, return_exceptions=True)

    async def _slot(self, job: TrialJob) -> None:
        while True:
            planned = await self._waiting.get()
            try:
                trial = await job.run(planned)
            except StoreFailure as error:
                await self._break(error)
            except asyncio.CancelledError as error:
                if self._finished.is_set():
                    raise
                trial = unanswered(planned, failure_of(error))
            except BaseException as error:  # noqa: BLE001 - one trial never ends the others
                trial = unanswered(planned, failure_of(error))
            self._send(planned, trial)
            await self.line.sent()

    def _send(self, planned: PlannedTrial, trial: Trial) -> None:
        try:
            self.line.send(Done(trial))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:  # an output that JSON cannot hold
            self.line.send(Done(unanswered(planned, failure_of(error, "invalid_output"))))

    async def _break(self, error: Exception) -> NoReturn:
        self.line.send(Broken(f"{type(error).__name__}: {error}", isinstance(error, StoreFailure)))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5.0):
                await self.line.sent()
        os._exit(1)


def _orphaned() -> None:
    os._exit(ORPHANED)
