"""A real server on loopback that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from flowgauge.errors import Failed
from flowgauge.model.exchange import Message, ModelRequest
from flowgauge.model.play import Failure
from flowgauge.providers.provider import Provider, Reply
from flowgauge.providers.wire.transport import Wire

Respond = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Seen(msgspec.Struct):
    """One request that the server got."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Outcome(msgspec.Struct):
    """What came of an exchange."""

    reply: Reply | None = None
    failure: Failure | None = None
    error: Failed | None = None
    seen: list[Seen] = []
    texts: list[str] = []

    @property
    def good(self) -> Reply:
        assert self.reply is not None, self.failure
        return self.reply

    @property
    def bad(self) -> Failure:
        assert self.failure is not None, self.reply
        return self.failure

    @property
    def body(self) -> dict[str, Any]:
        return self.seen[-1].body


@asynccontextmanager
async def serving(respond: Respond, seen: list[Seen] | None = None) -> AsyncIterator[str]:
    """The server's address, without a path."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if seen is not None:
            body = msgspec.json.decode(await request.read())
            headers = {name.lower(): value for name, value in request.headers.items()}
            seen.append(Seen(path=request.path_qs, headers=headers, body=body))
        return await respond(request)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def exchange(make: Callable[[Wire], Provider], request: ModelRequest, respond: Respond, *, path: str = "/v1") -> Outcome:
    """One call of a provider against a server that answers so."""

    async def play() -> Outcome:
        outcome = Outcome(seen=[], texts=[])
        wire = Wire()
        provider = make(wire)
        async with serving(respond, outcome.seen) as address:
            try:
                asked = msgspec.structs.replace(request, base_url=address + path)
                outcome.reply = await provider.complete(asked, on_text=outcome.texts.append)
            except Failed as error:
                outcome.failure, outcome.error = error.failure, error
            finally:
                await provider.close()
                await wire.close()
        return outcome

    return asyncio.run(play())


def answers(body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Respond:
    """Always this."""
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)

    async def respond(_: web.Request) -> web.StreamResponse:
        return web.Response(body=content, status=status, headers=headers, content_type="application/json")

    return respond


def streams(events: Sequence[str], *, cut: bool = False) -> Respond:
    """Server-sent events, each as it stands; `cut` closes the connection in the middle."""

    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in events:
            await response.write(event.encode())
        if cut:
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write_eof()
        return response

    return respond


async def hangs(_: web.Request) -> web.StreamResponse:
    """Never answers."""
    await asyncio.sleep(3600)
    raise AssertionError


async def hangs_up(request: web.Request) -> web.StreamResponse:
    """Closes the connection without a word."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def breaks_off(request: web.Request) -> web.StreamResponse:
    """Promises more than it sends."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.close()
    return response


def user(text: str = "Say hello.") -> tuple[Message, ...]:
    return (Message(role="user", text=text),)
