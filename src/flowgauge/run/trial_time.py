"""A time limit that holds even for work that does not stop when told to.

`asyncio.timeout` waits for ever for a coroutine that swallows its cancellation.
Here such work is left behind after a short grace, and its slot goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")
STUBBORN_S = 2.0
"""How long work that was told to stop may take to do so."""


async def in_time(work: Coroutine[Any, Any, Answer], timeout_s: float) -> Answer | None:
    """The answer, or None where it did not come in time. An answer that comes after that is late all the same."""
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait((task,), timeout=timeout_s)
    except asyncio.CancelledError:
        await cut_off(task)
        raise
    if done:
        return task.result()
    await cut_off(task)
    return None


async def cut_off(*tasks: asyncio.Task[Any]) -> None:
    """Tell tasks to stop and wait for them, but not for ever."""
    for task in tasks:
        task.add_done_callback(_heard)
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=STUBBORN_S)


def _heard(task: asyncio.Task[Any]) -> None:
    """Whatever it still says, nobody waits for it: say so to asyncio, which would complain."""
    if not task.cancelled():
        task.exception()
