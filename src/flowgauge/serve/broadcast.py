"""Events from one host to many listeners.

While anybody listens, one task follows the host, writes each event down once
and hands the bytes to all who want it. A listener that falls too far behind is
let go and told so; it comes back with the id that it saw last.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.host_events import MISSED
from flowgauge.errors import Conflict, NotAllowed, StoreFailure
from flowgauge.model.service import Event

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.serve.limits import Limits

BEAT = b": still here\n\n"
STOPPING = "The server stops."
TOO_SLOW = "Too slow: more events waited for this listener than the server keeps for one. Come back with the last id."
GONE = "gone"
BACKLOG_PAGE = 500
AGAIN_S = 1.0
Check = Callable[[], Awaitable[object]]
"""Raises NotAllowed once who listens may not any more."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Of which play or bench, and after which event; None: from now."""

    play_sid: str = ""
    bench_id: str = ""
    after: int | None = None

    def fits(self, event: Event) -> bool:
        """Whether an event is of what was asked for. That some are lost concerns everybody."""
        return event.kind == MISSED or (self.play_sid in ("", event.play_sid) and self.bench_id in ("", event.bench_id))


class Listener:
    """One stream: what waits for it, and why it ends."""

    def __init__(self, wanted: Wanted, most: int, check: Check) -> None:
        self.wanted = wanted
        self.reason = ""
        self._most = most
        self._check = check
        self._beating = False
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._wake = asyncio.Event()

    def put(self, event_id: int, written: bytes) -> None:
        """Never blocks."""
        if len(self._waiting) >= self._most:
            self.end(TOO_SLOW)
        elif not self.reason:
            self._waiting.append((event_id, written))
            self._wake.set()

    def beat(self) -> None:
        """Something to send, so that both sides see whether the other is there."""
        self._beating = True
        self._wake.set()

    def end(self, reason: str) -> None:
        """What waits is still sent."""
        self.reason = self.reason or reason
        self._wake.set()

    async def pieces(self, after: int) -> AsyncIterator[bytes]:
        """What comes, later than that id, until it ends. All that waits goes out in one piece."""
        while not self.reason:
            await self._wake.wait()
            self._wake.clear()
            piece = b"".join(written for event_id, written in self._waiting if event_id > after)
            self._waiting.clear()
            if self._beating:
                self._beating = False
                piece = piece or BEAT
                await self._ask()
            if piece:
                yield piece
        if self.reason != GONE:
            yield b"event: closed\ndata: " + msgspec.json.encode({"reason": self.reason}) + b"\n\n"

    async def _ask(self) -> None:
        """Whether who listens still may. A store that does not answer now is asked at the next beat."""
        try:
            await self._check()
        except NotAllowed as error:
            self.end(error.message)
        except StoreFailure:
            return


class Broadcast:
    """All listeners of one server."""

    def __init__(self, host: Host, limits: Limits) -> None:
        self._host = host
        self._limits = limits
        self._listeners: set[Listener] = set()
        self._last_id = 0
        """The newest that was handed on; only while somebody listens."""
        self._following: asyncio.Task[tuple[asyncio.Task[None], ...]] | None = None
        self._closed = False
        self.dropped = 0

    @property
    def listeners(self) -> int:
        """How many there are."""
        return len(self._listeners)

    @contextlib.asynccontextmanager
    async def joined(self, wanted: Wanted, check: Check) -> AsyncIterator[Listener]:
        """A listener for the length of a block. Raises Conflict where there are too many, or the server stops."""
        if self._closed or len(self._listeners) >= self._limits.listeners:
            raise Conflict("The server takes no more listeners now.", remedy="Come back later.")
        listener = Listener(wanted, self._limits.queued_events, check)
        self._listeners.add(listener)
        try:
            await self._follow()
            yield listener
        finally:
            self._listeners.discard(listener)
            self.dropped += listener.reason == TOO_SLOW
            await self._rest()

    async def written(self, listener: Listener) -> AsyncIterator[bytes]:
        """All that a listener is to be sent, in pieces: first what it has missed, then what comes."""
        edge = self._last_id
        seen = edge if listener.wanted.after is None else listener.wanted.after
        try:
            while seen != edge and (past := await self._past(listener.wanted, seen)):
                seen = past[-1].id
                yield b"".join(map(_written, past))
                if seen >= edge:
                    break
            else:
                seen = min(seen, edge)  # an id from another time hides nothing of what comes
        except StoreFailure as error:
            listener.end(error.message)
        async for piece in listener.pieces(seen):
            yield piece

    async def _past(self, wanted: Wanted, seen: int) -> Sequence[Event]:
        return await self._host.hub.after(seen, limit=BACKLOG_PAGE, play_sid=wanted.play_sid, bench_id=wanted.bench_id)

    def close(self, reason: str = STOPPING) -> None:
        """Tell all listeners that it is over."""
        self._closed = True
        for listener in self._listeners:
            listener.end(reason)

    async def _follow(self) -> None:
        """From before this returns, every event that is published gets to the listeners."""
        if self._following is None:
            self._following = asyncio.create_task(self._begin())
        await asyncio.shield(self._following)

    async def _begin(self) -> tuple[asyncio.Task[None], ...]:
        self._last_id = await self._host.hub.last_id()
        return asyncio.create_task(self._hand_on(), name="events"), asyncio.create_task(self._beat(), name="heartbeats")

    async def _rest(self) -> None:
        """Nobody listens any more: follow nothing."""
        following, self._following = (None, self._following) if self._listeners else (self._following, None)
        if following is not None:
            with contextlib.suppress(StoreFailure):
                for task in await following:
                    task.cancel()

    async def _hand_on(self) -> None:
        while not self._closed:
            with contextlib.suppress(StoreFailure):
                async with contextlib.aclosing(self._host.listen(self._last_id)) as events:
                    async for event in events:
                        self._hand(event)
            if self._host.stopping:
                self.close()
            else:
                await asyncio.sleep(AGAIN_S)

    def _hand(self, event: Event) -> None:
        self._last_id = event.id
        written = b""
        for listener in self._listeners:
            if listener.wanted.fits(event):
                written = written or _written(event)
                listener.put(event.id, written)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._limits.heartbeat_s)
            for listener in self._listeners:
                listener.beat()


def _written(event: Event) -> bytes:
    """As the stream has it. JSON holds no line breaks, and neither do our kinds."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.id, event.kind.encode(), msgspec.json.encode(event))
