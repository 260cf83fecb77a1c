"""`flowgauge agent`: baselines of agents."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flowgauge.cli.options import db_option, json_option, print_json
from flowgauge.errors import UsageError

if TYPE_CHECKING:
    from flowgauge.app.agents import AgentBaselines, AgentVersion

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
TRIGGERS = ("creation", "recipe_change", "prompt_change", "intelligence_change", "autoresearch_improvement")
MOST_PLAYS = 1000


def agent_arguments(command: Command) -> Command:
    """PROMPT and FLOW."""
    return click.argument("prompt_id", metavar="PROMPT")(click.argument("flow_id", metavar="FLOW")(command))


def measuring_options(command: Command) -> Command:
    """--sections and --last, for what measures."""
    words = "A JSON or YAML file of sections, instead of what would be computed."
    file = click.option("--sections", "sections_file", type=FILE, help=words)
    count = click.IntRange(1, MOST_PLAYS)
    last = click.option("--last", type=count, default=50, show_default=True, metavar="N", help="Plays that are counted, at the most.")
    return file(last(command))


@contextlib.contextmanager
def opened_agents(db: str | None) -> Iterator[AgentBaselines]:
    """With their store, and the data folder that goes with it."""
    from flowgauge.app.agents import AgentBaselines
    from flowgauge.app.data_folder import data_folder
    from flowgauge.app.workspace import opened_store

    with opened_store(db) as store:
        yield AgentBaselines(store, data_folder(db))


@click.group("agent")
def command() -> None:
    """Baselines of agents: capture, validate, compare, trend, list, show, remove."""


@command.command("capture")
@agent_arguments
@click.option("--trigger", type=click.Choice(TRIGGERS), default="creation", show_default=True, help="What makes it be captured.")
@click.option("--user-id", default="", help="Who changed the agent.")
@click.option("--user-prompt", default="", help="What that user had asked for.")
@measuring_options
@json_option
@db_option
def capture(
    prompt_id: str, flow_id: str, trigger: str, sections_file: Path | None, last: int, as_json: bool, db: str | None, **told: str
) -> None:
    """Keep how the agent PROMPT FLOW does now, as the next version of its baseline.

    FLOW is a stored workflow, by name or sid: then all is computed from the last plays and the benchmarks of its version in use. Any other
    agent's figures are handed in with --sections; without them nothing is captured. A recipe_change within 60 seconds of the agent's
    creation is left out.
    """
    with opened_agents(db) as agents:
        made = agents.capture_snapshot(
            prompt_id, flow_id, trigger, told["user_id"], told["user_prompt"], sections=_sections(sections_file), last=last
        )
    if as_json:
        print_json(made)
    elif made is None:
        click.echo(f"{_named(prompt_id, flow_id)}: left out, because the agent was created less than 60 seconds ago")
    else:
        click.echo(f"{_named(prompt_id, flow_id)}: v{made.version}, {made.trigger}, {made.source.plays} plays")


@command.command("validate")
@agent_arguments
@measuring_options
@click.option(
    "--min-plays",
    type=click.IntRange(1, MOST_PLAYS),
    default=1,
    show_default=True,
    metavar="N",
    help="With fewer since the baseline, actions are not judged.",
)
@json_option
@db_option
def validate(prompt_id: str, flow_id: str, sections_file: Path | None, last: int, min_plays: int, as_json: bool, db: str | None) -> int:
    """Tell whether the agent PROMPT FLOW still does as well as its baseline.

    The success rate of every action and the benchmark pass rate, measured since the baseline, are each held to 95 % of it.

    Exit code: 0 passed, 1 regressed or validation failed, 2 usage, 3 not measured.
    """
    with opened_agents(db) as agents:
        found = agents.validate_against_baseline(prompt_id, flow_id, sections=_sections(sections_file), last=last, min_plays=min_plays)
    if as_json:
        print_json(found)
        return found.exit_code
    from flowgauge.report.agents import health_line
    from flowgauge.report.play import show

    show(health_line(_named(prompt_id, flow_id), found.status, found.reason))
    return found.exit_code


@command.command("compare")
@agent_arguments
@click.argument("old", type=click.IntRange(1), metavar="OLD")
@click.argument("new", type=click.IntRange(1), metavar="NEW")
@json_option
@db_option
def compare(prompt_id: str, flow_id: str, old: int, new: int, as_json: bool, db: str | None) -> None:
    """Show what changed from version OLD of an agent to version NEW, by bare thresholds of 5 %.

    It shows, and decides nothing: `flowgauge agent validate` decides.
    """
    with opened_agents(db) as agents:
        found = agents.compare_snapshots(prompt_id, flow_id, old, new)
    if as_json:
        print_json(found)
        return
    from flowgauge.report.agents import change_table
    from flowgauge.report.play import show

    show(change_table([(each.metric, each.old, each.new, each.unit, each.verdict) for each in found.changes]))


@command.command("trend")
@agent_arguments
@json_option
@db_option
def trend(prompt_id: str, flow_id: str, as_json: bool, db: str | None) -> None:
    """Tell where an agent is going: its rewards and its time, the first snapshot against the last."""
    with opened_agents(db) as agents:
        found = agents.compute_trend(prompt_id, flow_id)
    if as_json:
        print_json(found)
        return
    parts = (("trend", found.trend), ("reward", found.reward_trend), ("duration", found.duration_trend))
    told = ", ".join(f"{name} {word.replace('_', ' ')}" for name, word in parts)
    click.echo(f"{_named(prompt_id, flow_id)}: {told} ({found.snapshot_count} snapshots)")


@command.command("list")
@click.argument("prompt_id", metavar="[PROMPT]", required=False, default="")
@click.argument("flow_id", metavar="[FLOW]", required=False, default="")
@json_option
@db_option
def list_all(prompt_id: str, flow_id: str, as_json: bool, db: str | None) -> None:
    """List the snapshots of an agent, or of all agents, by version.

    One that cannot be read is listed as damaged; why, stands on stderr.
    """
    with opened_agents(db) as agents:
        found = agents.list_versions(prompt_id, flow_id)
    if as_json:
        print_json({"snapshots": found})
        return
    from flowgauge.report.agents import version_table
    from flowgauge.report.play import show

    rows = [(_named(each.prompt_id, each.flow_id), each.version, each.trigger, each.timestamp, each.plays, _state(each)) for each in found]
    show(version_table(rows))
    for each in found:
        if each.error:
            click.echo(f"{_named(each.prompt_id, each.flow_id)} v{each.version}: {each.error}", err=True)


@command.command("show")
@agent_arguments
@click.argument("version", type=click.IntRange(1), required=False, metavar="[VERSION]")
@json_option
@db_option
def show_one(prompt_id: str, flow_id: str, version: int | None, as_json: bool, db: str | None) -> None:
    """Show one snapshot of an agent, the newest unless VERSION is given."""
    with opened_agents(db) as agents:
        found = agents.get_snapshot(prompt_id, flow_id, version or 0)
    if as_json:
        print_json(found)
        return
    from flowgauge.registry.agents.changes import figures
    from flowgauge.report.play import show
    from flowgauge.report.registry import metric_table

    state = f", regressed against v{found.baseline_version}" if found.regressed else ""
    click.echo(f"{_named(prompt_id, flow_id)} v{found.version}, {found.trigger}, {found.timestamp}, {found.source.plays} plays{state}")
    show(metric_table(figures(found.facts)))
    for words in found.regressions:
        click.echo(words)


@command.command("remove")
@agent_arguments
@click.argument("version", type=click.IntRange(1), required=False, metavar="[VERSION]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@db_option
def remove(prompt_id: str, flow_id: str, version: int | None, yes: bool, db: str | None) -> None:
    """Remove an agent with all its snapshots, or one VERSION, from the store and from the files here.

    Plays and benchmarks of its workflow stay.
    """
    what = f"v{version} of the agent" if version else "all snapshots of the agent"
    if not yes and not _agreed(f"Remove {what} {_named(prompt_id, flow_id)}?"):
        raise UsageError("Nobody agreed, so nothing is removed.", remedy="Agree, or give --yes.")
    with opened_agents(db) as agents:
        gone = agents.remove_snapshots(prompt_id, flow_id, version or 0)
    click.echo(f"{_named(prompt_id, flow_id)}: {', '.join(f'v{number}' for number in gone)} removed")


def _agreed(question: str) -> bool:
    """Where nobody is there to answer, nobody agreed."""
    try:
        return click.confirm(question, err=True)
    except click.Abort as abort:
        if isinstance(abort.__context__, EOFError):
            return False
        raise


def _named(prompt_id: str, flow_id: str) -> str:
    """As `flowgauge review --agent` takes it."""
    from flowgauge.registry.agents.agent import Agent

    return str(Agent(prompt_id, flow_id))


def _state(row: AgentVersion) -> str:
    return "damaged" if row.error else "regressed" if row.regressed else "baseline" if row.baseline else ""


def _sections(file: Path | None) -> dict[str, Any] | None:
    if file is None:
        return None
    from flowgauge.cli.options import read_inputs_file

    return read_inputs_file(file)
