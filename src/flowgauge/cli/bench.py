"""`flowgauge bench`: one target, N configurations, one report."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowgauge.cli.options import Finite, db_option, json_option, report_options
from flowgauge.errors import UsageError

if TYPE_CHECKING:
    from flowgauge.app.bench import BenchOutcome, BenchRequest, Follower
    from flowgauge.app.until_decided import Decided
    from flowgauge.app.workspace import Workspace

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("bench")
@click.argument("workflow", required=False, default="")
@click.option("--configs", type=FILE, help="The bench file: configurations, cases, checks.")
@click.option("--target", default="", help="No workflow but python:pkg.mod:fn, command:…, http://… or langgraph:pkg.mod:graph.")
@click.option("--version", "version", default="", help="Which version of a stored workflow: number, sid or hash.")
@click.option("--runs", type=click.IntRange(1), help="Runs of each cell, instead of the file's.")
@click.option("--max-concurrency", "-j", type=click.IntRange(1), help="Trials at once, instead of the file's.")
@click.option("--filter", "filters", multiple=True, metavar="KEY=GLOB", help="Only some: config=mini, case=short*, tag.k=v.")
@click.option("--limit", type=click.IntRange(1), help="The first N cases only.")
@click.option("--tag", "tags", multiple=True, metavar="K=V", help="Kept with the bench and its benchmarks.")
@click.option("--seed", type=int, help="Of the order of trials.")
@click.option("--budget", type=Finite(0, min_open=True), metavar="USD", help="Stop starting trials when it would be spent.")
@click.option("--dry-run", is_flag=True, help="Show the plan, its expected cost and duration; make no call.")
@click.option("--bench-id", default="", help="Call a new bench this, or continue the one of this id.")
@click.option("--new", is_flag=True, help="Begin another bench, whatever was left unfinished.")
@click.option("--extend", default="", metavar="BENCH", help="Add configurations, cases or runs to a finished bench.")
@click.option(
    "--resume",
    default="",
    is_flag=False,
    flag_value="latest",
    metavar="[BENCH]",
    help="Finish a bench as it was defined; the newest by default.",
)
@click.option("--retry-errors", default="", metavar="BENCH", help="Run again what failed by no fault of the target.")
@click.option("--fail-under", multiple=True, metavar="METRIC=VALUE", help="Exit code 1 where a configuration does not reach it.")
@click.option("--until-decided", is_flag=True, help="Run more and more until the gate against --baseline is decided; --runs at the most.")
@click.option("--baseline", default="", metavar="NAME", help="What --until-decided decides against.")
@click.option("--policy", "policy_file", type=FILE, help="The gate file of --until-decided.")
@click.option("--cache/--no-cache", default=None, help="Keep answers per repetition and use them again. Default: off.")
@click.option("--executor", type=click.Choice(["local", "process"]), default="local", show_default=True, help="Where trials run.")
@click.option("--workers", type=click.IntRange(1), help="Processes, with --executor process.")
@click.option(
    "--isolation", type=click.Choice(["auto", "landlock", "process"]), default="auto", show_default=True, help="What python nodes run in."
)
@click.option("--env-file", type=FILE, help="NAME=value lines for the environment.")
@report_options
@click.option("--no-progress", is_flag=True, help="No live line.")
@json_option
@db_option
def command(**options: Any) -> int:
    """Run a target in every configuration and report on all of them.

    WORKFLOW is a file or a stored workflow; --target names anything else. The same command again continues what was interrupted.

    Exit code: 0 measured (failed trials are in the report), 1 --fail-under not met or regressed, 2 bad file or usage, 3 nothing could be
    measured, 4 budget exhausted, 130 interrupted.
    """
    from flowgauge.app.environment import load_env_file
    from flowgauge.compare.limits import read_bounds
    from flowgauge.report.formats import format_of

    if options["env_file"]:
        load_env_file(options["env_file"])
    bounds = read_bounds(options["fail_under"])
    for path in options["outs"]:
        format_of(path, options["report_format"])
    sys.path.insert(0, str(Path.cwd()))
    if options["dry_run"]:
        return _dry_run(options)
    from flowgauge.cli.benching import conclude, conclude_decided

    if options["until_decided"]:
        return conclude_decided(asyncio.run(_until_decided(options)), bounds)
    if options["baseline"] or options["policy_file"]:
        raise UsageError("--baseline and --policy go with --until-decided.", remedy="Add it, or gate afterwards: flowgauge gate latest")
    return conclude(asyncio.run(_bench(options)), bounds)


def request_of(options: dict[str, Any]) -> BenchRequest:
    """What the options ask for."""
    from flowgauge.app.bench import BenchRequest

    tags = dict(pair.partition("=")[::2] for pair in options["tags"])
    over = {
        "runs": options["runs"],
        "max_concurrency": options["max_concurrency"],
        "filters": options["filters"],
        "limit": options["limit"],
        "tags": tags,
        "seed": options["seed"],
        "budget_usd": options["budget"],
        "cache": options["cache"],
    }
    names = ("workflow", "target", "version", "configs", "bench_id", "new", "extend", "resume", "retry_errors")
    return BenchRequest(
        **{name: options[name] for name in names},
        options=over,
        executor=options["executor"],
        workers=options["workers"],
        isolation=options["isolation"],
        db=options["db"] or "",
    )


def _dry_run(options: dict[str, Any]) -> int:
    from flowgauge.app.bench_plan import preview
    from flowgauge.app.workspace import opened_store
    from flowgauge.cli.benching import show_preview

    with opened_store(options["db"]) as store:
        show_preview(preview(store, request_of(options)), as_json=options["as_json"])
    return 0


async def _bench(options: dict[str, Any]) -> BenchOutcome:
    from flowgauge.app.bench import run_bench

    async with _running(options) as (workspace, follower, stop):
        outcome = await run_bench(workspace, request_of(options), follower=follower, stop=stop)
        _tell(workspace, outcome, options)
    return outcome


async def _until_decided(options: dict[str, Any]) -> Decided:
    from flowgauge.app.policies import policy_of
    from flowgauge.app.until_decided import run_until_decided

    asked = {"baseline": options["baseline"], "policy": policy_of(options["policy_file"]), "policy_name": str(options["policy_file"] or "")}
    async with _running(options) as (workspace, follower, stop):
        decided = await run_until_decided(workspace, request_of(options), **asked, follower=follower, stop=stop)
        _tell(workspace, decided.outcome, options)
    return decided


@contextlib.asynccontextmanager
async def _running(options: dict[str, Any]) -> AsyncIterator[tuple[Workspace, Follower, asyncio.Event]]:
    """A workspace, somebody who draws, and an event that Ctrl-C sets."""
    from flowgauge.app.hosted import open_hosted
    from flowgauge.cli.benching import following

    async with open_hosted(options["db"], isolation=options["isolation"]) as workspace:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _stop, stop)
        with following(quiet=options["no_progress"]) as follower:
            yield workspace, follower, stop


def _tell(workspace: Workspace, outcome: BenchOutcome, options: dict[str, Any]) -> None:
    """The report. Ctrl-C ends it as it ends any command."""
    from flowgauge.cli.benching import report

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)
    for warning in outcome.warnings:
        click.echo(f"warning: {warning}", err=True)
    report(workspace.store, outcome.summary, options, command=workspace.redact(shlex.join(["flowgauge", *sys.argv[1:]])))


def _stop(stop: asyncio.Event) -> None:
    if not stop.is_set():
        click.echo("\nStopping: no more trials are started; those under way may still end.", err=True)
    stop.set()
