"""The pool: at most `size` jobs at once, in the order in which they were asked for.

In: jobs. Out: outcomes. Workers are started when first needed and live on; a
worker belongs to one set of permits, for what it may touch can never be widened
again. Refuses calls before it is entered, after it is closed, and from another loop.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import msgspec

from flowgauge.errors import UsageError
from flowgauge.model.ports import Job, Outcome, Permits
from flowgauge.sandbox import processes
from flowgauge.sandbox.scratch import ScratchFolder
from flowgauge.sandbox.tier import Isolation, Tier, choose, gaps
from flowgauge.sandbox.worker import Order, StartFailed, Worker

_WATCH_EVERY_S = 0.05
_IDLE_PER_SLOT = 2
_SPARE_TASKS = 256


class WorkerPool:
    """Runs python code in worker processes that live on. Use it as an async context manager."""

    def __init__(self, size: int | None = None, isolation: Isolation = "auto") -> None:
        if size is not None and size < 1:
            raise UsageError(f"A pool of {size} workers can run nothing.", remedy="Give a size of 1 or more.")
        self._size = size or _processors()
        self._tier: Tier = choose(isolation)
        self._gaps = gaps(self._tier)
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def tier(self) -> Tier:
        """What stands between the code and the machine."""
        return self._tier

    @property
    def gaps(self) -> tuple[str, ...]:
        """What that does not stop on this kernel; exact once a worker has started."""
        return self._gaps

    async def __aenter__(self) -> Self:
        if self._loop is not None:
            raise UsageError("This pool of workers is in use already.", remedy="Enter it once, or make another.")
        self._loop = asyncio.get_running_loop()
        self._scratch = ScratchFolder()
        self._tasks = processes.tasks_of_user() + _SPARE_TASKS
        self._free = self._size
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._idle: list[Worker] = []
        self._workers: set[Worker] = set()
        self._watch: asyncio.TimerHandle | None = None
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Kill all workers, wait for their end, and remove their folders."""
        if self._loop is None:
            return
        self._loop = None
        if self._watch is not None:
            self._watch.cancel()
        for waiter in self._waiting:
            waiter.cancel()
        workers = tuple(self._workers)
        for worker in workers:
            worker.stop("killed", "The pool of workers was closed.")
        await asyncio.gather(*(worker.ended for worker in workers))
        await asyncio.to_thread(self._scratch.remove)

    async def warm(self, count: int | None = None, permits: Permits | None = None) -> None:
        """Start workers before they are needed, side by side. Raises UsageError where they cannot be had."""
        self._require_open()
        wanted = self._group(permits or Permits())
        missing = min(count or self._size, self._size) - sum(worker.order.permits == wanted for worker in self._idle)
        for started in await asyncio.gather(*(self._start(wanted) for _ in range(missing)), return_exceptions=True):
            if isinstance(started, StartFailed):
                raise UsageError(str(started), remedy="See docs/isolation.md for what each tier needs.") from started
            if isinstance(started, BaseException):
                raise started
            self._idle.append(started)

    async def call(self, job: Job) -> Outcome:
        """Run a job. Never raises for what the code does: a crash, a hang, a flood are outcomes."""
        self._require_open()
        await self._slot()
        worker: Worker | None = None
        try:
            worker = await self._worker(self._group(job.permits))
            self._keep_watch()
            return await worker.run(job)
        except StartFailed as error:
            return Outcome(failure=error.failure, message=str(error))
        finally:
            if worker is not None and worker.alive:
                self._idle.append(worker)
            self._free_slot()

    def _require_open(self) -> None:
        if self._loop is None:
            raise UsageError("This pool of workers is not open.", remedy="Use it inside: async with WorkerPool() as pool.")
        if self._loop is not asyncio.get_running_loop():
            raise UsageError("This pool of workers belongs to another event loop.", remedy="Make one for each loop.")

    def _group(self, permits: Permits) -> Permits:
        """Permits that mean the same share workers; without walls all mean the same."""
        if self._tier == "process" or permits == _NONE:
            return _NONE
        return msgspec.structs.replace(permits, read=_absolute(permits.read), write=_absolute(permits.write))

    async def _slot(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if self._loop is None and not _being_cancelled():
                raise UsageError("The pool of workers was closed while a job waited for its turn.") from None
            if waiter.done() and not waiter.cancelled():
                self._free_slot()
            raise

    def _free_slot(self) -> None:
        """Whoever has waited longest goes next."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1

    async def _worker(self, permits: Permits) -> Worker:
        """The one that was used last, for its caches are warm; else a new one."""
        for index in range(len(self._idle) - 1, -1, -1):
            worker = self._idle[index]
            if not worker.alive:
                del self._idle[index]
            elif worker.order.permits == permits:
                del self._idle[index]
                return worker
        self._retire_idle()
        return await self._start(permits)

    def _retire_idle(self) -> None:
        while len(self._idle) >= _IDLE_PER_SLOT * self._size:
            self._idle.pop(0).stop("killed", "It was not needed any more.")

    async def _start(self, permits: Permits) -> Worker:
        try:
            worker = Worker(Order(tier=self._tier, permits=permits, folder=str(self._scratch.path), processes=self._tasks))
        except OSError as error:
            raise StartFailed("killed", f"No worker could be started: {error}") from error
        self._workers.add(worker)
        worker.ended.add_done_callback(lambda _: self._workers.discard(worker))
        ready = await worker.start()
        if self._tier == "landlock":
            self._gaps = gaps("landlock", abi=ready.abi, filtered=ready.seccomp)
        return worker

    def _keep_watch(self) -> None:
        if self._watch is None and self._loop is not None:
            self._watch = self._loop.call_later(_WATCH_EVERY_S, self._look)

    def _look(self) -> None:
        self._watch = None
        for worker in self._workers:
            worker.check(_WATCH_EVERY_S)
        if self._free < self._size:
            self._keep_watch()


_NONE = Permits()


def _absolute(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(_expanded(paths)))


def _expanded(paths: tuple[str, ...]) -> Iterator[str]:
    for path in paths:
        yield os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111  (Path.resolve would follow links)


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
