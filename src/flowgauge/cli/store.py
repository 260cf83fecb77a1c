"""`flowgauge store`: the database itself."""

from __future__ import annotations

from pathlib import Path

import click

from flowgauge.cli.options import Finite, db_option, json_option, print_json


@click.group("store")
def command() -> None:
    """The database: info, backup, prune, vacuum, export, import."""


@command.command("info")
@json_option
@db_option
def info(as_json: bool, db: str | None) -> None:
    """Where it is, how big, how many rows, whether it is well."""
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import pairs_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        found = store.info()
    if as_json:
        print_json(found)
    else:
        show(pairs_table(found))


@command.command("backup")
@click.argument("path", type=click.Path(path_type=Path))
@db_option
def backup(path: Path, db: str | None) -> None:
    """Copy the whole store to PATH, while it is in use."""
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        written = store.backup(path)
    click.echo(f"Backup written to {written}")


@command.command("prune")
@click.option("--keep", type=click.IntRange(0), help="Keep the newest N plays and the newest N benches.")
@click.option("--days", type=Finite(0), help="Keep what is younger than D days.")
@click.option("--snapshots", is_flag=True, help="Delete old snapshots of versions and agents, too; else all of them stay.")
@click.option("--dry-run", is_flag=True, help="Say what would go; delete nothing.")
@json_option
@db_option
def prune(keep: int | None, days: float | None, snapshots: bool, dry_run: bool, as_json: bool, db: str | None) -> None:
    """Delete old plays, whole benches that are finished, and benchmarks that no bench made. What is running always stays."""
    from flowgauge.app.workspace import opened_store

    if (keep is None) == (days is None):
        raise click.UsageError("Give one of --keep N and --days D.")
    with opened_store(db) as store:
        gone = store.prune(keep_newest=keep, younger_than_days=days, snapshots=snapshots, dry_run=dry_run)
    if as_json:
        print_json(gone)
    else:
        plays = f"{gone.plays} plays with {gone.node_runs} node runs, {gone.benches} benches with {gone.trials} trials"
        rest = f"{gone.benchmarks} benchmarks, {gone.snapshots} snapshots, {gone.answers} cached answers and {gone.events} events"
        click.echo(f"{plays}, {rest} {'would be' if dry_run else 'are'} deleted.")


@command.command("vacuum")
@db_option
def vacuum(db: str | None) -> None:
    """Give unused space back to the disk."""
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        store.vacuum()
    click.echo("Done.")


@command.command("export")
@click.argument("path", type=click.Path(path_type=Path))
@db_option
def export(path: Path, db: str | None) -> None:
    """Write everything to PATH as JSON Lines (.jsonl or .jsonl.gz), portable between databases."""
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        done = store.export(path)
    click.echo(f"{sum(done.rows.values())} rows written to {path}")


@command.command("import")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@db_option
def import_(path: Path, db: str | None) -> None:
    """Read what `export` wrote; rows that are there already stay as they are."""
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        done = store.import_(path)
    click.echo(f"{sum(done.added.values())} rows added, {sum(done.kept.values())} were there already.")
    for note in done.notes:
        click.echo(note)
