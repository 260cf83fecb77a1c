"""Writes of plays that a bench does not wait for one by one."""

from __future__ import annotations

import asyncio

import pytest

from flowgauge.errors import Conflict, StoreFailure
from flowgauge.run.targets.owed import Owed


async def written() -> None:
    await asyncio.sleep(0)


async def refused() -> None:
    raise StoreFailure("The disk is full.", remedy="Make room.")


async def taken_over() -> None:
    raise Conflict("Another process has it.")


def test_closing_waits_for_every_write() -> None:
    ended: list[int] = []

    async def write(number: int) -> None:
        await asyncio.sleep(0)
        ended.append(number)

    async def scene() -> None:
        owed = Owed()
        owed.add([write(1), write(2)])
        owed.add([write(3)])
        await owed.close()

    asyncio.run(scene())
    assert ended == [1, 2, 3]


def test_a_write_that_failed_is_told_to_the_next_trial_and_at_the_end() -> None:
    async def scene() -> None:
        owed = Owed()
        owed.check()
        owed.add([refused(), written()])
        await asyncio.sleep(0.01)
        with pytest.raises(StoreFailure, match="disk is full"):
            owed.check()
        with pytest.raises(StoreFailure, match="disk is full"):
            await owed.close()

    asyncio.run(scene())


def test_a_play_that_another_process_took_over_is_no_failure_of_the_store() -> None:
    async def scene() -> None:
        owed = Owed()
        owed.add([taken_over(), written()])
        await owed.close()

    asyncio.run(scene())


def test_nothing_owed_is_nothing_to_wait_for() -> None:
    asyncio.run(Owed().close())
