"""`flowgauge report`: a report of a stored bench."""

from __future__ import annotations

from typing import Any

import click

from flowgauge.cli.options import db_option, json_option, report_options


@click.command("report")
@click.argument("bench", default="latest")
@report_options
@json_option
@db_option
def command(bench: str, db: str | None, **options: Any) -> None:
    """Report on a stored bench, in any format.

    BENCH is a bench id, the beginning of one, or `latest` (the default).
    """
    from flowgauge.app.bench import summary_of
    from flowgauge.app.workspace import opened_store
    from flowgauge.cli.benching import report

    with opened_store(db) as store:
        report(store, summary_of(store, store.get_bench(bench)), options)
