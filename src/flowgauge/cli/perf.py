"""`flowgauge perf`: episodes in worker processes, their artifacts, thresholds and drift."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowgauge.cli.options import Finite, db_option, json_option, print_json

if TYPE_CHECKING:
    from flowgauge.app.perf import PerfOutcome, PerfRequest
    from flowgauge.perf.files import SeriesRow

FILE = click.Path(dir_okay=False, path_type=Path)
EVERY_S = 0.1


@click.command("perf")
@click.argument("scenario", required=False, type=FILE)
@click.option("--episodes", "-n", default=24, show_default=True, type=click.IntRange(1), help="How many, over all rows.")
@click.option("--workers", "-j", default=4, show_default=True, type=click.IntRange(1, 512), help="Processes that run them.")
@click.option("--strict-spec", is_flag=True, help="Check every run artifact against its schema; a violation fails the episode.")
@click.option("--compress", is_flag=True, help="Put the final files into a zip, too.")
@click.option("--charts", is_flag=True, help="Draw latency, memory, CPU and growth: SVG, PNG and an HTML page.")
@click.option(
    "--output-dir",
    default="deliverables/perf",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the files go.",
)
@click.option("--timeout", default=180.0, show_default=True, type=Finite(0, min_open=True), metavar="S", help="One episode at the most.")
@click.option("--repeats", default=2, show_default=True, type=click.IntRange(0), help="Seeds of every row to run once more at the end.")
@click.option("--threshold", "thresholds", multiple=True, metavar="LINE", help="Such as 'max_wall_clock_s<=15'; instead of the default.")
@click.option("--thresholds", "threshold_file", type=FILE, help="A file of such lines, instead of all defaults.")
@click.option("--compare", type=click.Path(path_type=Path), help="The manifest of an earlier run to be held against.")
@click.option("--any-machine", is_flag=True, help="Compare although the earlier run was made on another class of machine.")
@click.option("--env-file", type=FILE, help="NAME=value lines for the environment.")
@click.option("--no-progress", is_flag=True, help="No live line.")
@json_option
@db_option
def command(**options: Any) -> int:
    """Run a scenario's episodes in worker processes and judge what they did.

    Without SCENARIO the built-in one runs: offline, the same on every machine.

    Exit code: 0 all thresholds kept, 1 one is broken (its line is shown), 2 bad file or usage, 3 nothing could be measured or
    not everything written, 130 interrupted.
    """
    from flowgauge.app.environment import load_env_file

    if options["env_file"]:
        load_env_file(options["env_file"])
    sys.path.insert(0, str(Path.cwd()))
    outcome = asyncio.run(_perf(options))
    _show(outcome, as_json=options["as_json"])
    if options["charts"]:
        _tell_missing(outcome)
    return outcome.exit_code


def request_of(options: dict[str, Any]) -> PerfRequest:
    """What the options ask for."""
    from flowgauge.app.perf import PerfRequest
    from flowgauge.model.redaction import Redactor, secrets_of

    names = ("scenario", "episodes", "workers", "compress", "charts", "output_dir", "repeats", "thresholds", "threshold_file", "compare")
    return PerfRequest(
        **{name: options[name] for name in names},
        timeout_s=options["timeout"],
        strict=options["strict_spec"],
        any_machine=options["any_machine"],
        db=options["db"] or "",
        command=Redactor(secrets_of(os.environ))(shlex.join(["flowgauge", *sys.argv[1:]])),
    )


async def _perf(options: dict[str, Any]) -> PerfOutcome:
    from flowgauge.app.perf import run_perf

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    running = asyncio.current_task()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _stop, stop, running)
    line = LiveLine(options["episodes"], draws=not options["no_progress"] and sys.stderr.isatty())
    try:
        return await run_perf(request_of(options), stop=stop, told=line.told)
    except asyncio.CancelledError:
        raise click.Abort from None
    finally:
        line.end()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _stop(stop: asyncio.Event, running: asyncio.Task[Any] | None) -> None:
    """The first time, report what there is; the second time, leave."""
    if stop.is_set() and running is not None:
        running.cancel()
    elif not stop.is_set():
        click.echo("\nStopping: episodes under way are given up, those that have ended are reported.", err=True)
        stop.set()


class LiveLine:
    """One line on stderr: done/total, rate, failures, time left."""

    def __init__(self, total: int, *, draws: bool) -> None:
        self._total = total
        self._draws = draws
        self._done = self._failed = 0
        self._begun = 0.0
        self._drawn = 0.0

    def told(self, row: SeriesRow) -> None:
        """An episode has ended."""
        now = time.monotonic()
        self._begun = self._begun or now
        self._done += 1
        self._failed += not row.success
        if self._draws and (now - self._drawn > EVERY_S or self._done == self._total):
            self._drawn = now
            click.echo(f"\r\x1b[2K{self.line(now)}", nl=False, err=True)

    def line(self, now: float) -> str:
        """What stands there."""
        rate = self._done / max(now - self._begun, 1e-6)
        left_s = (self._total - self._done) / rate
        return f"{self._done}/{self._total} episodes · {rate:,.0f}/s · {self._failed} failed · {left_s:.0f} s left"

    def end(self) -> None:
        """Leave the line."""
        if self._draws:
            click.echo("\r\x1b[2K", nl=False, err=True)


def _tell_missing(outcome: PerfOutcome) -> None:
    from flowgauge.perf.charts import not_drawn

    for line in not_drawn(outcome.series):
        click.echo(line, err=True)


def _show(outcome: PerfOutcome, *, as_json: bool) -> None:
    """Results on stdout; what is broken on stderr."""
    from flowgauge.perf.words import WIDTH, broken_lines, text

    if as_json:
        print_json({"manifest": outcome.manifest, "summary": outcome.summary, "metrics": outcome.metrics})
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
        click.echo(text(outcome.manifest, outcome.summary, outcome.metrics, outcome.series, str(outcome.folder), width))
    for line in broken_lines(outcome.summary):
        click.echo(line, err=True)
    if outcome.trouble:
        ended = f"{outcome.summary.episodes} of {outcome.manifest.episodes} episodes had ended"
        click.echo(f"error: {outcome.trouble} {ended}.", err=True)
    elif outcome.manifest.interrupted:
        ended = f"{outcome.summary.episodes} of {outcome.manifest.episodes} episodes had ended"
        click.echo(f"Interrupted. {ended}; what they left is written.", err=True)
