"""The mock provider as a server that real client libraries take for their own.

OpenAI chat completions, Anthropic messages and the list of models, over HTTP.
The model's name picks the profile (`slow`, `mock/slow`); any other name gets
the default profile and is echoed, so that the real model's price applies.
Faults are real: a 429 with Retry-After, a body that is not JSON, a connection
that hangs or breaks. Listens on loopback; another host must be allowed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web

from flowgauge.errors import Failed, UsageError
from flowgauge.model.exchange import ModelRequest
from flowgauge.providers.mock.anthropic import AnthropicDialect
from flowgauge.providers.mock.dialect import Asked, BadRequest, Dialect
from flowgauge.providers.mock.openai import OpenAIDialect
from flowgauge.providers.mock.profiles import Fault, FaultKind, Profile
from flowgauge.providers.mock.provider import Decision, MockProvider, pieces

Profiles = Mapping[str, Profile] | str | Path | None
LARGEST_BODY_BYTES = 64 * 1024 * 1024
_JSON = {"Content-Type": "application/json"}
_EVENTS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
_CREATED = 1_735_689_600


def make_app(profiles: Profiles = None, provider: MockProvider | None = None) -> web.Application:
    """The application; `provider` is shared with whoever else holds it."""
    mock = provider or MockProvider(profiles=profiles)
    app = web.Application(client_max_size=LARGEST_BODY_BYTES)
    app.add_routes(
        [
            web.post("/v1/chat/completions", _Endpoint(mock, OpenAIDialect()).answer),
            web.post("/v1/messages", _Endpoint(mock, AnthropicDialect()).answer),
            web.get("/v1/models", _models(mock)),
        ]
    )
    return app


@asynccontextmanager
async def running_mock_server(
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    profiles: Profiles = None,
    provider: MockProvider | None = None,
    allow_remote: bool = False,
) -> AsyncIterator[str]:
    """A server for the length of a block; gives its base URL without /v1. Port 0 takes a free one."""
    _refuse_remote(host, allow_remote=allow_remote)
    runner = web.AppRunner(make_app(profiles, provider), access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=1024)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(
                f"The mock server cannot listen on {host}:{port}: {error.strerror}.", remedy="Choose another --port."
            ) from error
        address, bound = runner.addresses[0][:2]
        yield f"http://{f'[{address}]' if ':' in address else address}:{bound}"
    finally:
        await runner.cleanup()


def _refuse_remote(host: str, *, allow_remote: bool) -> None:
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback and not allow_remote:
        raise UsageError(f"{host} is not this machine's loopback address.", remedy="Use 127.0.0.1.")


def _models(mock: MockProvider) -> Callable[[web.Request], Awaitable[web.Response]]:
    names = [*mock.profiles, *(f"mock/{name}" for name in mock.profiles)]
    rows = [
        {
            "id": name, "object": "model", "created": _CREATED, "owned_by": "flowgauge",
            "type": "model", "display_name": name, "created_at": "2025-01-01T00:00:00Z",
        }
        for name in names
    ]  # fmt: skip
    body = msgspec.json.encode({"object": "list", "data": rows, "has_more": False, "first_id": names[0], "last_id": names[-1]})

    async def listed(_request: web.Request) -> web.Response:
        return web.Response(body=body, headers=_JSON)

    return listed


class _Endpoint:
    """One dialect at one address."""

    def __init__(self, mock: MockProvider, dialect: Dialect) -> None:
        self.mock = mock
        self.dialect = dialect
        self.numbers = itertools.count(1)

    async def answer(self, http: web.Request) -> web.StreamResponse:
        """Read, decide, wait, write."""
        try:
            asked = self.dialect.read(await http.read())
            decision = self.mock.decide(self._profiled(asked))
        except (BadRequest, Failed) as error:
            return self._error(400, str(error))
        if decision.fault:
            return await _FAULTS[decision.fault.kind](self, http, asked, decision, decision.fault)
        if asked.request.stream:
            return await self._stream(http, asked, decision)
        await _wait(decision.latency_s)
        return web.Response(body=self.dialect.whole(asked, decision.reply, next(self.numbers)), headers=_JSON)

    def _profiled(self, asked: Asked) -> ModelRequest:
        name = asked.model.removeprefix("mock/")
        return msgspec.structs.replace(asked.request, model=name if name in self.mock.profiles else "default")

    async def _stream(self, http: web.Request, asked: Asked, decision: Decision) -> web.StreamResponse:
        number = next(self.numbers)
        reply = decision.reply
        response = web.StreamResponse(headers=_EVENTS)
        await _wait(decision.first_token_s)
        await response.prepare(http)
        cut = pieces(reply.text)
        rest_s = decision.latency_s - decision.first_token_s
        written = self.dialect.head(asked, reply, number)
        if rest_s > 0:
            for index, piece in enumerate(cut):
                await _wait(rest_s / max(1, len(cut) - 1) if index else 0)
                await response.write(written + self.dialect.piece(asked, piece, number))
                written = b""
        else:
            written += b"".join(self.dialect.piece(asked, piece, number) for piece in cut)
        await response.write(written + self.dialect.tail(asked, reply, number))
        await response.write_eof()
        return response

    def _error(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
        return web.Response(status=status, body=self.dialect.error(status, message), headers={**_JSON, **(headers or {})})

    async def _status(self, _http: web.Request, _asked: Asked, decision: Decision, fault: Fault) -> web.StreamResponse:
        await _wait(decision.latency_s)
        if fault.kind == "rate_limited":
            waits = {"Retry-After": f"{fault.retry_after_s:g}", "Retry-After-Ms": f"{fault.retry_after_s * 1000:g}"}
            return self._error(429, decision.failure().message, waits)
        return self._error(500, decision.failure().message)

    async def _hang(self, _http: web.Request, _asked: Asked, decision: Decision, fault: Fault) -> web.StreamResponse:
        await asyncio.sleep(fault.hang_s)
        return self._error(504, decision.failure().message)

    async def _malformed(self, http: web.Request, asked: Asked, decision: Decision, _fault: Fault) -> web.StreamResponse:
        await _wait(decision.latency_s)
        number = next(self.numbers)
        if not asked.request.stream:
            whole = self.dialect.whole(asked, decision.reply, number)
            return web.Response(body=whole[: len(whole) * 2 // 3], headers=_JSON)
        response = web.StreamResponse(headers=_EVENTS)
        await response.prepare(http)
        event = self.dialect.piece(asked, decision.reply.text, number).rstrip()
        await response.write(self.dialect.head(asked, decision.reply, number) + event[:-3] + b"\n\n")
        await response.write_eof()
        return response

    async def _disconnect(self, http: web.Request, _asked: Asked, decision: Decision, _fault: Fault) -> web.StreamResponse:
        await _wait(decision.latency_s)
        if http.transport is not None:
            http.transport.abort()
        return web.Response()


async def _wait(seconds: float) -> None:
    if seconds > 0:
        await asyncio.sleep(seconds)


_Play = Callable[[_Endpoint, web.Request, Asked, Decision, Fault], Awaitable[web.StreamResponse]]
_FAULTS: dict[FaultKind, _Play] = {
    "rate_limited": _Endpoint._status,
    "server_error": _Endpoint._status,
    "timeout": _Endpoint._hang,
    "malformed": _Endpoint._malformed,
    "disconnect": _Endpoint._disconnect,
}
