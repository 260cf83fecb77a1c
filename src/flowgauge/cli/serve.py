"""`flowgauge serve`: the operations over HTTP, for teams, browsers and agents."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import click

from flowgauge.cli.options import db_option
from flowgauge.errors import MissingExtra

if TYPE_CHECKING:
    from flowgauge.serve.running import Server


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on. Any but loopback needs a token.")
@click.option("--port", default=8321, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free one.")
@click.option("--allowed-host", "allowed_hosts", multiple=True, metavar="NAME", help="A name the server is called by; repeat for more.")
@click.option("--max-running", default=100, show_default=True, type=click.IntRange(1, 10_000), help="Plays at once; others wait.")
@db_option
def command(host: str, port: int, allowed_hosts: tuple[str, ...], max_running: int, db: str | None) -> None:
    """Serve all operations over HTTP: JSON-RPC at /rpc, events at /events.

    On loopback everybody on this machine may call. On any other address, or under any other name, each call needs a
    token: `flowgauge token create` makes one. Ctrl-C stops the server; plays that are not finished go on when it is back.
    """
    try:
        from flowgauge.serve.running import Settings, serve
    except ImportError as error:
        raise MissingExtra("flowgauge serve", "server") from error
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings = Settings(db=db, host=host, port=port, allowed_hosts=allowed_hosts, max_running=max_running)
    asyncio.run(serve(settings, _tell))


def _tell(server: Server) -> None:
    click.echo(f"serving on {server.url}")
    if server.guarded and not server.names:
        click.echo("note: only calls to a name of loopback are answered; --allowed-host NAME adds others.", err=True)
