"""What `compare`, `gate`, `trend` and `bench --until-decided` share: a policy's options, and how verdicts are shown."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flowgauge.cli.options import Finite
from flowgauge.errors import UsageError

if TYPE_CHECKING:
    from flowgauge.app.comparing import Compared
    from flowgauge.model.gate import Policy
    from flowgauge.model.verdict import GateResult, Trend
    from flowgauge.report.compare_source import CompareSource
    from flowgauge.report.format import Format

Command = TypeVar("Command", bound=Callable[..., Any])
T = TypeVar("T")

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_POLICY = (
    click.option("--policy", "policy_file", type=FILE, help="A gate file: rules, tolerances, limits."),
    click.option("--rule", type=click.Choice(["detect", "prove", "threshold"]), help="detect (default): is there evidence of harm?"),
    click.option("--tolerance", type=Finite(0, 1, max_open=True), help="Harm that is let pass: 0.05 (default) is 5 %."),
    click.option("--metric", "only", multiple=True, help="Judge only this metric; repeat for more."),
    click.option("--strict", is_flag=True, default=None, help="Refuse what is not comparable (exit code 3)."),
    click.option("--count-all-failures", is_flag=True, default=None, help="Count infrastructure failures in pass rates too."),
)
COMPARE_REPORTS = ("markdown", "pr-comment", "html", "json", "junit", "svg", "png")
TREND_REPORTS = ("markdown", "html", "json", "svg", "png")


def policy_options(command: Command) -> Command:
    """The options of a gate's policy."""
    for option in reversed(_POLICY):
        command = option(command)
    return command


def policy_from(options: Mapping[str, Any]) -> Policy:
    """The file with what the command line says over it."""
    from flowgauge.app.policies import policy_of

    names = ("rule", "tolerance", "strict", "count_all_failures")
    return policy_of(options["policy_file"], only=options["only"] or None, **{name: options[name] for name in names})


def out_options(command: Command) -> Command:
    """--report and --out, for comparisons."""
    return _outs(command, COMPARE_REPORTS)


def trend_out_options(command: Command) -> Command:
    """--report and --out, for trends."""
    return _outs(command, TREND_REPORTS)


def _outs(command: Command, reports: Sequence[str]) -> Command:
    path = click.Path(dir_okay=False, path_type=Path)
    command = click.option("--out", "-o", "outs", multiple=True, type=path, help="Write a report; repeat for more.")(command)
    words = "What to print, or to write to --out. Default: markdown, or by --out's name."
    return click.option("--report", "report_format", type=click.Choice(reports), help=words)(command)


def show_verdicts(compared: Compared, gate: GateResult | None, options: Mapping[str, Any]) -> None:
    """Print the verdicts, write what --out names, and tell GitHub where it listens."""
    from flowgauge.app.comparing import distributions_of
    from flowgauge.report.compare_formats import COMPARE_FORMATS
    from flowgauge.report.compare_source import compare_source
    from flowgauge.report.compare_terminal import compare_view

    source = compare_source(
        gate or compared.comparison,
        distributions=distributions_of(compared),
        command=shlex.join(["flowgauge", *sys.argv[1:]]),
    )
    _tell_github(source)
    _show(source, options, COMPARE_FORMATS, compare_view)


def show_on_stderr(gate: GateResult) -> None:
    """The gate's answer beside a report that has stdout."""
    from rich.console import Console

    from flowgauge.report.compare_source import compare_source
    from flowgauge.report.compare_terminal import compare_view

    source = compare_source(gate)
    _tell_github(source)
    Console(stderr=True, highlight=False).print(compare_view(source))


def show_trends(trends: Sequence[Trend], options: Mapping[str, Any]) -> None:
    """The same for trends."""
    from flowgauge.report.trend_formats import TREND_FORMATS
    from flowgauge.report.trend_terminal import trend_view

    _show(tuple(trends), options, TREND_FORMATS, trend_view)


def _show(source: T, options: Mapping[str, Any], formats: Mapping[str, Format[T]], view: Callable[[T], Any]) -> None:
    from flowgauge.report.format import choose, write_file
    from flowgauge.report.play import show

    for path in options["outs"]:
        write_file(path, choose(formats, path, options["report_format"]), source)
        click.echo(f"report written to {path}", err=True)
    name = "json" if options["as_json"] else options["report_format"] or "markdown"
    if options["outs"] and options["report_format"]:
        return
    if name == "markdown" and sys.stdout.isatty():
        show(view(source))
        return
    sys.stdout.flush()
    formats[name].write(source, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _tell_github(source: CompareSource) -> None:
    from flowgauge.report.gate_github import github_annotations, github_summary

    tell_github(lambda: github_summary(source), lambda: github_annotations(source))


def tell_github(summary: Callable[[], str], annotations: Callable[[], Sequence[str]]) -> None:
    """A summary of the step and lines in its log, in the files and the form that GitHub's runner names; nothing elsewhere."""
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(path).open("a", encoding="utf-8") as out:
                out.write(summary())
        except OSError as error:
            raise UsageError(f"GITHUB_STEP_SUMMARY names a file that cannot be written: {error}.", remedy="Unset it.") from error
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations():
            click.echo(line, err=True)
