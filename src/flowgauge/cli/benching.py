"""How a bench is followed and reported on the terminal, for `bench` and `report`."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from flowgauge.app.bench import BenchOutcome, Follower, Started
from flowgauge.cli.options import print_json
from flowgauge.compare.limits import Bound, broken
from flowgauge.model.bench import Trial, paid_for
from flowgauge.model.benchmark import BenchSummary
from flowgauge.report import words

if TYPE_CHECKING:
    from flowgauge.app.bench_plan import Preview
    from flowgauge.app.until_decided import CutShort, Decided
    from flowgauge.store.store import Store

EVERY_S = 0.1


class LiveLine(Follower):
    """One line on stderr: done/total, rate, failures, cost so far, time left."""

    def __init__(self, *, draws: bool) -> None:
        self._draws = draws
        self._done = self._failed = self._fresh = 0
        self._total = 0
        self._cost_usd = 0.0
        self._unpriced = 0
        self._begun = time.monotonic()
        self._drawn = 0.0

    def started(self, started: Started) -> None:
        """Say what is about to run; a bench that goes on says so also where nobody watches."""
        self._done, self._total = started.done, started.done + started.left
        self._begun = time.monotonic()
        if started.how == "continued":
            click.echo(f"{started.record.bench_id}: going on, {started.done} of {self._total} trials are done", err=True)
        elif started.record.counter > 1:
            click.echo(f"{started.record.bench_id}: {self._total} trials; the one before is finished, this is another", err=True)
        elif self._draws:
            click.echo(f"{started.record.bench_id}: {self._total} trials", err=True)

    def trial(self, trial: Trial) -> None:
        """Count, and draw now and then."""
        self._done += 1
        self._fresh += 1
        self._failed += not trial.ok
        paid_usd, known = paid_for(trial)
        self._cost_usd += paid_usd
        self._unpriced += not known
        now = time.monotonic()
        if self._draws and (now - self._drawn > EVERY_S or self._done == self._total):
            self._drawn = now
            click.echo(f"\r\x1b[2K{self.line(now)}", nl=False, err=True)

    def line(self, now: float) -> str:
        """What stands there."""
        rate = self._fresh / max(now - self._begun, 1e-6)
        left_s = (self._total - self._done) / rate if rate else 0.0
        parts = [f"{self._done}/{self._total}", f"{rate:,.1f}/s", f"{self._failed} failed", words.cost(self._cost_usd, "computed")]
        if self._unpriced:
            parts.append(f"{self._unpriced} unpriced")
        if self._done < self._total:
            parts.append(f"{words.duration(left_s * 1000)} left")
        return " · ".join(parts)

    def end(self) -> None:
        """Leave the line."""
        if self._draws:
            click.echo("\r\x1b[2K", nl=False, err=True)


@contextlib.contextmanager
def following(*, quiet: bool) -> Iterator[LiveLine]:
    """A follower that draws where somebody watches."""
    line = LiveLine(draws=not quiet and sys.stderr.isatty())
    try:
        yield line
    finally:
        line.end()


def report(store: Store, summary: BenchSummary, options: dict[str, Any], *, command: str = "") -> None:
    """Write what --out names; else print: Markdown, what --report names, or JSON."""
    from flowgauge.report.bench_source import Source
    from flowgauge.report.formats import FORMATS, write_report

    def trials() -> Iterator[Trial]:
        return store.iter_trials(summary.bench.uid)

    for path in options["outs"]:
        write_report(path, summary, trials, options["report_format"], command=command)
        click.echo(f"report written to {path}", err=True)
    name = "json" if options["as_json"] else options["report_format"] or "markdown"
    if options["outs"] and not options["as_json"]:
        return
    if name == "markdown" and sys.stdout.isatty():
        from flowgauge.report.bench_terminal import bench_view
        from flowgauge.report.play import show

        show(bench_view(Source(summary, trials, command)))
        return
    sys.stdout.flush()
    FORMATS[name].write(Source(summary, trials, command), sys.stdout.buffer)
    sys.stdout.buffer.flush()


def conclude(outcome: BenchOutcome, bounds: Sequence[Bound]) -> int:
    """Say what is left to be said, and the exit code."""
    bench_id = outcome.record.bench_id
    if outcome.ran.status == "interrupted":
        click.echo(f"Interrupted. What was measured is stored. Go on with: flowgauge bench --resume {bench_id}", err=True)
        return 130
    if outcome.ran.status == "budget_exceeded":
        words = f"Go on with: flowgauge bench --resume {bench_id} --budget USD (for the whole bench, what is spent included)"
        click.echo(f"The budget is spent. What was measured is stored. {words}", err=True)
        return 4
    if not any(config.overall.measured.total for config in outcome.summary.configs):
        click.echo("error: Nothing could be measured: no trial got past the infrastructure.", err=True)
        return 3
    failures = broken(outcome.summary, bounds)
    for line in failures:
        click.echo(f"fail-under: {line}", err=True)
    return 1 if failures else 0


def conclude_decided(decided: Decided, bounds: Sequence[Bound]) -> int:
    """The verdict after the report, and the exit code of gate and --fail-under together: 1 where either found harm."""
    from flowgauge.cli.verdicts import show_on_stderr

    show_on_stderr(decided.gate)
    if decided.cut_short:
        return _conclude_cut_short(decided, decided.cut_short)
    how = "decided" if decided.decided else "not decided"
    runs = words.plural(decided.runs, "run")
    click.echo(f"{how} after {words.plural(decided.looks, 'look')}, {runs} of each case", err=True)
    codes = {conclude(decided.outcome, bounds), int(decided.gate.exit_code)}
    return 1 if 1 in codes else max(codes)


def _conclude_cut_short(decided: Decided, cut: CutShort) -> int:
    """What is missing, which verdict stands, and how to go on."""
    spent = cut.by == "budget_exceeded"
    ended = "The budget ended" if spent else "Interrupted"
    stage = f"in the middle of the stage of {words.plural(cut.runs, 'run')} of each case"
    missing = f"{cut.trials} of {words.plural(cut.planned, 'trial')} are measured, {cut.planned - cut.trials} are missing"
    stands = f"look {decided.looks}, after {words.plural(decided.runs, 'run')} of each case" if decided.looks else ""
    verdict = f"The verdict is that of {stands}: not decided." if stands else "There was no look yet: not decided."
    click.echo(f"{ended} {stage}: {missing}. Looking there would raise false alarms, so nobody did. {verdict}", err=True)
    budget = " --budget USD (for the whole bench, what is spent included)" if spent else ""
    click.echo(f"Go on with the same command and --extend {decided.outcome.record.bench_id}{budget}", err=True)
    return 4 if spent else 130


def show_preview(preview: Preview, *, as_json: bool) -> None:
    """The plan of a dry run."""
    if as_json:
        print_json(preview)
        return
    estimate = preview.estimate
    cost = "unknown" if estimate.cost_usd is None else words.cost(estimate.cost_usd, "computed")
    duration = "unknown" if estimate.duration_s is None else words.duration(estimate.duration_s * 1000)
    click.echo(f"{preview.bench_id}: {preview.configs} configurations × {preview.cases} cases, {estimate.trials} trials to run")
    click.echo(f"expected cost {cost}, expected duration {duration} (from {estimate.basis})")
    for planned in preview.first:
        click.echo(f"  {planned.position:>4}  {planned.run_id}  {planned.config} · {planned.case} · run {planned.repetition + 1}")
    if estimate.trials > len(preview.first):
        click.echo(f"  … and {estimate.trials - len(preview.first)} more")
