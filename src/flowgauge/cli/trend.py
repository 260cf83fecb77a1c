"""`flowgauge trend`: a metric over all benchmarks of a subject."""

from __future__ import annotations

from typing import Any

import click

from flowgauge.cli.options import db_option, json_option
from flowgauge.cli.verdicts import trend_out_options


@click.command("trend")
@click.argument("subject")
@click.option("--metric", "metrics", multiple=True, help="success_rate, duration_ms, p95_ms, cost_usd, score.NAME, …; repeat for more.")
@click.option("--config", default=None, help="Of one configuration.")
@click.option("--last", default=0, metavar="N", help="Only the newest N benchmarks. Default: all.")
@trend_out_options
@json_option
@db_option
def command(subject: str, metrics: tuple[str, ...], config: str | None, last: int, db: str | None, **options: Any) -> None:
    """Show a metric over all benchmarks of SUBJECT, and where it changed.

    SUBJECT is a workflow, the name of a bench, or an ingested subject.
    """
    from flowgauge.app.trends import trends_of
    from flowgauge.app.workspace import opened_store
    from flowgauge.cli.verdicts import show_trends

    with opened_store(db) as store:
        found = trends_of(store, subject, metrics, config=config, last=last)
    show_trends(found, options)
