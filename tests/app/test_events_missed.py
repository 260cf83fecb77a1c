"""Listeners who come back too late are told so, and go on with what there is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.app.scheduling import Server, serving

from flowgauge.app.host_events import MISSED, MemoryLog
from flowgauge.model.service import Event, EventRange


async def told(server: Server, count: int = 10) -> None:
    """So many events, of which the first four are gone."""
    server.store.append_events([Event(id=0, kind=f"k{number}", at=number, play_sid=f"pl_{number % 2}") for number in range(count)])
    server.store.prune_events(4)


async def heard(server: Server, after: int, count: int) -> list[tuple[int, str]]:
    found = []
    async for event in server.host.listen(after):
        found.append((event.id, event.kind))
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize(
    ("after", "first"),
    [
        pytest.param(2, [(4, MISSED), (5, "k4")], id="some that were not seen are gone"),
        pytest.param(4, [(5, "k4"), (6, "k5")], id="nothing is gone"),
        pytest.param(0, [(5, "k4"), (6, "k5")], id="who saw nothing asks for what is kept"),
    ],
)
def test_a_stream_begins_with_what_was_missed(store_url: str, after: int, first: list[tuple[int, str]]) -> None:
    async def main() -> None:
        async with serving(store_url) as server:
            await told(server)
            assert await heard(server, after, 2) == first
            asked = (await server.host.call("play_events", {"after": after, "limit": 2}))["items"]
            assert [(event["id"], event["kind"]) for event in asked] == first

    asyncio.run(main())


def test_an_id_of_another_store_is_told_and_the_stream_goes_on_from_now(store_url: str) -> None:
    async def main() -> None:
        async with serving(store_url) as server:
            await told(server)
            listening = asyncio.create_task(heard(server, 99, 2))
            hub = asyncio.create_task(server.host.hub.run())
            while not server.host.hub._listeners:
                await asyncio.sleep(0.01)
            server.host.publish("new")
            assert await listening == [(10, MISSED), (11, "new")]
            hub.cancel()
            answer: dict[str, Any] = await server.host.call("play_events", {"after": 99, "wait_s": 5})
            assert [event["kind"] for event in answer["items"]] == [MISSED]
            assert answer["items"][0]["data"] == {"after": 99, "first_id": 5, "last_id": 11}
            assert answer["last_id"] == 11

    asyncio.run(main())


def test_of_one_play_too_it_is_said_that_something_was_missed(tmp_path: Any) -> None:
    async def main() -> None:
        async with serving(str(tmp_path / "a.db")) as server:
            await told(server)
            answer = await server.host.call("play_events", {"after": 1, "sid": "pl_1"})
            assert [event["id"] for event in answer["items"]] == [4, 6, 8, 10]

    asyncio.run(main())


def test_events_in_memory_are_counted_alike() -> None:
    log = MemoryLog()
    assert log.event_range() == EventRange(first_id=1, last_id=0)
    log.append_events([Event(id=0, kind="a", at=1)] * 10_003)
    assert log.event_range() == EventRange(first_id=4, last_id=10_003)
