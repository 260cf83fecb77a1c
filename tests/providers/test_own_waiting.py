"""Waiting of our own is told apart from the model's time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from flowgauge.model.exchange import Message, ModelRequest
from flowgauge.providers.gateway import LiveGateway
from flowgauge.providers.limits.settings import Limits
from flowgauge.providers.wire.turns import A_ROUND, Turns

ANSWER = b'{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}'
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)


async def answer_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while not reader.at_eof():
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        writer.write(RESPONSE)


def test_the_time_that_an_answer_waits_for_a_busy_event_loop_is_queueing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    busy_s = 0.2

    async def ask() -> tuple[float, float]:
        server = await asyncio.start_server(answer_at_once, "127.0.0.1", 0)
        base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        request = ModelRequest(provider="openai", model="m", messages=(Message(role="user", text="?"),), base_url=base_url)
        async with LiveGateway(limits=Limits()) as gateway:
            await gateway.complete(request)
            turns = gateway._wire._turns  # type: ignore[union-attr]
            give = turns.give

            def busy(*what: Any) -> None:
                time.sleep(busy_s)
                give(*what)

            monkeypatch.setattr(turns, "give", busy)
            response = await gateway.complete(request)
        server.close()
        return response.duration_ms, response.queue_ms

    duration_ms, queue_ms = asyncio.run(ask())
    assert queue_ms >= busy_s * 1000
    assert duration_ms >= 0


def test_no_more_than_a_round_of_answers_is_worked_on_between_two_looks_at_the_sockets() -> None:
    looks: list[int] = []
    worked = 0

    async def work(turns: Turns) -> None:
        nonlocal worked
        await turns.take()
        worked += 1

    async def all_at_once() -> None:
        turns = Turns()
        tasks = [asyncio.create_task(work(turns)) for _ in range(5 * A_ROUND)]
        while not all(task.done() for task in tasks):
            before = worked
            await asyncio.sleep(0)
            looks.append(worked - before)

    asyncio.run(all_at_once())
    assert worked == 5 * A_ROUND
    assert max(looks) <= A_ROUND


def test_a_turn_that_is_given_up_does_not_hold_up_those_behind_it() -> None:
    async def scene() -> int:
        turns = Turns()
        tasks = [asyncio.create_task(turns.take()) for _ in range(3 * A_ROUND)]
        await asyncio.sleep(0)
        for task in tasks[A_ROUND : 2 * A_ROUND]:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        return sum(1 for one in ended if one is None)

    assert asyncio.run(scene()) == 2 * A_ROUND


def test_turns_can_be_taken_again_when_all_were_given_up() -> None:
    async def scene() -> None:
        turns = Turns()
        tasks = [asyncio.create_task(turns.take()) for _ in range(3 * A_ROUND)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(3 * A_ROUND):
            await asyncio.wait_for(turns.take(), 5)

    asyncio.run(scene())
