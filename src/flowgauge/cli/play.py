"""`flowgauge play`: what has run, and what to do about it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from flowgauge.cli.options import db_option, json_option, limit_option, now_ms, print_json
from flowgauge.cli.playing import exit_code, follow, show_play
from flowgauge.cli.run import ISOLATION, interruptible

if TYPE_CHECKING:
    from flowgauge.app.workflows import Saved
    from flowgauge.model.play import Play
    from flowgauge.store.store import Store

STATUSES = click.Choice(["pending", "running", "success", "failed", "timeout", "cancelled", "budget_exceeded"])


@click.group("play")
def command() -> None:
    """Plays: list, show, cancel, resume."""


@command.command("list")
@click.option("--workflow", default="", help="Of one workflow, by name or sid.")
@click.option("--status", type=STATUSES, help="In one state.")
@click.option("--cursor", default="", help="Where the last page ended.")
@limit_option
@json_option
@db_option
def list_plays(workflow: str, status: Any, cursor: str, limit: int, as_json: bool, db: str | None) -> None:
    """List plays, newest first."""
    from flowgauge.app.plays import workflow_names
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import play_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        page = store.list_plays(workflow=workflow or None, status=status, cursor=cursor or None, limit=limit)
        names = workflow_names(store, page.items)
    if as_json:
        print_json({"plays": page.items, "next_cursor": page.next_cursor})
        return
    show(play_table(page.items, names, now_ms()))
    if page.next_cursor:
        click.echo(f"more: --cursor {page.next_cursor}", err=True)


@command.command("show")
@click.argument("sid")
@click.option("--node", default="", help="One node's attempts and steps, whole.")
@json_option
@db_option
def show_one(sid: str, node: str, as_json: bool, db: str | None) -> None:
    """Show one play: every node's time, tokens, cost, and the output. SID may be `latest`."""
    from flowgauge.app.plays import find_play
    from flowgauge.app.workspace import opened_store
    from flowgauge.errors import NotFound

    with opened_store(db) as store:
        play = find_play(store, sid)
        runs = store.get_node_runs(play.sid)
        saved = _saved(store, play)
        gone = play.status == "running" and not store.owner_alive(store.get_owner(play.owner_sid))
    if gone:
        click.echo(f"warning: nobody runs this play any more. Finish it with: flowgauge play resume {play.sid}", err=True)
    if node:
        runs = tuple(run for run in runs if run.node_id == node or run.node_id.startswith((f"{node}[", f"{node}/")))
        if not runs:
            raise NotFound(f"Play {play.sid} has no run of a node '{node}'.", remedy=f"See flowgauge play show {play.sid}")
    if as_json:
        print_json({"play": play, "node_runs": runs})
    elif node:
        print_json(runs)
    else:
        show_play(play, runs, saved)


@command.command("cancel")
@click.argument("sid")
@db_option
def cancel(sid: str, db: str | None) -> None:
    """Stop a running play. SID may be `latest`."""
    from flowgauge.app.plays import cancel_play
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        click.echo(cancel_play(store, sid))


@command.command("resume")
@click.argument("sid")
@click.option("--isolation", type=ISOLATION, default="auto", show_default=True, help="What python nodes run in.")
@json_option
@db_option
def resume(sid: str, isolation: Any, as_json: bool, db: str | None) -> int:
    """Finish a play that was killed, cancelled or failed: what is stored is not run again. SID may be `latest`."""
    return asyncio.run(_resume(sid, isolation, as_json, db))


async def _resume(sid: str, isolation: Any, as_json: bool, db: str | None) -> int:
    from flowgauge.app.hosted import open_hosted
    from flowgauge.app.plays import find_play, resume_play
    from flowgauge.nodes.codec import read_workflow

    async with open_hosted(db, isolation=isolation) as workspace:
        saved = _saved(workspace.store, find_play(workspace.store, sid))
        with follow(read_workflow(saved.version.content), live=not as_json) as listener:
            play = await interruptible(workspace, resume_play(workspace, sid, listener=listener))
        runs = workspace.store.get_node_runs(play.sid)
    if as_json:
        print_json({"play": play, "node_runs": runs})
    else:
        show_play(play, runs, saved)
    return exit_code(play)


def _saved(store: Store, play: Play) -> Saved:
    from flowgauge.app.workflows import Saved

    return Saved(store.get_workflow(play.workflow_sid), store.get_version(play.version_sid), created=False)
