"""`flowgauge registry`: adapters that measure a system."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flowgauge.cli.ending import ending_tidily
from flowgauge.cli.options import Finite, db_option, json_option, print_json

if TYPE_CHECKING:
    from flowgauge.app.registry import Registry
    from flowgauge.registry.adapter import Outcome
    from flowgauge.registry.installing import Plan

Command = TypeVar("Command", bound=Callable[..., Any])
NOT_MEASURED = 3


def settings_option(command: Command) -> Command:
    """--settings and --time-limit, for what runs adapters."""
    words = "Settings of adapters. Default: registry.yaml in the data folder, if it is there."
    limit = click.option("--time-limit", "time_limit_s", type=Finite(0, 86_400, min_open=True), help="Seconds for each adapter.")
    file = click.option("--settings", "settings_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help=words)
    return file(limit(command))


@contextlib.contextmanager
def opened_registry(db: str | None, settings_file: Path | None = None, time_limit_s: float | None = None) -> Iterator[Registry]:
    """With its store, and the data folder that goes with it."""
    from flowgauge.app.data_folder import data_folder
    from flowgauge.app.registry import Registry
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        yield Registry(store, data_folder(db), settings_file=settings_file, time_limit_s=time_limit_s)


@click.group("registry")
def command() -> None:
    """Adapters that measure a system: list, run, install, remove."""


@command.command("list")
@settings_option
@json_option
@db_option
def list_all(settings_file: Path | None, time_limit_s: float | None, as_json: bool, db: str | None) -> None:
    """List adapters, and what each would miss here."""
    with opened_registry(db, settings_file, time_limit_s) as registry:
        found = registry.list_benchmarks()
    if as_json:
        print_json({"adapters": found})
        return
    from flowgauge.report.play import show
    from flowgauge.report.registry import adapter_table

    show(adapter_table([(each.name, each.tier, each.source, each.error or each.missing, bool(each.error)) for each in found]))


@command.command("run")
@click.argument("names", nargs=-1, metavar="[ADAPTER]...")
@click.option("--tier", type=click.Choice(["fast", "heavy", "all"]), default="fast", show_default=True, help="Where no adapter is named.")
@settings_option
@json_option
@db_option
def run(names: tuple[str, ...], tier: Any, settings_file: Path | None, time_limit_s: float | None, as_json: bool, db: str | None) -> int:
    """Run adapters and show what they measure; nothing is kept.

    ADAPTER is a name of `registry list`, or workflow:NAME for the stored benchmarks of a workflow, a bench or an ingested subject.

    Exit code: 0, or 3 where an adapter failed or nothing was measured.
    """
    with ending_tidily(), opened_registry(db, settings_file, time_limit_s) as registry:
        outcomes = registry.run(names, tier=tier, tell=None if as_json else tell_outcome)
    if as_json:
        print_json({"outcomes": outcomes})
    return exit_code(outcomes)


@command.command("install")
@click.argument("repo_url", metavar="REPOSITORY")
@click.option("--name", required=True, help="What the adapter is called here.")
@click.option("--commit", default="", help="The whole commit id. Default: the newest of the repository's main branch, pinned.")
@click.option("--gpu", "requires_gpu", is_flag=True, help="It needs a GPU; without one it is skipped.")
@click.option("--min-vram-gb", type=Finite(0), default=0.0, help="GPU memory that it needs, in GB.")
@click.option("--env", multiple=True, metavar="NAME", help="A variable that it may see when it runs; repeat for more.")
@click.option("--yes", is_flag=True, help="Agree to what will run, without a prompt.")
@json_option
@db_option
def install(repo_url: str, name: str, as_json: bool, db: str | None, yes: bool, **options: Any) -> None:
    """Install an adapter from a git REPOSITORY, into a virtual environment of its own.

    REPOSITORY is https://HOST/PATH, ssh://HOST/PATH, USER@HOST:PATH or a folder. What will run is shown, and runs only if you agree.
    """
    with ending_tidily(), opened_registry(db) as registry:
        made = registry.discover_and_install(repo_url, name, consent=lambda plan: _agreed(plan, yes=yes), **options)
    if as_json:
        print_json(made)
    else:
        click.echo(f"{made.name} is installed, at {made.commit[:12]}. Run it: flowgauge registry run {made.name}")


@command.command("remove")
@click.argument("name")
@db_option
def remove(name: str, db: str | None) -> None:
    """Remove an adapter that was installed from a repository, with its environment."""
    with opened_registry(db) as registry:
        gone = registry.remove(name)
    click.echo(f"{gone.name} is removed.")


def _agreed(plan: Plan, *, yes: bool) -> bool:
    lines = [
        f"{plan.name} will be installed from {plan.url}, commit {plan.commit}, into {plan.folder}:",
        *(f"  {each}" for each in plan.commands),
        "Its code runs with your rights, now and at every run; the environment keeps packages apart, and is no protection.",
    ]
    if plan.env:
        lines.append(f"It will see these variables: {', '.join(plan.env)}.")
    click.echo("\n".join(lines), err=True)
    return yes or _confirmed()


def _confirmed() -> bool:
    """Where nobody is there to answer, nobody agreed."""
    try:
        return click.confirm("Install it?", err=True)
    except click.Abort as abort:
        if isinstance(abort.__context__, EOFError):
            return False
        raise


def tell_outcome(outcome: Outcome) -> None:
    """As it comes."""
    from flowgauge.report.play import show
    from flowgauge.report.registry import outcome_lines

    for line in outcome_lines(outcome.adapter, outcome.status, outcome.reason, outcome.metrics):
        show(line)


def exit_code(outcomes: tuple[Outcome, ...]) -> int:
    """3 where something failed or nothing was measured."""
    statuses = {outcome.status for outcome in outcomes}
    return 0 if "measured" in statuses and "error" not in statuses else NOT_MEASURED
