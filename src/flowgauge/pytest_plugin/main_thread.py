"""An event loop in another thread, while the thread that asked for it does what comes back.

A bench runs on an event loop; a test must run where pytest runs it. What a
fixture opened belongs to that thread (an SQLite connection, a browser), and a
test may start an event loop of its own, which it could not on ours.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")
PATIENCE_S = 15.0
"""How long the loop may take to end after an interruption."""


class MainThread(Generic[R]):
    """`run` blocks the thread that calls it; `call` is for coroutines inside."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[R] | None = None
        self._result: R | None = None
        self._error: BaseException | None = None

    def run(self, make: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """What the coroutine returns or raises."""
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._run, make), name="flowgauge-bench", daemon=True)
        thread.start()
        try:
            while (work := self._asked.get()) is not None:
                work()
        except BaseException:
            self._cancel()
            thread.join(PATIENCE_S)
            raise
        thread.join()
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # it is set where there is no error

    async def call(self, function: Callable[[], T]) -> T:
        """Call a function in the thread that waits in `run`."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            try:
                value = function()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - it is raised where the call was made
                _tell(loop, answer, error=error)
            else:
                _tell(loop, answer, value=value)

        self._asked.put(work)
        return await answer

    def _run(self, make: Callable[[], Coroutine[Any, Any, R]]) -> None:
        async def main() -> R:
            self._loop = asyncio.get_running_loop()
            self._task = asyncio.current_task()
            return await make()

        try:
            self._result = asyncio.run(main())
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            self._error = error
        finally:
            self._asked.put(None)

    def _cancel(self) -> None:
        if self._loop is not None and self._task is not None:
            try:
                self._loop.call_soon_threadsafe(self._task.cancel)
            except RuntimeError:
                return  # it is over already


def _tell(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Any], value: Any = None, error: BaseException | None = None) -> None:
    def settle() -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(value)

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        return  # nobody waits any more
