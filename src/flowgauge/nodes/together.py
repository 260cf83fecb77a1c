"""Several coroutines at once, as one: the first that fails ends the others, and its error is what is raised."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import TypeVar

Answer = TypeVar("Answer")


async def together(work: Iterable[Coroutine[object, object, Answer]]) -> list[Answer]:
    """Their answers, in order. No error is wrapped in a group, and none is left running."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as several:
        raise first_error(several) from None
    return [task.result() for task in tasks]


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first plain error in a group, however deep."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
