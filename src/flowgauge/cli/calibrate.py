"""`flowgauge calibrate`: how good the gate itself is."""

from __future__ import annotations

from typing import Any

import click

from flowgauge.cli.options import Finite, db_option, json_option, print_json
from flowgauge.cli.verdicts import policy_from, policy_options


@click.command("calibrate")
@click.argument("benchmark", default="latest")
@policy_options
@click.option("--runs", multiple=True, type=click.IntRange(2), help="Runs of each case on either side; repeat. Default: 5, 10, 30.")
@click.option("--effect", "effects", multiple=True, type=Finite(), help="Harm to be found: 0.2 is 20 %; repeat. Default: 0.1, 0.2, 0.5.")
@click.option("--pairs", default=500, show_default=True, type=click.IntRange(10, 100_000), help="Pairs of sides drawn for each figure.")
@click.option("--seed", default=0, show_default=True, help="Of the drawing.")
@json_option
@db_option
def command(benchmark: str, as_json: bool, db: str | None, **options: Any) -> None:
    """Tell how good the gate itself is: its false alarms and its power, on measured samples.

    Both sides are drawn from the samples of BENCHMARK; the candidate's are then made worse by each effect.
    """
    from flowgauge.app.calibrating import calibrated
    from flowgauge.app.sides import find_side
    from flowgauge.app.workspace import opened_store
    from flowgauge.report.lists import calibration_table
    from flowgauge.report.play import show

    policy = policy_from(options)
    asked = {
        "runs": options["runs"] or (5, 10, 30),
        "effects": options["effects"] or (0.1, 0.2, 0.5),
        "pairs": options["pairs"],
        "seed": options["seed"],
    }
    with opened_store(db) as store:
        side = find_side(store, benchmark)
        rows = [row for metric in options["only"] or ("duration_ms",) for row in calibrated(store, side, metric, policy, **asked)]
    if as_json:
        print_json({"benchmark": side.benchmark.sid, "calibrations": rows})
    else:
        show(calibration_table(rows))
