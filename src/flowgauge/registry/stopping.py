"""Work in a thread that somebody else can end.

What an adapter or a review runs are programs, each awaited in an event loop of
its own. `run` does that; where the thread was started by `in_thread`, whoever
waits for it can leave: the program is killed with its group, and the thread ends
before `in_thread` does.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(BaseException):
    """Nobody waits for the answer any more. No Exception, so that it is nobody's outcome."""


class Stop:
    """Shared by the thread that works and the one that may end it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = False
        self._cancel: Callable[[], object] | None = None

    def ask(self) -> None:
        """What runs now is cancelled, and nothing more begins."""
        with self._lock:
            self._asked = True
            if self._cancel is not None:
                self._cancel()

    async def watched(self, work: Coroutine[Any, Any, T]) -> T:
        """The work, known here while it lasts."""
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        with self._lock:
            if self._asked:
                task.cancel()
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            if self._asked:
                raise Stopped from None
            raise
        finally:
            with self._lock:
                self._cancel = None


_STOP: contextvars.ContextVar[Stop | None] = contextvars.ContextVar("stop", default=None)


def run(work: Coroutine[Any, Any, T]) -> T:
    """To its end, or Stopped. Not from within an event loop."""
    stop = _STOP.get()
    return asyncio.run(work if stop is None else stop.watched(work))


async def in_thread(work: Callable[[], T]) -> T:
    """In a thread of its own, so that it takes none of those that ask the store. Cancelled: what it runs is stopped and waited for."""
    stop, context = Stop(), contextvars.copy_context()
    context.run(_STOP.set, stop)
    pool = ThreadPoolExecutor(1, thread_name_prefix="long-work")
    future = asyncio.get_running_loop().run_in_executor(pool, context.run, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.ask()
        await asyncio.wait([future])
        future.exception()  # Stopped, most likely: nobody is to be told that it was never looked at
        raise
    finally:
        pool.shutdown(wait=False)
