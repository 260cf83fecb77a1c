"""`flowgauge review`: may this change be merged?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowgauge.cli.ending import ending_tidily
from flowgauge.cli.options import Finite, db_option, json_option, print_json
from flowgauge.cli.verdicts import FILE, tell_github
from flowgauge.errors import UsageError

if TYPE_CHECKING:
    from flowgauge.app.review_baselines import Asked
    from flowgauge.registry.review.decision import Review, Step
    from flowgauge.registry.review.settings import ReviewSettings

_OPTIONS = (
    click.option("--base", required=True, metavar="REV", help="What the change is to be merged into: a branch, a tag or a commit."),
    click.option("--head", metavar="REV", help="What is reviewed. Default: the work tree as it is."),
    click.option("--lint", metavar="CMD", help="One line, run without a shell. Default: ruff check ., for Python."),
    click.option("--tests", metavar="CMD", help="The same for tests. Default: pytest."),
    click.option("--without", multiple=True, type=click.Choice(["lint", "baseline"]), help="Leave a step out; repeat for more."),
    click.option(
        "--baseline", metavar="NAME", help="Hold a stored benchmark against this one: a baseline, a benchmark, merge-base:BRANCH."
    ),
    click.option("--gate", "candidate", metavar="CANDIDATE", help="Which benchmark. Default: latest, where --baseline is given."),
    click.option("--policy", "policy_file", type=FILE, help="A gate file for --baseline."),
    click.option(
        "--agent", "agents", multiple=True, metavar="PROMPT/FLOW", help="Validate an agent against its baseline; repeat for more."
    ),
    click.option("--upgrade", nargs=2, metavar="OLD NEW", help="Hold the snapshot of version NEW against that of OLD."),
    click.option(
        "--time-limit",
        "time_limit_s",
        type=Finite(0, 86_400, min_open=True),
        help="Seconds for lint, and for tests. Default: 1800.",
    ),
    click.option("--settings", "settings_file", type=FILE, help="Default: review.yaml in the data folder, if it is there."),
    click.option(
        "--markdown", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a comment for the pull request."
    ),
)


def _options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("review")
@_options
@json_option
@db_option
def command(base: str, head: str | None, markdown: Path | None, as_json: bool, db: str | None, **options: Any) -> int:
    """Review a change: its size, lint, tests and baselines; approve, reject, or flag it for a steward.

    \b
    approve       tests pass, no regression was found, and the change is simple: at most 3 files and fewer than 100 lines
    steward       the same, and the change is larger: a person must look at it
    reject        lint or tests fail, or something regressed
    not measured  a step could not be run; nothing is approved

    Exit code: 0 approve or steward, 1 reject, 2 usage or bad file, 3 not measured.
    """
    from flowgauge.app.agents import AgentBaselines
    from flowgauge.app.data_folder import data_folder
    from flowgauge.app.review import ReviewRequest, review
    from flowgauge.app.workspace import opened_store

    data = data_folder(db)
    request = ReviewRequest(base=base, head=head, settings=_settings(data, options), baselines=_asked(options))
    with ending_tidily(), opened_store(db) as store:
        found = review(store, data, request, AgentBaselines(store, data), tell=None if as_json else _tell)
    _show(found, markdown, as_json=as_json)
    return found.exit_code


def _settings(data: Path, options: dict[str, Any]) -> ReviewSettings:
    """The file, with what the command line says over it."""
    import msgspec

    from flowgauge.app.review import settings_for
    from flowgauge.registry.review.settings import words_of

    commands = {name: words_of(options[name], name) for name in ("lint", "tests") if options[name] is not None}
    over = {**commands, "time_limit_s": options["time_limit_s"], "without": options["without"]}
    return msgspec.structs.replace(settings_for(data, options["settings_file"]), **{name: value for name, value in over.items() if value})


def _asked(options: dict[str, Any]) -> Asked:
    from flowgauge.app.policies import policy_of
    from flowgauge.app.review_baselines import Asked, Gated, agent_named, upgrade_named

    baseline, candidate, policy_file = (options[name] for name in ("baseline", "candidate", "policy_file"))
    if baseline is None and (candidate or policy_file):
        raise UsageError("--gate and --policy need a --baseline.", remedy="Name what the benchmark is held against.")
    gate = Gated(candidate=candidate or "latest", baseline=baseline, policy=policy_of(policy_file)) if baseline is not None else None
    upgrade = upgrade_named(*options["upgrade"]) if options["upgrade"] else None
    return Asked(gate=gate, agents=tuple(map(agent_named, options["agents"])), upgrade=upgrade)


def _tell(step: Step) -> None:
    from flowgauge.registry.review.words import step_lines
    from flowgauge.report.play import show

    for line in step_lines(step):
        show(line)


def _show(found: Review, markdown: Path | None, *, as_json: bool) -> None:
    from flowgauge.registry.review.words import annotated, comment, decision_lines
    from flowgauge.report.format import write_whole
    from flowgauge.report.gate_github import annotation_lines
    from flowgauge.report.play import show

    if as_json:
        print_json(found)
    else:
        for line in decision_lines(found):
            show(line)
    if markdown is not None:
        write_whole(markdown, lambda out: out.write(comment(found).encode("utf-8", "replace")))
        click.echo(f"comment written to {markdown}", err=True)
    tell_github(lambda: comment(found), lambda: annotation_lines(annotated(found)))
