"""`flowgauge snapshot`: the metrics of a version, kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flowgauge.cli.ending import ending_tidily
from flowgauge.cli.options import Finite, db_option, json_option, print_json
from flowgauge.cli.registry import NOT_MEASURED, opened_registry, settings_option, tell_outcome
from flowgauge.cli.verdicts import out_options, show_verdicts


@click.group("snapshot")
def command() -> None:
    """Snapshots of a version's metrics: capture, list, show, compare."""


@command.command("capture")
@click.argument("version")
@click.option("--tier", type=click.Choice(["fast", "heavy", "all"]), default="fast", show_default=True, help="Which adapters run.")
@click.option("--git-sha", default="", help="The commit that is measured. Default: the one checked out here.")
@settings_option
@json_option
@db_option
def capture(
    version: str, tier: Any, git_sha: str, settings_file: Path | None, time_limit_s: float | None, as_json: bool, db: str | None
) -> int:
    """Run the adapters of a tier and keep what they measure as VERSION.

    Tiers that are captured one after another are merged; a tier that is captured again takes the place of what it was.

    Exit code: 0, or 3 where an adapter failed or nothing was measured. The snapshot is kept either way.
    """
    with ending_tidily(), opened_registry(db, settings_file, time_limit_s) as registry:
        made = registry.capture_snapshot(version, git_sha, tier, tell=None if as_json else tell_outcome)
    if as_json:
        print_json(made)
    else:
        click.echo(f"{made.version}: {len(made.metrics)} metrics, {len(made.skipped)} adapters skipped, {len(made.errors)} failed")
    return NOT_MEASURED if made.errors or not made.metrics else 0


@command.command("list")
@json_option
@db_option
def list_all(as_json: bool, db: str | None) -> None:
    """List snapshots, oldest first. A file that cannot be read is warned of."""
    with opened_registry(db) as registry:
        found, damaged = registry.snapshots.list(), registry.snapshots.damaged()
    if as_json:
        print_json({"snapshots": found, "damaged": damaged})
        return
    for why in damaged.values():
        click.echo(f"warning: {why}", err=True)
    from flowgauge.report.play import show
    from flowgauge.report.registry import snapshot_table

    rows = [
        (each.version, ", ".join(each.tiers), each.captured_at, each.git_sha, len(each.metrics), len(each.skipped), len(each.errors))
        for each in found
    ]
    show(snapshot_table(rows))


@command.command("show")
@click.argument("version")
@json_option
@db_option
def show_one(version: str, as_json: bool, db: str | None) -> None:
    """Show the metrics of VERSION, what was skipped and what failed."""
    with opened_registry(db) as registry:
        found = registry.snapshots.get(version)
    if as_json:
        print_json(found)
        return
    from flowgauge.report.play import show
    from flowgauge.report.registry import metric_table, outcome_lines

    show(metric_table(found.metrics))
    for status, reasons in (("skipped", found.skipped), ("error", found.errors)):
        for name, why in reasons.items():
            for line in outcome_lines(name, status, why, {}):
                show(line)


@command.command("compare")
@click.argument("old")
@click.argument("new")
@click.option("--tier", type=click.Choice(["fast", "heavy", "dynamic"]), default="fast", show_default=True, help="Which metrics.")
@click.option("--tolerance", type=Finite(0, 1, max_open=True), default=0.05, show_default=True, help="Harm that is let pass.")
@out_options
@json_option
@db_option
def compare(old: str, new: str, tier: Any, tolerance: float, db: str | None, **options: Any) -> None:
    """Hold the metrics of version NEW against those of OLD, by bare thresholds.

    It shows, and decides nothing: `flowgauge upgrade-check` decides.
    """
    with opened_registry(db) as registry:
        compared = registry.snapshots.compare(old, new, tier, tolerance)
    show_verdicts(compared, None, options)
