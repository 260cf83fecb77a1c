"""`flowgauge record`: one episode, run twice and sealed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowgauge.cli.options import Finite, db_option, json_option, print_json, read_inputs_file

if TYPE_CHECKING:
    from flowgauge.perf.replay.recording import Recorded

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("record")
@click.argument("target", default="")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="The bundle: a zip where it ends in .zip, else a folder.")
@click.option("--episode", type=click.IntRange(1), help="Which episode of a scenario, from 1, as perf counts them. Default: the first.")
@click.option("--seed", type=int, help="Another seed than the episode's own.")
@click.option("--input", "-i", "inputs", multiple=True, metavar="NAME=VALUE", help="An input of a workflow or function; repeat for more.")
@click.option("--input-file", type=_FILE, help="YAML or JSON with input values.")
@click.option("--config", "-c", "config", multiple=True, metavar="KEY=VALUE", help="Laid over a workflow's config.")
@click.option("--timeout", "timeout_s", default=180.0, show_default=True, type=Finite(0, min_open=True), help="Seconds a run.")
@click.option("--live-twice", is_flag=True, help="Call out in the second run, too: what is called must answer alike.")
@click.option("--sign", "key_file", type=_FILE, help="Sign with this Ed25519 key (PEM or OpenSSH). Needs the extra sign.")
@json_option
@db_option
def command(**options: Any) -> int:
    """Run an episode twice and seal it in a bundle if both runs agree.

    TARGET is a scenario file, a workflow file, a function (agents.py:explorer) or the name of a stored workflow.
    Default: the built-in scenario.

    Exit code: 0 sealed, 1 the runs differ and nothing was written, 2 bad file or inputs, 3 could not be run.
    """
    from flowgauge.perf.replay.recording import why_different

    recorded = asyncio.run(_record(options))
    if options["as_json"]:
        print_json(
            {
                "bundle": None if recorded.changes else str(recorded.path),
                "sealed": not recorded.changes,
                "calls": recorded.calls,
                "network": recorded.network or None,
                "changes": recorded.changes,
                "why": why_different(recorded) or None,
                "run": recorded.run,
                "again": recorded.again,
            }
        )
    else:
        _show(recorded)
    return 1 if recorded.changes else 0


async def _record(options: dict[str, Any]) -> Recorded:
    from flowgauge.app.record import Subject, record_episode
    from flowgauge.define.overrides import parse_config
    from flowgauge.perf.replay.recording import Wish

    subject = Subject(
        target=options["target"],
        episode=options["episode"],
        seed=options["seed"],
        inputs=read_inputs_file(options["input_file"]) if options["input_file"] else {},
        spoken=options["inputs"],
        config=parse_config(options["config"]),
        timeout_s=options["timeout_s"],
        db=options["db"] or "",
    )
    wish = Wish(path=options["out"], key_file=options["key_file"], live_twice=options["live_twice"])
    return await record_episode(subject, wish)


def _show(recorded: Recorded) -> None:
    from flowgauge.perf.replay.recording import why_different
    from flowgauge.perf.replay.wording import change_lines, first_step, run_line
    from flowgauge.report.words import plural

    click.echo(f"1st run  {run_line(recorded.run)}")
    click.echo(f"2nd run  {run_line(recorded.again)}")
    if not recorded.changes:
        click.echo(f"sealed {recorded.path} · {plural(recorded.calls, 'call')} recorded")
        return
    click.echo(f"The runs differ{first_step(recorded.changes)}, so nothing is sealed:")
    for change in recorded.changes:
        for line in change_lines(change):
            click.echo(f"  {line}")
    if why := why_different(recorded):
        click.echo(why)
