"""Jobs for executors, made here and, by their recipe, in worker processes. A trial's case says what it does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from flowgauge.errors import StoreFailure
from flowgauge.model.bench import Answer, PlannedTrial, Trial
from flowgauge.run.trial_job import Recipe
from flowgauge.run.trial_results import trial_of


class BareMisery(BaseException):
    """No Exception."""


class CasesJob:
    """`TrialJob`. Every start is a line in `log`, which outlives the process."""

    def __init__(self, log: str) -> None:
        self.log = log
        self.stubborn = True

    def recipe(self) -> Recipe:
        return Recipe("tests.contracts.executor_jobs:make", self.log.encode())

    async def run(self, planned: PlannedTrial) -> Trial:
        begun = time.monotonic()
        self._note(planned.run_id)
        await getattr(self, f"do_{planned.case}")(planned)
        output = {"begun": begun, "ended": time.monotonic(), "pid": os.getpid()}
        return trial_of(planned, Answer(status="success", output=output, duration_ms=(time.monotonic() - begun) * 1000))

    def _note(self, line: str) -> None:
        if self.log:
            file = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(file, f"{line}\n".encode())
            os.close(file)

    async def do_nothing(self, planned: PlannedTrial) -> None: ...

    async def do_sleep(self, planned: PlannedTrial) -> None:
        await asyncio.sleep(0.02)

    async def do_hang(self, planned: PlannedTrial) -> None:
        await asyncio.Event().wait()

    async def do_refuse_to_stop(self, planned: PlannedTrial) -> None:
        while self.stubborn:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    async def do_raise(self, planned: PlannedTrial) -> None:
        raise RuntimeError("no luck")

    async def do_exit(self, planned: PlannedTrial) -> None:
        sys.exit(7)

    async def do_cancel_itself(self, planned: PlannedTrial) -> None:
        raise asyncio.CancelledError

    async def do_misery(self, planned: PlannedTrial) -> None:
        raise BareMisery("worse than an error")

    async def do_lose_the_store(self, planned: PlannedTrial) -> None:
        raise StoreFailure("The disk is full.")

    async def do_die(self, planned: PlannedTrial) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def do_die_once(self, planned: PlannedTrial) -> None:
        if Path(self.log).read_text().split().count(planned.run_id) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    async def do_block(self, planned: PlannedTrial) -> None:
        time.sleep(3600)


@contextlib.asynccontextmanager
async def make(payload: bytes) -> AsyncIterator[CasesJob]:
    yield CasesJob(payload.decode())


@contextlib.asynccontextmanager
async def make_nothing(payload: bytes) -> AsyncIterator[CasesJob]:
    if payload:
        raise ValueError(f"no job of {payload.decode()}")
    yield CasesJob("")


def die_at_once(payload: bytes) -> None:
    os._exit(9)


def plan(*cases: str) -> Iterator[PlannedTrial]:
    return (PlannedTrial(f"run-{position}", position, "c", case, 0) for position, case in enumerate(cases))
