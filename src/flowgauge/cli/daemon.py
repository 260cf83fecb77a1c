"""`flowgauge daemon`: watch over agents."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import click

from flowgauge.cli.options import Finite, db_option, json_option, print_json
from flowgauge.errors import Conflict

if TYPE_CHECKING:
    from flowgauge.app.daemon import AgentDaemon, DaemonSettings, Found


@click.command("daemon")
@click.option("--every", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Ticks from one look to the next.")
@click.option("--tick", "tick_s", type=Finite(0, min_open=True), default=30.0, show_default=True, metavar="SECONDS", help="One tick.")
@click.option("--last", type=click.IntRange(1, 1000), default=50, show_default=True, metavar="N", help="Plays counted, at the most.")
@click.option(
    "--min-plays",
    type=click.IntRange(1, 1000),
    default=5,
    show_default=True,
    metavar="N",
    help="With fewer since the baseline, actions are not judged.",
)
@click.option("--once", is_flag=True, help="Look once, tell all, and end.")
@json_option
@db_option
def command(once: bool, as_json: bool, db: str | None, **settings: Any) -> int:
    """Validate every known agent again and again, and keep evidence of regressions.

    The first look is made at once. Evidence is a snapshot marked regressed, which never becomes the baseline. Of several daemons on one
    store one does the work; the others wait for it to go. Ctrl-C or SIGTERM ends it.

    Exit code: 0; with --once 1 where an agent regressed or could not be validated, else 3 where one was not measured or none is known.
    """
    from flowgauge.app.daemon import DaemonSettings

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asked = DaemonSettings(**settings)
    return asyncio.run(_once(db, asked, as_json=as_json) if once else _watch(db, asked, as_json=as_json))


async def _watch(db: str | None, settings: DaemonSettings, *, as_json: bool) -> int:
    from flowgauge.app.stopping import signals

    stop = asyncio.Event()
    with signals(stop):
        async with _opened(db, settings, _tell_json if as_json else _tell) as daemon:
            if not as_json:
                click.echo(f"looking at agents every {settings.every * settings.tick_s:g} s")
            await daemon.run(stop)
    return 0


async def _once(db: str | None, settings: DaemonSettings, *, as_json: bool) -> int:
    async with _opened(db, settings) as daemon:
        found = await daemon.look()
        if found is None:
            raise Conflict(
                f"Another daemon does the work on this store: {await daemon.holder()}.", remedy="Stop it first, or leave it to it."
            )
        await daemon.let_go()
    if as_json:
        print_json({"agents": found})
    else:
        for each in found:
            _tell(each)
        if not found:
            click.echo("no agent is known; capture one: flowgauge agent capture PROMPT FLOW")
    codes = {each.validation.exit_code if not each.validation.error else 1 for each in found}
    return 1 if 1 in codes else 0 if codes == {0} else 3


@contextlib.asynccontextmanager
async def _opened(db: str | None, settings: DaemonSettings, tell: Callable[[Found], None] | None = None) -> AsyncIterator[AgentDaemon]:
    """With its workspace, and the log that its events go to."""
    from flowgauge.app.daemon import AgentDaemon
    from flowgauge.app.data_folder import data_folder
    from flowgauge.app.host_events import Hub
    from flowgauge.app.workspace import open_workspace

    async with open_workspace(db) as workspace:
        hub = Hub(workspace.store)
        events = asyncio.create_task(hub.run(), name="events")
        try:
            yield AgentDaemon(workspace.store, data_folder(db), workspace.owner.sid, hub.publish, settings, tell)
        finally:
            events.cancel()
            await asyncio.gather(events, return_exceptions=True)
            await hub.close()


def _tell(found: Found) -> None:
    from flowgauge.registry.agents.agent import Agent
    from flowgauge.report.agents import health_line
    from flowgauge.report.play import show

    said = found.validation
    kept = f" Kept as v{found.evidence_version}." if found.evidence_version else ""
    show(health_line(str(Agent(said.prompt_id, said.flow_id)), said.status, f"{said.reason}{kept}"))


def _tell_json(found: Found) -> None:
    """One line each."""
    import msgspec

    click.echo(msgspec.json.encode(found).decode())
