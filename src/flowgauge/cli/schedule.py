"""`flowgauge schedule`: benchmarks that are made again and again, with their gates."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowgauge.cli.options import Finite, db_option, json_option, limit_option, now_ms, print_json
from flowgauge.cli.spans import Span

if TYPE_CHECKING:
    from flowgauge.app.schedule_gate import Judged
    from flowgauge.app.schedules import Draft, Put

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
EXIT_CODES = {"passed": 0, "measured": 0, "failed": 1, "not_measured": 3, "error": 3}


@click.group("schedule")
def command() -> None:
    """Benchmarks on a schedule, with their gates: add, list, show, rm, enable, disable, run."""


@command.command("add")
@click.argument("name")
@click.option("--every", type=Span(), metavar="SPAN", help="From one moment to the next: 15m, 1h, 1d, …")
@click.option("--cron", default="", metavar="'M H D M W'", help="Or five fields in UTC: '0 3 * * *' is every night at three.")
@click.option("--workflow", required=True, help="A stored workflow, by name or sid.")
@click.option("--version", "version", default="", help="Always this version of it, by sid or hash. Default: the one in use at the moment.")
@click.option("--configs", type=FILE, help="The bench file: configurations, cases, checks. Its content is kept, not its path.")
@click.option("--runs", type=click.IntRange(1), help="Runs of each cell, instead of the file's.")
@click.option("--max-concurrency", "-j", type=click.IntRange(1, 1000), help="Trials at once, instead of the file's.")
@click.option("--budget", type=Finite(0, min_open=True), metavar="USD", help="Of each moment; what is over it is not measured.")
@click.option("--baseline", default="", metavar="NAME", help="What each result is gated against. It is never moved.")
@click.option("--policy", "policy_file", type=FILE, help="The gate file. Its content is kept, not its path.")
@click.option("--webhook", default="", metavar="URL", help="Told of regressions, and of what could not be measured; or env:NAME.")
@click.option("--late", type=Span(), metavar="SPAN", help="A missed moment is run up to so late. Default: however late.")
@click.option("--disabled", is_flag=True, help="Do not run it before it is enabled.")
@click.option("--replace", is_flag=True, help="Define the one of this name anew.")
@json_option
@db_option
def add(name: str, replace: bool, as_json: bool, db: str | None, **options: Any) -> None:
    """Define a schedule called NAME. A server on the same store (flowgauge serve) runs it."""
    from flowgauge.app.schedules import put_schedule
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        how = "Give --every 1h, or --cron '0 3 * * *'."
        put = put_schedule(store, _draft(name, options), now_ms=now_ms(), only_new=not replace, how_to_time=how)
    _tell(put, as_json=as_json)


@command.command("list")
@click.option("--cursor", default="", help="Where the last page ended.")
@limit_option
@json_option
@db_option
def list_all(cursor: str, limit: int, as_json: bool, db: str | None) -> None:
    """List schedules by name, with their next moment and what came of the last."""
    from flowgauge.app.schedules import shown
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import schedule_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        page = store.list_schedules(cursor or None, limit)
    if as_json:
        print_json({"schedules": [shown(each) for each in page.items], "next_cursor": page.next_cursor})
        return
    show(schedule_table(page.items))
    if page.next_cursor:
        click.echo(f"more: --cursor {page.next_cursor}", err=True)


@command.command("show")
@click.argument("name")
@db_option
def show_one(name: str, db: str | None) -> None:
    """Show a schedule as JSON. The webhook's address is shown without its path, which may be a secret."""
    from flowgauge.app.schedules import shown
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        print_json(shown(store.get_schedule(name)))


@command.command("rm")
@click.argument("name")
@db_option
def rm(name: str, db: str | None) -> None:
    """Delete a schedule; what it has measured stays."""
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        gone = store.delete_schedule(name)
    click.echo(f"Schedule {gone.name} is gone; what it has measured stays.")


@command.command("enable")
@click.argument("name")
@db_option
def enable(name: str, db: str | None) -> None:
    """Run a schedule again, from its next moment on: what came meanwhile is not made up for."""
    _switch(name, db, enabled=True)


@command.command("disable")
@click.argument("name")
@db_option
def disable(name: str, db: str | None) -> None:
    """Let a schedule rest. What is running goes on to its end."""
    _switch(name, db, enabled=False)


@command.command("run")
@click.argument("name")
@json_option
@db_option
def run(name: str, as_json: bool, db: str | None) -> int:
    """Run a schedule here and now, to its end, with its gate and its webhook. Its next moment stays as it is.

    Exit code: 0 no regression (or nothing to gate against), 1 regressed, 2 usage or it is running already, 3 not measured.
    """
    judged = asyncio.run(_run(name, db))
    if as_json:
        print_json(judged)
    else:
        click.echo(f"{name}: {judged.status.replace('_', ' ')} · {judged.bench_id}")
        click.echo(judged.words)
    return EXIT_CODES[judged.status]


async def _run(name: str, db: str | None) -> Judged:
    from flowgauge.app.host import Host
    from flowgauge.app.workspace import open_workspace

    async with open_workspace(db) as workspace:
        host = Host(workspace, log=workspace.store)
        try:
            return await host.schedules.run_to_end(name)
        finally:
            await host.stop()


def _draft(name: str, options: dict[str, Any]) -> Draft:
    from flowgauge.app.schedules import Draft
    from flowgauge.documents.document import read_document

    request = {
        "workflow_sid": options["workflow"],
        "workflow_version_sid": options["version"],
        "configs": read_document(options["configs"]).value if options["configs"] else None,
        "runs": options["runs"],
        "max_concurrency": options["max_concurrency"],
        "budget_usd": options["budget"],
    }
    return Draft(
        name=name,
        cron=options["cron"],
        every_s=options["every"] or 0,
        late_s=options["late"] or 0,
        request={field: value for field, value in request.items() if value not in (None, "")},
        baseline=options["baseline"],
        policy=_policy(options["policy_file"]),
        webhook=options["webhook"],
        enabled=not options["disabled"],
    )


def _policy(file: Path | None) -> dict[str, Any]:
    """What the file says, checked with its lines; defaults are left out."""
    import msgspec

    from flowgauge.app.policies import policy_of

    told: dict[str, Any] = msgspec.to_builtins(policy_of(file))
    return told


def _switch(name: str, db: str | None, *, enabled: bool) -> None:
    from flowgauge.app.schedules import Draft, put_schedule
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        found = store.get_schedule(name)
        put = put_schedule(store, Draft(name=found.name, enabled=enabled), now_ms=now_ms())
    _tell(put, as_json=False)


def _tell(put: Put, *, as_json: bool) -> None:
    from flowgauge.app.schedules import shown
    from flowgauge.report import words

    schedule = put.schedule
    for warning in put.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        print_json(shown(schedule))
        return
    when = f"next at {words.moment(schedule.next_at)}" if schedule.enabled else "at rest"
    click.echo(f"{schedule.name}: {schedule.cron or f'every {words.span(schedule.every_s)}'} · {when}")
