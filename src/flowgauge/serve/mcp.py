"""The tools of `mcp_tools` over HTTP, at a path of the server.

Every call stands by itself (no sessions), behind the server's own guard: who
calls is who the guard found. The SDK is imported when the first call comes,
because most servers never get one; where it is missing, the answer says so.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.exceptions import HTTPException

from flowgauge.errors import MissingExtra
from flowgauge.model.workflow import Json
from flowgauge.serve.guard import caller_of, refusal
from flowgauge.serve.rpc import why_no_json, wrong_with
from flowgauge.serve.rpc_errors import INVALID_REQUEST, PARSE_ERROR, RpcError, refused, told

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
        body, again = await _whole(_in_time(receive, self._limits.body_s))
        wrong = _wrong_with(body)
        if wrong is not None:
            await refusal(400, wrong)(connection, receive, send)
            return
        await manager.handle_request(connection, again, send)

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


def _wrong_with(body: bytes) -> RpcError | None:
    """What is no message of the protocol is told in our words: the SDK's are those of its own classes."""
    try:
        message = msgspec.json.decode(body)
    except RecursionError:
        return refused(INVALID_REQUEST, "The body nests too many objects and arrays in each other.")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return refused(PARSE_ERROR, f"The body is not JSON: {why_no_json(body) or error}.")
    wrong = wrong_with(message) or _narrower(message)
    return refused(INVALID_REQUEST, f"This is no message of MCP: {wrong}.") if wrong and not _is_answer(message) else None


def _narrower(request: dict[str, Json]) -> str:
    """What JSON-RPC allows and MCP does not; empty where there is nothing."""
    if not isinstance(request.get("params", {}), dict):
        return "'params' must be an object"
    return "" if isinstance(request.get("id", 0), str | int) else "'id' must be a string or a whole number"


def _is_answer(message: Json) -> bool:
    """What a client sends back to a server has no method."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or "method" in message:
        return False
    error = message.get("error")
    told = isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
    return isinstance(message.get("id"), str | int) and (told or isinstance(message.get("result"), dict))


async def _whole(receive: Receive) -> tuple[bytes, Receive]:
    """The body, and what gives the same messages once more."""
    messages: list[Message] = []
    while not messages or (messages[-1]["type"] == "http.request" and messages[-1].get("more_body", False)):
        messages.append(await receive())
    body, left = b"".join(message.get("body", b"") for message in messages), iter(messages)

    async def again() -> Message:
        return next(left, None) or await receive()

    return body, again


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
