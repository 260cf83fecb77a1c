"""The tools of an MCP server, by the official client.

Listing and calling go through the tape, so a replay needs no server: the
connection is made when the first exchange really happens.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from flowgauge.errors import MissingExtra
from flowgauge.model.exchange import ToolSpec
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.tools import McpServer

PASSED_ON = ("PATH", "HOME", "LANG")


async def mcp_tools(
    server: McpServer, context: Context, stack: contextlib.AsyncExitStack
) -> Iterable[tuple[ToolSpec, Callable[[dict[str, Json]], Awaitable[str]]]]:
    """What the server offers, each with the way to use it."""
    where: Json = {"command": list(server.command), "url": server.url}
    connected: list[Any] = []

    async def client() -> Any:
        if not connected:
            connected.append(await _connect(server, stack))
        return connected[0]

    async def list_tools() -> list[ToolSpec]:
        listed = await (await client()).list_tools()
        return [ToolSpec(name=tool.name, description=tool.description or "", parameters=dict(tool.input_schema)) for tool in listed.tools]

    def using(name: str) -> Callable[[dict[str, Json]], Awaitable[str]]:
        async def perform(arguments: dict[str, Json]) -> str:
            result = await (await client()).call_tool(name, arguments)
            text = "\n".join(getattr(part, "text", f"[{part.type}]") for part in result.content)
            if result.is_error:
                raise fail("tool_error", text or f"{name} failed.")
            return text

        async def use(arguments: dict[str, Json]) -> str:
            request = {**where, "tool": name, "arguments": arguments}
            return await context.exchange("mcp", request, lambda: perform(arguments), str)

        return use

    specs = await context.exchange("mcp", {**where, "list": True}, list_tools, list[ToolSpec])
    return [(spec, using(spec.name)) for spec in specs if not server.tools or spec.name in server.tools]


async def _connect(server: McpServer, stack: contextlib.AsyncExitStack) -> Any:
    try:
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters
    except ImportError as error:
        raise MissingExtra("A tool from an MCP server", "mcp") from error
    target: Any = server.url
    if server.command:
        environment = {name: os.environ[name] for name in (*PASSED_ON, *server.env) if name in os.environ}
        target = StdioServerParameters(command=server.command[0], args=list(server.command[1:]), env=environment)
    try:
        return await stack.enter_async_context(Client(target))
    except Exception as error:  # the client raises whatever its transport does
        raise fail("connection", f"The MCP server {server.url or server.command[0]} does not answer: {error}") from error
