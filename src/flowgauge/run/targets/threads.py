"""Plain functions in threads that live on, as many as trials run at once.

A function that hangs keeps its thread, and python cannot kill it: whoever gave
up waiting gets a new thread in its place. The threads are daemons: none of them
holds up the end of the program. The time a function waits for a thread and the
way back are not its own.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any


class Call:
    """One call, on its way through a thread."""

    __slots__ = ("answer", "arguments", "begun", "context", "duration_ms", "error", "function", "given_up", "over", "value")

    def __init__(self, function: Callable[..., Any], arguments: Mapping[str, Any], answer: asyncio.Future[None]) -> None:
        self.function = function
        self.arguments = arguments
        self.answer = answer
        self.context = contextvars.copy_context()
        self.value: Any = None
        self.error: BaseException | None = None
        self.begun = 0.0
        self.duration_ms = 0.0
        self.given_up = False
        self.over = False

    def make(self) -> None:
        """Call the function, in its thread."""
        try:
            self.value = self.context.run(self.function, **self.arguments)
        except BaseException as error:  # noqa: BLE001 - it is handed to whoever waits, who decides
            self.error = error
        self.duration_ms = (time.perf_counter() - self.begun) * 1000.0


class Threads:
    """A pool for one event loop."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._waiting: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._over: list[Call] = []
        self._woken = False
        self._lock = threading.Lock()
        self._threads = 0
        """Those that are ours; a thread whose call was given up is not."""
        self._under_way = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Call:
        """The call when it is over; what it raised is in it."""
        self._loop = self._loop or asyncio.get_running_loop()
        call = Call(function, arguments, self._loop.create_future())
        self._under_way += 1
        if self._threads < min(self._under_way, self._size):
            self._threads += 1
            threading.Thread(target=self._work, name="flowgauge-target", daemon=True).start()
        self._waiting.put(call)
        try:
            await call.answer
        except asyncio.CancelledError:
            self._give_up(call)
            raise
        finally:
            self._under_way -= 1
        return call

    def close(self) -> None:
        """Let the threads end, those that can."""
        for _ in range(self._threads):
            self._waiting.put(None)

    def _give_up(self, call: Call) -> None:
        with self._lock:
            call.given_up = True
            if call.begun and not call.over:
                self._threads -= 1

    def _work(self) -> None:
        while (call := self._waiting.get()) is not None:
            if self._begin(call):
                call.make()
                if not self._hand_back(call):
                    return

    def _begin(self, call: Call) -> bool:
        """False where nobody waits for it any more."""
        with self._lock:
            if not call.given_up:
                call.begun = time.perf_counter()
            return not call.given_up

    def _hand_back(self, call: Call) -> bool:
        """False where another thread has taken this one's place. All that end while the loop is being woken share one wake-up."""
        assert self._loop is not None
        with self._lock:
            if call.given_up:
                return False
            call.over = True
            self._over.append(call)
            if self._woken:
                return True
            self._woken = True
        try:
            self._loop.call_soon_threadsafe(self._tell)
        except RuntimeError:
            return False  # the loop is closed: nobody waits any more
        return True

    def _tell(self) -> None:
        with self._lock:
            self._woken = False
            over, self._over = self._over, []
        for call in over:
            if not call.answer.done():
                call.answer.set_result(None)
