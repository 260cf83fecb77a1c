"""Connections that are kept open: one request at a time on each, the body of its answer as a whole.

In: an address, the head and the body of a request. Out: the answer, with the
moment at which it was all here. There is no limit to how many are open: how many
requests run at once is the limiter's business. Nothing is sent twice. Only what
is on a connection when nobody has asked for it makes it useless.

Why not aiohttp here: a request through it costs 120 µs more of this process's
time, and with a hundred calls at once such time is taken from the model's.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Sequence
from functools import cache
from time import perf_counter
from typing import Final, NamedTuple

from aiohappyeyeballs import AddrInfoType, start_connection

from flowgauge.providers.wire.http_answer import AnswerReader, BadAnswer
from flowgauge.providers.wire.turns import Turns

KEEP_ALIVE_S: Final = 20.0
ADDRESSES_GOOD_S: Final = 10.0
EYEBALLS_S: Final = 0.25
"""How long one address is tried before the next one is tried beside it."""
JOINED_BYTES: Final = 64 * 2**10
"""Smaller bodies are sent in one piece with their head."""

Lookup = asyncio.Future[Sequence[AddrInfoType]]


class CutOff(Exception):
    """An answer that ended before it was whole."""


class Place(NamedTuple):
    """What connections are kept for."""

    host: str
    port: int
    tls: bool


class Answered(NamedTuple):
    """A whole answer, and when the last of it came in, by time.perf_counter."""

    answer: AnswerReader
    received_s: float


class Connections:
    """All that are open, by place. Belongs to the event loop of its first request."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._idle: dict[Place, deque[Connection]] = {}
        self._open: set[Connection] = set()
        self._addresses: dict[Place, tuple[float, Lookup]] = {}

    async def post(self, place: Place, head: bytes, body: bytes, timeout_s: float) -> Answered:
        """One exchange. Raises TimeoutError, OSError, CutOff and BadAnswer."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + timeout_s
        connection = self._kept(place, loop.time())
        if connection is None:
            async with asyncio.timeout_at(until_s):
                connection = await self._connect(loop, place)
        answer = connection.ask(loop, head, body)
        timer = loop.call_at(until_s, connection.too_late, answer)
        try:
            return await answer
        finally:
            timer.cancel()
            connection.forget(answer)

    async def close(self) -> None:
        """Let go of all of them."""
        for connection in list(self._open):
            connection.close()
        self._idle.clear()
        await asyncio.sleep(0)  # the sockets are closed in the loop's next turn

    def keep(self, connection: Connection, now_s: float) -> None:
        """Another request may use it. Those that nobody used for long are let go."""
        kept = self._idle.setdefault(connection.place, deque())
        connection.idle_since_s = now_s
        kept.append(connection)
        while kept and now_s - kept[0].idle_since_s > KEEP_ALIVE_S:
            kept.popleft().close()

    def gone(self, connection: Connection) -> None:
        """It has ended."""
        self._open.discard(connection)

    def _kept(self, place: Place, now_s: float) -> Connection | None:
        """The one that was used last: the others may grow old."""
        kept = self._idle.get(place)
        while kept:
            connection = kept.pop()
            if connection.usable and now_s - connection.idle_since_s <= KEEP_ALIVE_S:
                return connection
            connection.close()
        return None

    async def _connect(self, loop: asyncio.AbstractEventLoop, place: Place) -> Connection:
        try:
            found = await start_connection(await self._found(loop, place), happy_eyeballs_delay=EYEBALLS_S)
            _, connection = await loop.create_connection(
                lambda: Connection(self, place, self._turns),
                sock=found,
                ssl=_tls() if place.tls else None,
                server_hostname=place.host if place.tls else None,
            )
        except OSError as error:
            raise ConnectionError(f"cannot connect to {place.host}:{place.port}: {error.strerror or error}") from error
        self._open.add(connection)
        return connection

    async def _found(self, loop: asyncio.AbstractEventLoop, place: Place) -> Sequence[AddrInfoType]:
        """Looked up once for all who ask at the same time."""
        until_s, looking = self._addresses.get(place, (0.0, None))
        if looking is None or loop.time() > until_s:
            looking = loop.create_task(_lookup(loop, place))
            self._addresses[place] = (loop.time() + ADDRESSES_GOOD_S, looking)
        try:
            return await asyncio.shield(looking)
        except OSError:
            self._addresses.pop(place, None)
            raise


class Connection(asyncio.Protocol):
    """One of them."""

    def __init__(self, owner: Connections, place: Place, turns: Turns) -> None:
        self.place = place
        self.idle_since_s = 0.0
        self._owner = owner
        self._turns = turns
        self._transport: asyncio.Transport | None = None
        self._reader = AnswerReader()
        self._asked: asyncio.Future[Answered] | None = None

    @property
    def usable(self) -> bool:
        """Can a request be sent?"""
        return self._transport is not None and not self._transport.is_closing()

    def ask(self, loop: asyncio.AbstractEventLoop, head: bytes, body: bytes) -> asyncio.Future[Answered]:
        """Send a request; the answer to come."""
        transport = self._transport
        asked: asyncio.Future[Answered] = loop.create_future()
        if transport is None:
            asked.set_exception(ConnectionResetError("the server hung up"))
            return asked
        self._asked, self._reader = asked, AnswerReader()
        if len(body) < JOINED_BYTES:
            transport.write(head + body)
        else:
            transport.write(head)
            transport.write(body)
        return asked

    def too_late(self, asked: asyncio.Future[Answered]) -> None:
        """The answer should be here by now. If it is, the connection may serve another request."""
        if self._asked is asked:
            self._fail(TimeoutError())

    def forget(self, asked: asyncio.Future[Answered]) -> None:
        """Nobody waits any longer: an answer that is still to come must not be taken for another's."""
        if self._asked is asked:
            self._asked = None
            self.close()

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Something came in."""
        received_s = perf_counter()
        if self._asked is None:
            self.close()  # nobody has asked
            return
        try:
            if not self._reader.feed(data):
                return
        except BadAnswer as error:
            self._fail(error)
            return
        self._answer(received_s)

    def connection_lost(self, error: Exception | None) -> None:
        """The other side hung up, or we did."""
        received_s = perf_counter()
        self._transport = None
        self._owner.gone(self)
        if self._asked is None:
            return
        try:
            whole = error is None and self._reader.closed()
        except BadAnswer as bad:
            self._fail(bad)
            return
        if whole:
            self._answer(received_s)
        elif self._reader.began:
            self._fail(CutOff(str(error or "the server hung up in the middle of it")))
        else:
            self._fail(error if isinstance(error, OSError) else ConnectionResetError("the server hung up"))

    def _answer(self, received_s: float) -> None:
        asked, transport = self._asked, self._transport
        assert asked is not None
        self._asked = None
        self._turns.give(asked, Answered(self._reader, received_s))
        if self._reader.reusable and transport is not None and not transport.get_write_buffer_size():
            self._owner.keep(self, asked.get_loop().time())
        else:
            self.close()

    def _fail(self, error: Exception) -> None:
        asked, self._asked = self._asked, None
        if asked is not None and not asked.done():
            asked.set_exception(error)
        self.close()


async def _lookup(loop: asyncio.AbstractEventLoop, place: Place) -> Sequence[AddrInfoType]:
    return await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)


@cache
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(("http/1.1",))
    return context
