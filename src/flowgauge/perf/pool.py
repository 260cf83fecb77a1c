"""The pool: worker processes that live for the whole run, each with one episode at a time.

In: episodes. Out: a run artifact for each, whatever it did: one that hangs,
leaks, floods, fills the disk or kills its worker fails alone, with its reason,
and its worker is replaced. The time of starting workers is kept apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import statistics
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from flowgauge.errors import NotMeasured, UsageError
from flowgauge.model.ports import Job, Outcome, Permits
from flowgauge.perf.killed import Watched, killed_artifact
from flowgauge.perf.model import Episode, RunArtifact
from flowgauge.perf.orders import EpisodeAnswer, EpisodeOrder, Network, Setup, Started, Tape
from flowgauge.sandbox import processes
from flowgauge.sandbox.scratch import ScratchFolder
from flowgauge.sandbox.worker import Order, StartFailed, Worker

START_S = 120.0
"""A worker that has not loaded the scenario's code by then will not."""
STARTS = 3
"""So many workers in a row that end before they are ready: no further one is tried."""
WATCH_EVERY_S = 0.05
LATE_S = 5.0
"""A play holds to its time limit by itself; this much later its worker is killed all the same."""
_SPARE_TASKS = 1024


class StoppedEarly(Exception):
    """Somebody asked to stop before the workers were ready."""


class EpisodePool:
    """Runs episodes. Use it as an async context manager: its workers are started on the way in.

    `stop` ends that start, too (StoppedEarly); to stop episodes is their caller's affair.
    """

    def __init__(self, setup: Setup, workers: int, *, stop: asyncio.Event | None = None) -> None:
        self._setup = setup
        self._size = workers
        self._stop = stop or asyncio.Event()
        self._limits = Watched(setup.file_mb << 20, setup.output_kb << 10)
        self._idle: asyncio.LifoQueue[Worker | None] = asyncio.LifoQueue()
        self._workers: set[Worker] = set()
        self._watch: asyncio.Task[None] | None = None
        self.started_s: list[float] = []
        """How long each worker took until it was ready, in the order in which they were."""
        self.network: Network = ""
        """Who cut the workers off from it, where the setup asks for that."""

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers that are there now."""
        return tuple(worker.pid for worker in self._workers)

    @property
    def replaced(self) -> int:
        """Workers that were started in the place of another."""
        return max(0, len(self.started_s) - self._size)

    @property
    def start_s(self) -> float | None:
        """The median start of a worker."""
        return statistics.median(self.started_s) if self.started_s else None

    async def __aenter__(self) -> Self:
        self._scratch = ScratchFolder()
        self._tasks = processes.tasks_of_user() + _SPARE_TASKS
        try:
            await self._all_started()
        except BaseException:
            await self.close()
            raise
        self._watch = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Kill all workers, wait for their end, and remove their folders."""
        if self._watch is not None:
            self._watch.cancel()
        workers = tuple(self._workers)
        for worker in workers:
            worker.stop("killed", "The run has ended.")
        await asyncio.gather(*(worker.ended for worker in workers))
        await asyncio.to_thread(self._scratch.remove)

    async def run(self, episode: Episode, *, run_id: str = "", tape: Tape | None = None) -> RunArtifact:
        """One episode, when a worker is free. Only a worker that cannot be had is raised (NotMeasured)."""
        worker = await self._idle.get()
        try:
            if worker is None or not worker.alive:
                worker = await self._replacement()
            return await self._run_on(worker, episode, run_id, tape)
        finally:
            self._idle.put_nowait(worker if worker is not None and worker.alive else None)

    async def _run_on(self, worker: Worker, episode: Episode, run_id: str, tape: Tape | None) -> RunArtifact:
        prepared = self._setup.rows[episode.row]
        limit_s = prepared.budgets.wall_clock_s
        assert limit_s is not None
        order = EpisodeOrder(
            row=episode.row, seed=episode.seed, run_id=run_id or new_run_id(episode), trace_id=secrets.token_hex(16), tape=tape
        )
        job = Job(
            code="",
            function="episode",
            arguments=msgspec.to_builtins(order),
            timeout_s=limit_s + (LATE_S if prepared.workflow else 0.0),
            memory_mb=self._setup.memory_mb,
        )
        started_at = time.time_ns() // 1_000_000
        self._limits.begin(worker)
        outcome = await worker.run(job)
        broken = self._limits.end(worker)
        if outcome.failure is None and not broken:
            return msgspec.convert(outcome.value, EpisodeAnswer).artifact
        return killed_artifact(self._setup, order, outcome, broken, started_at)

    async def _all_started(self) -> None:
        starts = {asyncio.create_task(self._started()) for _ in range(self._size)}
        stopped = asyncio.create_task(self._stop.wait())
        waiting = set(starts)
        try:
            while waiting:
                done, _ = await asyncio.wait({*waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if stopped in done:
                    raise StoppedEarly
                for start in waiting & done:
                    self._idle.put_nowait(start.result())
                waiting -= done
        finally:
            for task in (*starts, stopped):
                task.cancel()
            await asyncio.gather(*starts, stopped, return_exceptions=True)

    async def _replacement(self) -> Worker:
        """Another worker, within a few tries."""
        for _ in range(STARTS - 1):
            with contextlib.suppress(NotMeasured):
                return await self._started()
        return await self._started()

    async def _started(self) -> Worker:
        """A worker that has loaded the scenario. Raises UsageError where no worker ever could."""
        begun = time.perf_counter()
        worker = await self._confined()
        progress = self._scratch.path / f"loading-{worker.pid}"
        setup = msgspec.structs.replace(self._setup, progress=str(progress))
        outcome = await worker.run(Job(code="", function="setup", arguments=msgspec.to_builtins(setup), timeout_s=START_S))
        if outcome.failure is not None:
            raise _not_ready(outcome, progress)
        started = msgspec.convert(outcome.value, Started)
        if started.error:
            worker.stop("killed", "The scenario cannot be run.")
            raise UsageError(started.error)
        self.network = started.network
        self.started_s.append(time.perf_counter() - begun)
        return worker

    async def _confined(self) -> Worker:
        order = Order(
            tier="process",
            permits=Permits(),
            folder=str(self._scratch.path),
            processes=self._tasks,
            file_mb=self._setup.file_mb,
            boot=_boot(),
            environment=_environment(),
        )
        try:
            worker = Worker(order)
        except OSError as error:
            raise NotMeasured(f"No worker could be started: {error}.", remedy="Use fewer workers.") from error
        self._workers.add(worker)
        worker.ended.add_done_callback(lambda _: self._workers.discard(worker))
        try:
            await worker.start()
        except StartFailed as error:
            raise NotMeasured(str(error), remedy="Use fewer workers, or look at its last words.") from error
        return worker

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            for worker in tuple(self._workers):
                self._limits.look(worker, WATCH_EVERY_S)


def new_run_id(episode: Episode) -> str:
    """Sortable by where the episode stands; the rest is chance."""
    return f"run_{episode.index:06d}_{secrets.token_hex(5)}"


def _boot() -> str:
    """Our own modules are found where this process finds them."""
    return f"import sys; sys.path[:] = {json.dumps(sys.path)}; from flowgauge.perf.guest.main import main; main(int(sys.argv[1]))"


def _environment() -> dict[str, str]:
    """This process's own; sets and dictionaries of text have the same order in every worker."""
    return {**os.environ, "PYTHONHASHSEED": "0"}


def _not_ready(outcome: Outcome, progress: Path) -> NotMeasured:
    """Says which row was being loaded, and what it printed where it printed anything."""
    row = progress.read_text(encoding="utf-8") if progress.is_file() else ""
    where = f" while {row} was loaded" if row else ""
    why = f"No worker could be made ready{where}: {outcome.message}"
    if last_words := outcome.stderr.strip()[-2000:]:
        return NotMeasured(f"{why} Its last words: {last_words}", remedy="Look at these.")
    return NotMeasured(why, remedy="Look at what that file does when it is imported." if row else "Try again, or use fewer workers.")
