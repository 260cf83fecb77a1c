"""`flowgauge run`: one play of a workflow, followed live."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowgauge.cli.options import db_option, json_option, print_json, read_inputs_file
from flowgauge.cli.playing import exit_code, follow, show_play

if TYPE_CHECKING:
    from flowgauge.app.workflows import Saved
    from flowgauge.app.workspace import Workspace
    from flowgauge.model.play import Play

ISOLATION = click.Choice(["auto", "landlock", "process"])


@click.command("run")
@click.argument("target")
@click.option("--input", "-i", "inputs", multiple=True, metavar="NAME=VALUE", help="An input; repeat for more.")
@click.option("--input-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="YAML or JSON with input values.")
@click.option("--config", "-c", "config", multiple=True, metavar="KEY=VALUE", help="Laid over the workflow's config.")
@click.option("--example", help="Start from the inputs of a stored example.")
@click.option("--version", "version", default="", help="Which version of a stored workflow: number, sid or hash. Default: the one in use.")
@click.option("--name", default="", help="A name for the play.")
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), help="Write every exchange to a recording.")
@click.option("--replay", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Answer every exchange from a recording.")
@click.option("--isolation", type=ISOLATION, default="auto", show_default=True, help="What python nodes run in.")
@click.option("--quiet", "-q", is_flag=True, help="Print the output alone.")
@json_option
@db_option
def command(**options: Any) -> int:
    """Run a workflow and show every node's time, tokens and cost.

    TARGET is a workflow file, or the name or sid of a stored workflow.

    Exit code: 0 success, 1 the play failed or timed out, 2 bad file or inputs, 4 budget exhausted, 130 interrupted.
    """
    if options["record"] and options["replay"]:
        raise click.UsageError("--record and --replay exclude each other.")
    return asyncio.run(_run(options))


async def _run(options: dict[str, Any]) -> int:
    from flowgauge.app.hosted import open_hosted
    from flowgauge.app.tracing import send_play, trace_id_here
    from flowgauge.app.workflows import find_target

    async with open_hosted(options["db"], isolation=options["isolation"], record=options["record"], replay=options["replay"]) as workspace:
        saved = find_target(workspace.store, options["target"], options["version"])
        for warning in (*workspace.warnings, *saved.warnings):
            click.echo(f"warning: {warning}", err=True)
        play = await _play(workspace, saved, options)
        runs = workspace.store.get_node_runs(play.sid)
        trouble = await asyncio.to_thread(send_play, trace_id_here(), saved.record.name, play, runs)
    if trouble:
        click.echo(f"warning: {trouble}", err=True)
    if options["as_json"]:
        print_json({"play": play, "node_runs": runs})
    else:
        show_play(play, runs, saved, quiet=options["quiet"])
    return exit_code(play)


async def _play(workspace: Workspace, saved: Saved, options: dict[str, Any]) -> Play:
    from flowgauge.app.plays import start_play
    from flowgauge.define.inputs import parse_assignments
    from flowgauge.define.overrides import override_workflow, parse_config
    from flowgauge.nodes.codec import read_workflow

    workflow = read_workflow(saved.version.content)
    values: dict[str, Any] = {}
    if options["example"]:
        values |= workspace.store.get_example(saved.record.sid, options["example"]).input_values
    if options["input_file"]:
        values |= read_inputs_file(options["input_file"])
    values |= parse_assignments(workflow, options["inputs"])
    config = parse_config(options["config"])
    override_workflow(workflow, {"config": config}, "--config")
    live = not (options["as_json"] or options["quiet"])
    with follow(workflow, live=live) as listener:
        work = start_play(workspace, saved.version, values, config=config, name=options["name"], listener=listener)
        return await interruptible(workspace, work)


async def interruptible(workspace: Workspace, work: Any) -> Play:
    """Ctrl-C cancels the play, which is stored as cancelled, rather than tearing it down."""
    import signal

    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)

    def stop() -> None:
        for sid in workspace.engine.running:
            workspace.engine.cancel(sid)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        play: Play = await task
        return play
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
