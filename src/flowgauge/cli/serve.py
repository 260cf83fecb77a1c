"""`flowgauge serve`: the operations over HTTP, for teams, browsers and agents."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import click

from flowgauge.cli.options import Finite, db_option
from flowgauge.errors import MissingExtra

if TYPE_CHECKING:
    from flowgauge.serve.running import Server


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on. Any but loopback needs a token.")
@click.option("--port", default=8321, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free one.")
@click.option("--allowed-host", "allowed_hosts", multiple=True, metavar="NAME", help="A name the server is called by; repeat for more.")
@click.option("--max-running", default=100, show_default=True, type=click.IntRange(1, 10_000), help="Plays at once; others wait.")
@click.option("--daemon", is_flag=True, help="Watch over agents, too, as `flowgauge daemon` does.")
@click.option("--daemon-every", default=10, show_default=True, type=click.IntRange(1), metavar="N", help="Ticks from one look to the next.")
@click.option("--daemon-tick", default=30.0, show_default=True, type=Finite(0, min_open=True), metavar="SECONDS", help="One tick of it.")
@click.option(
    "--daemon-last", default=50, show_default=True, type=click.IntRange(1, 1000), metavar="N", help="Plays that it counts, at the most."
)
@click.option(
    "--daemon-min-plays",
    default=5,
    show_default=True,
    type=click.IntRange(1, 1000),
    metavar="N",
    help="With fewer since the baseline, it does not judge actions.",
)
@db_option
def command(
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...],
    max_running: int,
    daemon: bool,
    daemon_every: int,
    daemon_tick: float,
    daemon_last: int,
    daemon_min_plays: int,
    db: str | None,
) -> None:
    """Serve all operations over HTTP: JSON-RPC at /rpc, events at /events.

    On loopback everybody on this machine may call. On any other address, or under any other name, each call needs a
    token: `flowgauge token create` makes one. Ctrl-C stops the server; plays that are not finished go on when it is back.
    """
    from flowgauge.app.daemon import DaemonSettings

    try:
        from flowgauge.serve.running import Settings, serve
    except ImportError as error:
        raise MissingExtra("flowgauge serve", "server") from error
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    watching = None
    if daemon:
        watching = DaemonSettings(every=daemon_every, tick_s=daemon_tick, last=daemon_last, min_plays=daemon_min_plays)
    settings = Settings(db=db, host=host, port=port, allowed_hosts=allowed_hosts, max_running=max_running, daemon=watching)
    asyncio.run(serve(settings, _tell))


def _tell(server: Server) -> None:
    click.echo(f"serving on {server.url}")
    if server.guarded and not server.names:
        click.echo("note: only calls to a name of loopback are answered; --allowed-host NAME adds others.", err=True)
