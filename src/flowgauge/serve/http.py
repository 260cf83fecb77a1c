"""The application over HTTP: which path leads where.

POST /rpc, GET /events, /health, /metrics and /, and /mcp. The guard stands around all of
it; answers that refuse have the form of a JSON-RPC error, whatever the path.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from flowgauge._version import __version__
from flowgauge.app.host_events import known_subject
from flowgauge.errors import NotFound, StoreFailure, UsageError
from flowgauge.serve.broadcast import Broadcast
from flowgauge.serve.events import EventStream, read_wanted
from flowgauge.serve.guard import Door, Guard, Tokens, caller_of, refusal
from flowgauge.serve.limits import Limits
from flowgauge.serve.mcp import McpDoor
from flowgauge.serve.metrics import CONTENT_TYPE, Metrics, Now
from flowgauge.serve.page import page
from flowgauge.serve.rpc import Rpc
from flowgauge.serve.rpc_errors import INVALID_REQUEST, refused, told

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Send
    from starlette.types import Scope as Connection

    from flowgauge.app.host import Host

JSON = "application/json"


class Application:
    """One host, reachable over HTTP. Itself an ASGI application."""

    def __init__(self, host: Host, door: Door, tokens: Tokens, limits: Limits | None = None) -> None:
        self._host = host
        self._limits = limits or Limits()
        self._metrics = Metrics()
        self._rpc = Rpc(host, self._limits, self._metrics.called)
        self.broadcast = Broadcast(host, self._limits)
        self.mcp = McpDoor(self._rpc, self._limits)
        routes = [
            Route("/rpc", self._answer_rpc, methods=["POST"]),
            Route("/events", self._answer_events, methods=["GET"]),
            Route("/health", self._answer_health, methods=["GET"]),
            Route("/metrics", self._answer_metrics, methods=["GET"]),
            Route("/mcp", self.mcp, methods=["POST"]),
            Route("/", self._answer_page, methods=["GET"]),
        ]
        app = Starlette(routes=routes, exception_handlers={HTTPException: _refuse})
        app.router.redirect_slashes = False
        self._guard = Guard(app, door, tokens, body_bytes=self._limits.body_bytes, refused=self._metrics.refused)

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        """See ASGI."""
        await self._guard(connection, receive, send)

    async def _answer_rpc(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return refusal(415, refused(INVALID_REQUEST, "The body's type is not JSON.", f"Send the header 'Content-Type: {JSON}'."))
        try:
            async with asyncio.timeout(self._limits.body_s):
                body = await request.body()
        except TimeoutError:
            words = f"The body did not arrive within {self._limits.body_s:g} s."
            return refusal(408, refused(INVALID_REQUEST, words), {"Connection": "close"})
        except ClientDisconnect:
            return Response(status_code=400)
        answer = await self._rpc.answer(body, caller_of(request.scope))
        return Response(status_code=204) if answer is None else Response(answer, media_type=JSON)

    async def _answer_events(self, request: Request) -> Response:
        try:
            wanted = read_wanted(request.query_params, request.headers)
            bench_id = await asyncio.to_thread(known_subject, self._host.store, wanted.play_sid, wanted.bench_id)
        except NotFound as error:
            return refusal(404, told(error))
        except UsageError as error:
            return refusal(400, told(error))
        except StoreFailure as error:
            return refusal(503, told(error))
        wanted = msgspec.structs.replace(wanted, bench_id=bench_id)
        check = partial(self._guard.still, caller_of(request.scope))
        return EventStream(self.broadcast, wanted, check, self._limits.send_s)

    async def _answer_health(self, _request: Request) -> Response:
        """Asks nothing of the store, and tells nothing about it. A server that stops does not answer at all."""
        return Response(msgspec.json.encode({"status": "ok", "version": __version__}), media_type=JSON)

    async def _answer_metrics(self, _request: Request) -> Response:
        now = Now(
            running=self._host.running(),
            listeners=self.broadcast.listeners,
            listeners_dropped=self.broadcast.dropped,
            store_bytes=await self._store_bytes(),
        )
        return Response(self._metrics.text(now), headers={"Content-Type": CONTENT_TYPE})

    async def _store_bytes(self) -> int | None:
        try:
            return await asyncio.to_thread(self._host.store.size_bytes)
        except StoreFailure:
            return None

    async def _answer_page(self, request: Request) -> Response:
        return HTMLResponse(page(str(request.base_url).rstrip("/")))


async def _refuse(request: Request, error: Exception) -> Response:
    """What starlette refuses: a path or a method that is not there, a body that is too large."""
    assert isinstance(error, HTTPException)
    words = {404: f"There is nothing at {request.url.path[:100]}.", 405: f"{request.method} is not what {request.url.path} takes."}
    told_ = refused(INVALID_REQUEST, words.get(error.status_code, error.detail), "See GET / for what there is.")
    return refusal(error.status_code, told_, dict(error.headers or {}))
