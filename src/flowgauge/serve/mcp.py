"""The tools of `mcp_tools` over HTTP, at a path of the server.

Every call stands by itself (no sessions), behind the server's own guard: who
calls is who the guard found. The SDK is imported when the first call comes,
because most servers never get one; where it is missing, the answer says so.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from flowgauge.errors import MissingExtra
from flowgauge.serve.guard import caller_of, refusal
from flowgauge.serve.rpc_errors import told

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.requests import Request
    from starlette.types import Message, Receive, Send
    from starlette.types import Scope as Connection

    from flowgauge.serve.caller import Caller
    from flowgauge.serve.limits import Limits
    from flowgauge.serve.rpc import Rpc

NOT_INSTALLED = MissingExtra("MCP", "mcp")


class McpDoor:
    """An ASGI application for one path. `close` it when the server stops."""

    def __init__(self, rpc: Rpc, limits: Limits) -> None:
        self._rpc = rpc
        self._limits = limits
        self._opened: asyncio.Task[StreamableHTTPSessionManager] | None = None
        self._running: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        """One request of the protocol."""
        if self._opened is None:
            self._opened = asyncio.create_task(self._open(), name="mcp opens")
        try:
            manager = await asyncio.shield(self._opened)
        except ImportError:
            await refusal(501, told(NOT_INSTALLED))(connection, receive, send)
            return
        await manager.handle_request(connection, _in_time(receive, self._limits.body_s), send)

    async def close(self) -> None:
        """Calls under way are cut off."""
        self._closing.set()
        if self._running is not None:
            await self._running

    async def _open(self) -> StreamableHTTPSessionManager:
        manager, up = await asyncio.to_thread(self._made), asyncio.Event()
        self._running = asyncio.create_task(self._run(manager, up), name="mcp")
        await up.wait()
        return manager

    def _made(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from flowgauge.serve.mcp_tools import mcp_server

        def calling(context: ServerRequestContext[Any, Any]) -> Caller:
            request: Request | None = context.request
            assert request is not None  # over HTTP there always is one
            return caller_of(request.scope)

        server = mcp_server(self._rpc.answer, calling)
        return StreamableHTTPSessionManager(server, stateless=True, json_response=True, max_request_body_size=self._limits.body_bytes)

    async def _run(self, manager: StreamableHTTPSessionManager, up: asyncio.Event) -> None:
        """In a task of its own, which enters and leaves the manager's task group."""
        async with manager.run():
            up.set()
            await self._closing.wait()


def _in_time(receive: Receive, seconds: float) -> Receive:
    """The same, as long as the whole body arrives within the time."""
    deadline: float | None = asyncio.get_running_loop().time() + seconds

    async def receiving() -> Message:
        nonlocal deadline
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError as error:
            raise HTTPException(408, f"The body did not arrive within {seconds:g} s.", {"Connection": "close"}) from error
        if message["type"] != "http.request" or not message.get("more_body", False):
            deadline = None
        return message

    return receiving
