"""`flowgauge gate`: may it ship?"""

from __future__ import annotations

from typing import Any

import click

from flowgauge.cli.options import db_option, json_option
from flowgauge.cli.verdicts import out_options, policy_from, policy_options, show_verdicts
from flowgauge.errors import UsageError


@click.command("gate")
@click.argument("candidate", default="latest")
@click.option(
    "--baseline", default="", metavar="NAME", help="A baseline, a benchmark, merge-base:BRANCH or newest:NAME-PREFIX. Not needed by limits."
)
@policy_options
@out_options
@json_option
@db_option
def command(candidate: str, baseline: str, db: str | None, **options: Any) -> int:
    """Decide whether CANDIDATE may ship, held against a baseline.

    CANDIDATE is a benchmark's sid, a bench id[:configuration], `latest` (the default) or an ingested subject.

    Exit code: 0 no regression, 1 regressed, 2 usage or bad file, 3 not measured. The baseline is never moved.
    """
    from flowgauge.app.comparing import compare_stored, gate_stored
    from flowgauge.app.policies import needs_no_baseline
    from flowgauge.app.workspace import opened_store

    policy = policy_from(options)
    if not baseline and not needs_no_baseline(policy):
        raise UsageError(
            "A gate needs something to hold the candidate against.",
            remedy="Add --baseline NAME, or a --policy with limits, k_of_n or history.",
        )
    with opened_store(db) as store:
        compared = compare_stored(store, candidate, baseline, policy)
        gate = gate_stored(store, compared, policy, policy_name=str(options["policy_file"] or ""))
    show_verdicts(compared, gate, options)
    return gate.exit_code
