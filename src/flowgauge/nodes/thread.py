"""Runs a plain function in a thread of its own, and never waits for it again once nobody wants its answer.

Python cannot kill a thread. The pool of `asyncio.to_thread` would be joined
when the loop and the interpreter end, so one hung function would hang the whole
program; these threads are daemons and are left behind.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any


async def in_thread(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """The function's answer, or what it raised."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            value, error = context.run(function, **arguments), None
        except BaseException as raised:  # noqa: BLE001 - it is handed to whoever waits, as a call would raise it
            value, error = None, raised
        try:
            loop.call_soon_threadsafe(_resolve, answer, value, error)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    threading.Thread(target=work, name=f"flowgauge-call-{getattr(function, '__name__', '')}", daemon=True).start()
    return await answer


def _resolve(answer: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(value)
    elif isinstance(error, StopIteration | asyncio.CancelledError | KeyboardInterrupt | SystemExit):
        answer.set_exception(RuntimeError(f"{type(error).__name__} was raised: {error}"))  # a future cannot carry these
    else:
        answer.set_exception(error)
