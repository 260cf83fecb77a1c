"""`flowgauge doctor`: what is there and what is missing."""

from __future__ import annotations

import click

from flowgauge.cli.options import db_option, json_option, print_json

NEEDED = frozenset({"program", "core", "prices", "store"})
"""Areas (or package groups) without which nothing works; the others are a choice."""


@click.command("doctor")
@json_option
@db_option
def command(as_json: bool, db: str | None) -> int:
    """What is installed, which keys are set, is the store well. Exit code 3 where something needed is not."""
    from flowgauge.app.doctor import examine

    findings = examine(db)
    if as_json:
        print_json({"findings": findings})
    else:
        area = ""
        for finding in findings:
            if finding.area != area:
                area = finding.area
                click.secho(area, bold=True)
            mark = click.style("✓", fg="green") if finding.ok else click.style("–", dim=True)
            click.echo(f"  {mark} {finding.name}: {finding.detail}{'. ' + finding.remedy if finding.remedy else ''}")
    return 3 if any(not row.ok and (row.area in NEEDED or row.name in NEEDED) for row in findings) else 0
