"""`flowgauge baseline`: benchmarks under a name, that others are held against."""

from __future__ import annotations

import click

from flowgauge.cli.options import db_option, json_option, limit_option, now_ms, print_json


@click.group("baseline")
def command() -> None:
    """Baselines: set, list, show, rm."""


@command.command("set")
@click.argument("name")
@click.argument("ref", metavar="BENCHMARK")
@click.option("--note", default="", help="Why this one.")
@json_option
@db_option
def set_one(name: str, ref: str, note: str, as_json: bool, db: str | None) -> None:
    """Hold others against BENCHMARK under NAME: a sid, a bench id[:configuration], `latest` or another baseline.

    Only this command moves a baseline: a gate never does.
    """
    from flowgauge.app.sides import find_side
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        side = find_side(store, ref)
        made = store.set_baseline(name, side.benchmark.sid, note)
    if as_json:
        print_json(made)
    else:
        click.echo(f"{name} is now {side.label} · {made.benchmark_sid}")


@command.command("list")
@click.option("--cursor", default="", help="Where the last page ended.")
@limit_option
@json_option
@db_option
def list_all(cursor: str, limit: int, as_json: bool, db: str | None) -> None:
    """List baselines by name."""
    from flowgauge.app.sides import label_of
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import baseline_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        page = store.list_baselines(cursor or None, limit)
        rows = [(each, benchmark, label_of(benchmark)) for each in page.items for benchmark in [store.get_benchmark(each.benchmark_sid)]]
    if as_json:
        print_json({"baselines": page.items, "next_cursor": page.next_cursor})
        return
    show(baseline_table(rows, now_ms()))
    if page.next_cursor:
        click.echo(f"more: --cursor {page.next_cursor}", err=True)


@command.command("show")
@click.argument("name")
@click.option("--cursor", default="", help="Where the last page of its history ended.")
@limit_option
@json_option
@db_option
def show_one(name: str, cursor: str, limit: int, as_json: bool, db: str | None) -> None:
    """Show what stands under NAME, and what stood there before, newest first."""
    from flowgauge.app.sides import benchmark_if_there
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import baseline_history_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        found = store.get_baseline(name)
        benchmark = store.get_benchmark(found.benchmark_sid)
        before = store.baseline_history(name, cursor or None, limit)
        rows = [(each, *benchmark_if_there(store, each.benchmark_sid)) for each in (found, *before.items)]
    if as_json:
        print_json({"baseline": found, "benchmark": benchmark, "history": before.items, "next_cursor": before.next_cursor})
        return
    show(baseline_history_table(rows, now_ms()))
    if before.next_cursor:
        click.echo(f"more: --cursor {before.next_cursor}", err=True)


@command.command("rm")
@click.argument("name")
@db_option
def rm(name: str, db: str | None) -> None:
    """Take the name away; the benchmark stays."""
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        store.delete_baseline(name)
    click.echo(f"Baseline {name} is gone; its benchmark stays.")
