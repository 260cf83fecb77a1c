"""The tools of an MCP server, by the official client.

Listing and calling go through the tape, so a replay needs no server: the
connection is made when the first exchange really happens. What the server
writes to stderr is shown only where it does not answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from typing import IO, Any

import msgspec

from flowgauge.errors import Failed, MissingExtra
from flowgauge.model.exchange import ToolSpec
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.together import first_error
from flowgauge.nodes.tools import McpServer

PASSED_ON = ("PATH", "HOME", "LANG")
CONNECT_S = 30.0
"""A server may take its time to start, whatever its tools are given."""
MOST_PAGES = 100
Use = Callable[[dict[str, Json]], Awaitable[str]]


async def mcp_tools(
    server: McpServer, timeout_s: float, context: Context, stack: contextlib.AsyncExitStack
) -> Iterable[tuple[ToolSpec, Use]]:
    """What the server offers, each with the way to use it. The connection lives as long as `stack`."""
    link = _Link(server, timeout_s, stack)

    def using(name: str) -> Use:
        async def use(arguments: dict[str, Json]) -> str:
            with context.step("tool", name, arguments) as step:
                request = {**link.place, "tool": name, "arguments": arguments}
                step.response = await context.exchange("mcp", request, lambda: link.call(name, arguments), str)
            return str(step.response)

        return use

    specs = await context.exchange("mcp", {**link.place, "list": True}, link.list, list[ToolSpec])
    missing = sorted(set(server.tools) - {spec.name for spec in specs})
    if missing:
        offered = ", ".join(spec.name for spec in specs) or "none"
        raise fail("tool_error", f"The MCP server {link.name} has no tool {', '.join(missing)}. It offers: {offered}.")
    return [(spec, using(spec.name)) for spec in specs if not server.tools or spec.name in server.tools]


class _Link:
    """One server, connected when it is first needed."""

    def __init__(self, server: McpServer, timeout_s: float, stack: contextlib.AsyncExitStack) -> None:
        self._server = server
        self._timeout_s = timeout_s
        self._stack = stack
        self._client: Any = None
        self.name = server.url or server.command[0]
        self.place: dict[str, Json] = {"command": list(server.command), "url": server.url}

    async def list(self) -> list[ToolSpec]:
        """All that it offers, page by page."""
        client = await self._connected()
        specs: list[ToolSpec] = []
        cursor = None
        for _ in range(MOST_PAGES):
            page = await self._answered("connection", client.list_tools(cursor=cursor))
            specs += map(_spec, page.tools)
            cursor = page.next_cursor
            if cursor is None:
                break
        return specs

    async def call(self, name: str, arguments: dict[str, Json]) -> str:
        """What the tool answers, as text."""
        client = await self._connected()
        result = await self._answered("tool_error", client.call_tool(name, arguments))
        text = "\n".join(getattr(part, "text", f"[{part.type}]") for part in result.content)
        if not text and result.structured_content is not None:
            text = msgspec.json.encode(result.structured_content).decode()
        if result.is_error:
            raise fail("tool_error", text or f"{name} failed.")
        return text

    async def _answered(self, kind: Any, work: Awaitable[Any], least_s: float = 0.0) -> Any:
        within_s = max(self._timeout_s, least_s)
        limit = asyncio.timeout(within_s)
        try:
            async with limit:
                return await work
        except Exception as error:  # the client raises whatever its transport does
            if limit.expired():
                raise fail(kind, f"The MCP server {self.name} did not answer within {within_s:g} s.") from error
            raise fail(kind, f"The MCP server {self.name}: {_words(error)}") from error

    async def _connected(self) -> Any:
        if self._client is None:
            self._client = await self._connect()
        return self._client

    async def _connect(self) -> Any:
        try:
            from mcp import Client
            from mcp.client.stdio import StdioServerParameters, stdio_client
        except ImportError as error:
            raise MissingExtra("A tool from an MCP server", "mcp") from error
        said = self._stack.enter_context(tempfile.TemporaryFile("w+"))  # noqa: SIM115 - the stack closes it
        target: Any = self._server.url
        if self._server.command:
            environment = {name: os.environ[name] for name in (*PASSED_ON, *self._server.env) if name in os.environ}
            program, *arguments = self._server.command
            target = stdio_client(StdioServerParameters(command=program, args=arguments, env=environment), errlog=said)
        try:
            return await self._answered("connection", self._stack.enter_async_context(Client(target)), CONNECT_S)
        except Failed as error:
            raise fail("connection", error.failure.message, detail=_tail(said)) from error


def _spec(tool: Any) -> ToolSpec:
    return ToolSpec(name=tool.name, description=tool.description or "", parameters=dict(tool.input_schema))


def _words(error: BaseException) -> str:
    inner = first_error(error) if isinstance(error, BaseExceptionGroup) else error
    return str(inner) or type(inner).__name__


def _tail(said: IO[str]) -> str:
    said.seek(0)
    return said.read()[-2000:]
