"""`flowgauge compare`: one stored benchmark against another."""

from __future__ import annotations

from typing import Any

import click

from flowgauge.cli.options import db_option, json_option
from flowgauge.cli.verdicts import out_options, policy_from, policy_options, show_verdicts
from flowgauge.errors import NotMeasured


@click.command("compare")
@click.argument("candidate")
@click.argument("baseline")
@policy_options
@click.option("--nodes/--no-nodes", default=True, help="Look at each node's time, too. Default: yes.")
@out_options
@json_option
@db_option
def command(candidate: str, baseline: str, nodes: bool, db: str | None, **options: Any) -> int:
    """Hold one stored benchmark against another: pass rates, latency, cost, tokens, scores, nodes.

    \b
    Either is a benchmark's sid, a bench id[:configuration], `latest`, a baseline's name or an ingested subject;
    BASELINE may also be merge-base:BRANCH or newest:NAME-PREFIX.

    Exit code: 0 compared, whatever was found (`gate` decides), 2 usage, 3 could not be compared.
    """
    from flowgauge.app.comparing import compare_stored
    from flowgauge.app.workspace import opened_store

    policy = policy_from(options)
    with opened_store(db) as store:
        compared = compare_stored(store, candidate, baseline, policy, with_nodes=nodes)
    show_verdicts(compared, None, options)
    if compared.comparison.attempt != "ok":
        raise NotMeasured(f"Not compared ({compared.comparison.attempt}): {compared.comparison.reason}")
    return 0
