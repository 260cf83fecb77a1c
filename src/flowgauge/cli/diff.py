"""`flowgauge diff`: two runs, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowgauge.cli.options import db_option, json_option, print_json

if TYPE_CHECKING:
    from flowgauge.perf.model import RunArtifact
    from flowgauge.perf.replay.differences import Change


@click.command("diff")
@click.argument("before")
@click.argument("after")
@json_option
@db_option
def command(before: str, after: str, as_json: bool, db: str | None) -> int:
    """Show what differs between two runs: steps, how they ended, budget, I/O.

    BEFORE and AFTER are run artifacts (.json), bundles, or plays by their sid; `latest` is the newest play.

    Exit code: 0 the same, 1 they differ, 2 one of them cannot be read.
    """
    from flowgauge.app.replay import read_run
    from flowgauge.perf.replay.differences import differences

    (one, said), (other, also) = read_run(before, db or ""), read_run(after, db or "")
    for warning in (*said, *also):
        click.echo(f"warning: {warning}", err=True)
    changes = differences(one, other)
    if as_json:
        print_json({"same": not changes, "changes": changes, "before": one, "after": other})
    else:
        _show(one, other, changes)
    return 1 if changes else 0


def _show(one: RunArtifact, other: RunArtifact, changes: tuple[Change, ...]) -> None:
    from flowgauge.perf.replay.wording import run_line, sections

    click.echo(f"before  {run_line(one)}")
    click.echo(f"after   {run_line(other)}")
    if not changes:
        click.echo("✓ the same")
    for title, lines in sections(changes):
        click.echo(title)
        for line in lines:
            click.echo(f"  {line}")
