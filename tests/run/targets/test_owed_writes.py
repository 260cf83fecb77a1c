"""Writes of plays that a bench does not wait for one by one."""

from __future__ import annotations

import asyncio

import pytest

from flowgauge.errors import Conflict, StoreFailure
from flowgauge.run.targets.owed import Owed

FULL = StoreFailure("The disk is full.", remedy="Make room.")


def write(error: Exception | None = None) -> asyncio.Future[None]:
    """One that is over."""
    receipt: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    if error is None:
        receipt.set_result(None)
    else:
        receipt.set_exception(error)
    return receipt


def test_closing_waits_for_every_write() -> None:
    async def scene() -> bool:
        owed, last = Owed(), asyncio.get_running_loop().create_future()
        owed.add([write(), write()])
        owed.add([last])
        closing = asyncio.create_task(owed.close())
        await asyncio.sleep(0)
        early = closing.done()
        last.set_result(None)
        await closing
        return early

    assert asyncio.run(scene()) is False


def test_a_write_that_failed_is_told_to_the_next_trial_and_at_the_end() -> None:
    async def scene() -> None:
        owed = Owed()
        owed.check()
        owed.add([write(FULL), write()])
        for _ in range(2):
            with pytest.raises(StoreFailure, match="disk is full"):
                owed.check()
        with pytest.raises(StoreFailure, match="disk is full"):
            await owed.close()

    asyncio.run(scene())


def test_a_write_that_fails_while_it_is_waited_for_at_the_end_is_told() -> None:
    async def scene() -> None:
        owed, late = Owed(), asyncio.get_running_loop().create_future()
        owed.add([late])
        asyncio.get_running_loop().call_soon(late.set_exception, FULL)
        with pytest.raises(StoreFailure, match="disk is full"):
            await owed.close()

    asyncio.run(scene())


def test_a_write_that_is_under_way_holds_no_trial_up() -> None:
    async def scene() -> None:
        owed, under_way = Owed(), asyncio.get_running_loop().create_future()
        owed.add([under_way])
        owed.check()
        under_way.set_result(None)
        await owed.close()

    asyncio.run(scene())


def test_a_play_that_another_process_took_over_is_no_failure_of_the_store() -> None:
    async def scene() -> None:
        owed = Owed()
        owed.add([write(Conflict("Another process has it.")), write()])
        owed.check()
        owed.add([write(Conflict("Another process has it."))])
        await owed.close()

    asyncio.run(scene())


def test_nothing_owed_is_nothing_to_wait_for() -> None:
    asyncio.run(Owed().close())
