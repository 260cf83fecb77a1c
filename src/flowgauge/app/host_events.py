"""Events: published by what runs here, kept in a log, heard by whoever listens.

Every event has an id that grows. A listener gives the last id that it has seen
and gets all that came after, then what comes: also what other hosts on the same
log publish. One who is too slow is let go, and comes back with its last id.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

import msgspec

from flowgauge.errors import StoreFailure
from flowgauge.model.bench import BenchRecord
from flowgauge.model.play import PlayEvent
from flowgauge.model.service import Event, EventRange
from flowgauge.model.workflow import Json

log = logging.getLogger(__name__)
KEPT = 10_000
MISSED = "events_missed"
"""The kind of what tells a listener that events are gone which it has not seen; it goes on with what comes after."""
QUEUED = 5_000
"""Events that wait for one listener, or for the log, at the most."""
PAGE = 1000
LOOK_S = 1.0
"""How often the log is looked at for what other hosts have added."""
_OF_PLAY = ("workflow_sid", "version_sid", "name", "status", "duration_ms", "retries", "tokens_prompt", "tokens_completion", "cost_usd")
_OF_RUN = ("node_id", "attempt", "status", "started_at", "duration_ms", "tokens_prompt", "tokens_completion", "cost_usd")


class EventLog(Protocol):
    """Where events are kept. Called in a thread. Once an event can be read, none with a smaller id appears any more."""

    def append_events(self, news: Sequence[Event]) -> object:
        """Keep them, each under the next id; the ids that they come with say nothing."""

    def events_after(self, after_id: int, limit: int = PAGE, *, play_sid: str = "", bench_id: str = "") -> Sequence[Event]:
        """Later ones, oldest first; of one play or bench where one is named."""

    def last_event_id(self) -> int:
        """Of the newest; 0 where there is none."""

    def event_range(self) -> EventRange:
        """Which are kept."""


class MemoryLog:
    """`EventLog` for one process: the last events, gone with it."""

    def __init__(self) -> None:
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._last_id = 0

    def append_events(self, news: Sequence[Event]) -> None:
        """See `EventLog`."""
        for event in news:
            self._last_id += 1
            self._kept.append(msgspec.structs.replace(event, id=self._last_id))

    def events_after(self, after_id: int, limit: int = PAGE, *, play_sid: str = "", bench_id: str = "") -> Sequence[Event]:
        """See `EventLog`."""
        asked = (event for event in tuple(self._kept) if event.id > after_id)
        named = (event for event in asked if play_sid in ("", event.play_sid) and bench_id in ("", event.bench_id))
        return [event for _, event in zip(range(limit), named, strict=False)]

    def last_event_id(self) -> int:
        """See `EventLog`."""
        return self._last_id

    def event_range(self) -> EventRange:
        """See `EventLog`."""
        kept = tuple(self._kept)
        return EventRange(first_id=kept[0].id if kept else self._last_id + 1, last_id=self._last_id)


class Hub:
    """One to a host. `run` is its own task: it writes what was published and hands on what is new in the log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._published: deque[Event] = deque(maxlen=QUEUED)
        self._wake = asyncio.Event()
        self._listeners: set[asyncio.Queue[Event | None]] = set()
        self._handed_on = 0
        """The last id that went to the listeners; only kept while there are any."""
        self._closed = False

    def publish(self, kind: str, *, play_sid: str = "", bench_id: str = "", data: Json = None) -> None:
        """Tell everybody. Never blocks; where the log cannot keep up for long, the oldest of what waits is lost.

        Raises TypeError for data that is no JSON: one event that can never be kept would hold up all others.
        """
        msgspec.json.encode(data)
        self._published.append(Event(id=0, kind=kind, at=time.time_ns() // 1_000_000, play_sid=play_sid, bench_id=bench_id, data=data))
        self._wake.set()

    async def listen(self, after_id: int | None = None) -> AsyncGenerator[Event, None]:
        """All after that id, and then on and on; None: from now. Ends when the host stops, or the listener is too slow.

        Where not all of it is kept any more, the first is `events_missed`.
        """
        kept = await asyncio.to_thread(self._log.event_range)
        if not self._listeners:
            self._handed_on = kept.last_id
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        if not self._closed:
            self._listeners.add(queue)
        seen = kept.last_id if after_id is None else after_id
        try:
            if (notice := missed(kept, seen)) is not None:
                seen = notice.id
                yield notice
            while past := await asyncio.to_thread(self._log.events_after, seen):
                for event in past:
                    seen = event.id
                    yield event
            while queue in self._listeners or not queue.empty():
                if (new := await queue.get()) is None:
                    return
                if new.id > seen:
                    seen = new.id
                    yield new
        finally:
            self._listeners.discard(queue)

    async def after(self, after_id: int, *, limit: int, wait_s: float = 0.0, play_sid: str = "", bench_id: str = "") -> Sequence[Event]:
        """What is kept of later events, after `events_missed` where that is not all; where there is none, wait so long for one."""
        kept = await asyncio.to_thread(self._log.event_range)
        notice = missed(kept, after_id)
        after_id = notice.id if notice else after_id
        found = await asyncio.to_thread(self._log.events_after, after_id, limit, play_sid=play_sid, bench_id=bench_id)
        if notice:
            return (notice, *found)[:limit]
        if found or not wait_s:
            return found
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s), contextlib.aclosing(self.listen(max(kept.last_id, after_id))) as news:
                async for event in news:
                    if play_sid in ("", event.play_sid) and bench_id in ("", event.bench_id):
                        break
        return await asyncio.to_thread(self._log.events_after, after_id, limit, play_sid=play_sid, bench_id=bench_id)

    async def last_id(self) -> int:
        """Of the newest event that is kept."""
        return await asyncio.to_thread(self._log.last_event_id)

    async def run(self) -> None:
        """Until it is cancelled. What the log does not take is tried again."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._wake.wait()
            self._wake.clear()
            try:
                await self._keep()
                await self._hand_on()
            except StoreFailure as error:
                log.warning("events wait for the store: %s", error)
                await asyncio.sleep(LOOK_S)

    async def close(self) -> None:
        """Keep what is left, and let all listeners go."""
        with contextlib.suppress(StoreFailure):
            await self._keep()
            await self._hand_on()
        self._closed = True
        for queue in tuple(self._listeners):
            self._let_go(queue)

    async def _keep(self) -> None:
        """Taken off before it is written: whoever is cut off in the middle leaves nothing to be written twice."""
        while self._published:
            some = [self._published.popleft() for _ in range(min(PAGE, len(self._published)))]
            try:
                await asyncio.to_thread(self._log.append_events, some)
            except StoreFailure:
                self._published.extendleft(reversed(some))
                raise

    async def _hand_on(self) -> None:
        while self._listeners and (new := await asyncio.to_thread(self._log.events_after, self._handed_on)):
            self._handed_on = new[-1].id
            for queue in tuple(self._listeners):
                self._hand(queue, new)

    def _hand(self, queue: asyncio.Queue[Event | None], new: Sequence[Event]) -> None:
        if queue.qsize() > QUEUED:
            self._let_go(queue)
            return
        for event in new:
            queue.put_nowait(event)

    def _let_go(self, queue: asyncio.Queue[Event | None]) -> None:
        """It still gets what waits for it, without a gap."""
        self._listeners.discard(queue)
        queue.put_nowait(None)


class Subjects(Protocol):
    """What is asked whether a play or a bench is there: the store."""

    def get_play(self, sid: str, /) -> object:
        """Raises NotFound."""

    def get_bench(self, ref: str, /) -> BenchRecord:
        """Raises NotFound."""

    def events_after(self, after_id: int, limit: int = PAGE, *, play_sid: str = "", bench_id: str = "") -> Sequence[Event]:
        """As of `EventLog`."""


def known_subject(store: Subjects, play_sid: str, bench_id: str) -> str:
    """The whole id of the bench. Raises NotFound for a play or bench that is not there: of it nothing would ever be told.

    One that was deleted is known as long as events of it are kept.
    """
    if play_sid and not store.events_after(0, 1, play_sid=play_sid):
        store.get_play(play_sid)
    if not bench_id or store.events_after(0, 1, bench_id=bench_id):
        return bench_id
    return store.get_bench(bench_id).bench_id


def missed(kept: EventRange, after_id: int) -> Event | None:
    """For somebody who cannot be told all that came after what it saw last. Who saw nothing (0) asks for whatever is kept."""
    if not after_id or not kept.misses(after_id):
        return None
    up_to = min(max(after_id, kept.first_id - 1), kept.last_id)
    data: dict[str, Json] = {"after": after_id, "first_id": kept.first_id, "last_id": kept.last_id}
    return Event(id=up_to, kind=MISSED, at=time.time_ns() // 1_000_000, data=data)


def data_of(event: PlayEvent) -> dict[str, Json]:
    """What listeners are told of a play: figures, not what a model said."""
    if event.play is not None:
        play = event.play
        failure = play.error.message if play.error else ""
        return {name: getattr(play, name) for name in _OF_PLAY} | {"error": failure}
    if event.run is not None:
        run = event.run
        failure = run.error.message if run.error else ""
        return {name: getattr(run, name) for name in _OF_RUN} | {"error": failure}
    return {"node_id": event.node_id}
