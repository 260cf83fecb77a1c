"""`flowgauge benchmark`: stored benchmarks, one for each configuration of a bench."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flowgauge.cli.options import db_option, json_option, limit_option, now_ms, print_json
from flowgauge.errors import NotFound


@click.group("benchmark")
def command() -> None:
    """Stored benchmarks: list, show, export, rm."""


@command.command("list")
@click.option("--workflow", default="", help="Of one workflow, by name or sid.")
@click.option("--bench", default="", help="Of one bench.")
@click.option("--config", default="", help="Of one configuration.")
@click.option("--tag", default="", metavar="K=V", help="With this tag.")
@click.option("--cursor", default="", help="Where the last page ended.")
@limit_option
@json_option
@db_option
def list_benchmarks(workflow: str, bench: str, config: str, tag: str, cursor: str, limit: int, as_json: bool, db: str | None) -> None:
    """List benchmarks, newest first."""
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import benchmark_table
    from flowgauge.report.play import show

    with opened_store(db) as store:
        key, _, value = tag.partition("=")
        page = store.list_benchmarks(
            cursor or None, limit, workflow=workflow or None, bench=bench or None, config=config or None, tags={key: value} if tag else None
        )
    if as_json:
        print_json({"benchmarks": page.items, "next_cursor": page.next_cursor})
        return
    show(benchmark_table(page.items, now_ms()))
    if page.next_cursor:
        click.echo(f"more: --cursor {page.next_cursor}", err=True)


@command.command("show")
@click.argument("ref")
@json_option
@db_option
def show_one(ref: str, as_json: bool, db: str | None) -> None:
    """Show one benchmark by sid, baseline or subject, or every configuration of a bench by its id (`latest` for the newest)."""
    from flowgauge.app.bench import summary_of
    from flowgauge.app.sides import find_side
    from flowgauge.app.workspace import opened_store
    from flowgauge.model.ids import BENCHMARK
    from flowgauge.report.bench_source import Source
    from flowgauge.report.bench_terminal import bench_view
    from flowgauge.report.play import show

    with opened_store(db) as store:
        if ref.startswith(f"{BENCHMARK}_"):
            print_json(store.get_benchmark(ref))
            return
        try:
            record = store.get_bench(ref)
        except NotFound:
            print_json(find_side(store, ref).benchmark)
            return
        if as_json:
            print_json({"bench": record, "benchmarks": store.list_benchmarks(limit=1000, bench=record.uid).items})
            return
        summary = summary_of(store, record)
        show(bench_view(Source(summary, lambda: store.iter_trials(record.uid))))


@command.command("export")
@click.argument("ref", metavar="BENCH")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@db_option
def export(ref: str, path: Path, db: str | None) -> None:
    """Write a bench to PATH in the format of its extension: .json, .jsonl, .csv, .xml, .md, .html, .svg or .png."""
    _write(ref, path, db)


@command.command("rm")
@click.argument("ref", metavar="BENCH")
@click.option("--keep-plays", is_flag=True, help="Leave the plays of its trials.")
@db_option
def rm(ref: str, keep_plays: bool, db: str | None) -> None:
    """Delete a bench with its trials, benchmarks and plays; or one benchmark by its sid."""
    from flowgauge.app.workspace import opened_store
    from flowgauge.model.ids import BENCHMARK

    with opened_store(db) as store:
        if ref.startswith(f"{BENCHMARK}_"):
            store.delete_benchmark(ref)
            click.echo(f"{ref} is deleted.")
            return
        gone = store.delete_bench(ref, keep_plays=keep_plays)
    click.echo(f"{ref} is deleted: {gone.trials} trials, {gone.plays} plays.")


def _write(ref: str, path: Path, db: str | None) -> Any:
    from flowgauge.app.bench import summary_of
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.formats import write_report

    with opened_store(db) as store:
        record = store.get_bench(ref)
        write_report(path, summary_of(store, record), lambda: store.iter_trials(record.uid))
    click.echo(f"{record.bench_id} written to {path}", err=True)
