"""`flowgauge upgrade-check`: may one version take the place of another?"""

from __future__ import annotations

import click

from flowgauge.cli.options import db_option, json_option, print_json
from flowgauge.cli.registry import opened_registry


@click.command("upgrade-check")
@click.argument("old")
@click.argument("new")
@click.option("--strict", is_flag=True, help="A first version, with nothing to be held against, is not let through (exit code 3).")
@json_option
@db_option
def command(old: str, new: str, strict: bool, as_json: bool, db: str | None) -> int:
    """Tell whether version NEW may take the place of OLD, by their snapshots.

    Every fast-tier metric is held to 5 %: lower than 0.95 of the old value where higher is better, higher than 1.05 of it where lower is
    better, is a regression.

    Exit code: 0 safe, 1 regressed, 2 usage or bad file, 3 not measured.
    """
    with opened_registry(db) as registry:
        found = registry.upgrade_check(old, new, strict=strict)
    if as_json:
        print_json(found)
        return found.exit_code
    from flowgauge.report.play import show
    from flowgauge.report.registry import gate_lines

    for line in gate_lines(found.lines):
        show(line)
    click.echo(f"{'safe' if found.safe else 'not safe'}: {found.reason}")
    return found.exit_code
