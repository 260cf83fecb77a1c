"""HTTP for all wire dialects: kept-alive connections, bytes in and bytes out.

In: a URL, headers and a body. Out: the body of a 200, or the data of its server-sent
events as they come. Everything else is errors.Failed. It follows no redirect (a key
must not travel on), keeps no cookie and retries nothing. Streams and what goes through
a proxy are aiohttp's; answers that come whole are read by ourselves.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import AsyncGenerator, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import aiohttp
import msgspec
from yarl import URL

from flowgauge._version import __version__
from flowgauge.providers.wire import http_failures
from flowgauge.providers.wire.arrival import StampingConnector, received_at
from flowgauge.providers.wire.connections import KEEP_ALIVE_S, Connections, CutOff, Place
from flowgauge.providers.wire.http_answer import ACCEPTED_ENCODINGS, BadAnswer
from flowgauge.providers.wire.http_failures import Caller
from flowgauge.providers.wire.turns import Turns

TIMEOUT_S: Final = 600.0
LONGEST_EVENT: Final = 32 * 2**20
_BROKEN: Final = (aiohttp.ClientError, TimeoutError, OSError)


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One POST that is ready to go."""

    caller: Caller
    url: str
    headers: dict[str, str]
    body: bytes
    timeout_s: float = TIMEOUT_S


class Received(NamedTuple):
    """A body, and how long it was here before we looked at it."""

    body: bytes
    late_ms: float


class Route(NamedTuple):
    """How an address is reached."""

    url: URL
    proxy: str | None
    place: Place | None
    """None: by aiohttp."""
    head: bytes
    """The part of a request's head that is always the same."""


class Wire:
    """All connections. Opened by the first call, in that call's event loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._turns = Turns()
        self._connections = Connections(self._turns)

    async def post(self, call: Call) -> Received:
        """The body of a 200."""
        route = _route(call.url)
        if route.place is None:
            return await self._post_by_aiohttp(call)
        try:
            answered = await self._connections.post(route.place, _head(route, call), call.body, call.timeout_s)
        except BadAnswer as error:
            raise http_failures.malformed(call.caller, str(error), b"") from error
        except CutOff as error:
            raise http_failures.cut_off(call.caller, str(error)) from error
        except OSError as error:
            raise http_failures.of_exception(call.caller, error, call.timeout_s) from error
        answer = answered.answer
        if answer.status != 200:
            raise http_failures.of_status(call.caller, answer.status, answer.headers(), answer.body)
        return Received(answer.body, (time.perf_counter() - answered.received_s) * 1000)

    async def _post_by_aiohttp(self, call: Call) -> Received:
        try:
            async with self._send(call) as response:
                body = await response.read()
                received_s = received_at(response)
                await self._turns.take()
        except _BROKEN as error:
            raise http_failures.of_exception(call.caller, error, call.timeout_s) from error
        if response.status != 200:
            raise http_failures.of_status(call.caller, response.status, response.headers, body)
        return Received(body, (time.perf_counter() - received_s) * 1000)

    async def events(self, call: Call) -> AsyncGenerator[bytes, None]:
        """The data of each server-sent event of a 200."""
        try:
            async with self._send(call) as response:
                if response.status != 200:
                    raise http_failures.of_status(call.caller, response.status, response.headers, await response.read())
                parser = EventParser()
                async for chunk in response.content.iter_any():
                    for event in parser.feed(chunk):
                        yield event
                    if parser.pending > LONGEST_EVENT:
                        raise http_failures.malformed(call.caller, "an event of more than 32 MiB", b"")
        except _BROKEN as error:
            raise http_failures.of_exception(call.caller, error, call.timeout_s) from error

    async def close(self) -> None:
        """Let go of all connections."""
        await self._connections.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _send(self, call: Call) -> aiohttp.client._RequestContextManager:
        session = self._session or self._open()
        route, timeout = _route(call.url), _timeout(call.timeout_s)
        return session.post(route.url, data=call.body, headers=call.headers, timeout=timeout, allow_redirects=False, proxy=route.proxy)

    def _open(self) -> aiohttp.ClientSession:
        connector = StampingConnector(keepalive_timeout_s=KEEP_ALIVE_S)
        self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session


class EventParser:
    """Server-sent events from chunks that are cut anywhere. Fields other than data are left out."""

    def __init__(self) -> None:
        self._tail = b""
        self._data: list[bytes] = []

    @property
    def pending(self) -> int:
        """Bytes that are held back until their event is whole."""
        return len(self._tail) + sum(map(len, self._data))

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of each event that the chunk completes."""
        lines = (self._tail + chunk).split(b"\n")
        self._tail = lines.pop()
        for line in lines:
            content = line.rstrip(b"\r")
            if content.startswith(b"data:"):
                self._data.append(content[5:].removeprefix(b" "))
            elif not content and self._data:
                event = b"\n".join(self._data)
                self._data.clear()
                yield event


@lru_cache(maxsize=256)
def _timeout(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds)


@lru_cache(maxsize=256)
def _route(address: str) -> Route:
    """The parsed address, and the proxy that the environment names for it."""
    url = URL(address)
    bypass = not url.host or urllib.request.proxy_bypass(url.host)
    proxy = None if bypass else urllib.request.getproxies().get(url.scheme)
    if proxy or not url.raw_host or not url.port or url.user:
        return Route(url, proxy, None, b"")
    lines = (
        f"POST {url.raw_path_qs} HTTP/1.1",
        f"Host: {url.host_port_subcomponent}",
        "Accept: */*",
        f"Accept-Encoding: {ACCEPTED_ENCODINGS}",
        f"User-Agent: flowgauge/{__version__}",
    )
    return Route(url, None, Place(url.raw_host, url.port, url.scheme == "https"), "\r\n".join(lines).encode())


def _head(route: Route, call: Call) -> bytes:
    """With the headers of this call; the key is never kept."""
    own = "".join(f"\r\n{name}: {value}" for name, value in call.headers.items())
    return b"%b%b\r\nContent-Length: %d\r\n\r\n" % (route.head, own.encode("latin-1"), len(call.body))
