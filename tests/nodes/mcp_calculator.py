"""A small MCP server by the official SDK: over stdio as a program, over streamable HTTP as an app."""

from __future__ import annotations

import asyncio
import os
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("calculator")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"sum={a + b}"


@server.tool()
def divide(a: int, b: int) -> str:
    """Divide two numbers."""
    if b == 0:
        raise ToolError("nobody divides by zero")
    return f"quotient={a / b}"


@server.tool()
async def wait() -> str:
    """Never answer."""
    await asyncio.sleep(3600)
    return ""


@server.tool()
def variable(name: str) -> str:
    """Read a variable of the environment."""
    return os.environ.get(name, "unset")


if __name__ == "__main__":
    if "--broken" in sys.argv:
        print("the licence has run out", file=sys.stderr)
        sys.exit(3)
    server.run()
