"""`flowgauge plan`: how many runs a comparison needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from flowgauge.cli.options import Finite, db_option, json_option, print_json
from flowgauge.cli.verdicts import policy_from, policy_options
from flowgauge.errors import UsageError

if TYPE_CHECKING:
    from flowgauge.model.calibration import RunsPlan
    from flowgauge.model.gate import Policy


@click.command("plan")
@click.argument("benchmark", required=False, default="")
@policy_options
@click.option("--effect", "effects", multiple=True, type=Finite(), help="Harm to be seen: 0.2 is 20 %; repeat. Default: 0.1, 0.2, 0.5.")
@click.option("--power", default=0.8, show_default=True, type=Finite(0.01, 0.999), help="How likely it is to be seen.")
@click.option("--variation", type=Finite(0, min_open=True), help="Without BENCHMARK: spread of a run by its mean, such as 0.3.")
@click.option("--rate", type=Finite(0, 1), help="Without BENCHMARK: a pass rate, such as 0.9.")
@json_option
@db_option
def command(benchmark: str, **options: Any) -> None:
    """Tell how many runs a comparison needs to see an effect.

    The spread is that of BENCHMARK (a sid, a bench id[:configuration], a baseline, `latest`), or given by --variation or --rate.
    """
    from flowgauge.report.lists import runs_plan_table
    from flowgauge.report.play import show

    policy = policy_from(options)
    effects = options["effects"] or (0.1, 0.2, 0.5)
    plans = [plan for effect in effects for plan in _plans(benchmark, policy, effect, options)]
    if options["as_json"]:
        print_json({"plans": plans})
    else:
        show(runs_plan_table(plans))


def _plans(benchmark: str, policy: Policy, effect: float, options: dict[str, Any]) -> list[RunsPlan]:
    from flowgauge.app.calibrating import planned, rate_plan, spread_plan, variation_spread
    from flowgauge.app.sides import find_side
    from flowgauge.app.workspace import opened_store

    power = options["power"]
    if options["variation"] is not None:
        return [spread_plan(variation_spread(options["variation"]), "given", policy.tolerance, policy.alpha, effect, power)]
    if options["rate"] is not None:
        return [rate_plan(options["rate"], "success_rate", policy.tolerance, policy.alpha, effect, power)]
    if not benchmark:
        raise UsageError("A plan needs a spread to go by.", remedy="Name a BENCHMARK, or give --variation 0.3 or --rate 0.9.")
    with opened_store(options["db"]) as store:
        side = find_side(store, benchmark)
        names = options["only"] or ("success_rate", "duration_ms")
        return [planned(store, side, metric, policy, effect=effect, power=power) for metric in names]
