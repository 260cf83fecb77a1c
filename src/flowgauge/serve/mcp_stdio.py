"""The tools of `mcp_tools` over stdin and stdout, for agents that start their servers themselves.

There is one caller, whose scope the command says. The process is a host like
any other: what it has started runs on while it lives, and is left for the next
host when it ends.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from flowgauge.app.host import open_host
from flowgauge.app.stopping import signals
from flowgauge.serve.caller import Caller
from flowgauge.serve.limits import Limits
from flowgauge.serve.mcp import NOT_INSTALLED
from flowgauge.serve.rpc import Rpc

if TYPE_CHECKING:
    from flowgauge.model.service import Scope


async def serve_stdio(db: str | None, scope: Scope) -> None:
    """Until stdin ends, or SIGINT or SIGTERM comes. What is unfinished then is left for the next host. Raises MissingExtra."""
    try:
        from flowgauge.serve.mcp_tools import mcp_server
    except ImportError as error:
        raise NOT_INSTALLED from error
    asked = asyncio.Event()
    with signals(asked):
        async with open_host(db) as host:
            rpc = Rpc(host, Limits(), lambda *_: None)
            server = mcp_server(rpc.answer, lambda _context: Caller(scope=scope))
            talking = asyncio.create_task(_talk(server), name="mcp")
            waiting = asyncio.create_task(asked.wait())
            await asyncio.wait({talking, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not talking.done():
        os._exit(0)  # a thread still reads stdin, and cannot be woken; the host has stored and let go of everything
    talking.result()


async def _talk(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
