"""`flowgauge mcp`: the operations as tools for agents, over stdin and stdout."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import click

from flowgauge.cli.options import db_option
from flowgauge.errors import MissingExtra

if TYPE_CHECKING:
    from flowgauge.model.service import Scope

SCOPES = click.Choice(["read", "run", "admin"])


@click.command("mcp")
@click.option("--scope", type=SCOPES, default="run", show_default=True, help="What the agent may do; admin also deletes.")
@db_option
def command(scope: Scope, db: str | None) -> None:
    """Serve all operations as MCP tools over stdin and stdout, for agents.

    An agent starts this by itself: give it the command `flowgauge mcp`. The same tools are at /mcp of `flowgauge serve`.
    """
    try:
        from flowgauge.serve.mcp_stdio import serve_stdio
    except ImportError as error:
        raise MissingExtra("flowgauge mcp", "mcp,server") from error
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(serve_stdio(db, scope))
