"""`flowgauge trial`: one trial, whole."""

from __future__ import annotations

from typing import Any

import click

from flowgauge.cli.options import db_option, json_option, limit_option, print_json


@click.group("trial")
def command() -> None:
    """Trials of a bench: list, show."""


@command.command("list")
@click.argument("bench", default="latest")
@click.option("--config", default="", help="Of one configuration.")
@click.option("--case", default="", help="Of one case.")
@click.option("--status", type=click.Choice(["success", "failed", "timeout"]), help="Whose target ended so.")
@click.option("--failed", is_flag=True, help="Only what did not succeed: errors, time-outs and wrong answers.")
@click.option("--cursor", default="", help="Where the last page ended.")
@limit_option
@json_option
@db_option
def list_trials(
    bench: str, config: str, case: str, status: Any, failed: bool, cursor: str, limit: int, as_json: bool, db: str | None
) -> None:
    """List the trials of a bench (default: the newest), in the order in which they were planned."""
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import trial_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        page = store.list_trials(bench, cursor or None, limit, config=config or None, case=case or None, status=status, failed=failed)
    if as_json:
        print_json({"trials": page.items, "next_cursor": page.next_cursor})
        return
    show(trial_table(page.items))
    if page.next_cursor:
        click.echo(f"more: --cursor {page.next_cursor}", err=True)


@command.command("show")
@click.argument("run_id")
@click.option("--bench", default="", help="Where several benches have this run id.")
@json_option
@db_option
def show_one(run_id: str, bench: str, as_json: bool, db: str | None) -> None:
    """Show one trial whole: inputs, output, attempts, checks, where its time went."""
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.play import show
    from flowgauge.report.trial import trial_view

    with opened_store(db) as store:
        record, trial = store.get_trial(run_id, bench or None)
        runs = store.get_node_runs(trial.answer.play_sid) if trial.answer.play_sid else ()
    if as_json:
        print_json({"bench_id": record.bench_id, "trial": trial, "node_runs": runs})
    else:
        show(trial_view(record, trial, runs))
