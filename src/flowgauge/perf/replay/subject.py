"""What record is to run, and what a bundle says was run: a scenario of one row, ready for a worker.

In: a scenario, a workflow or the name of a function; or a manifest's scenario.
Out: LoadedScenario with one row, whose seed is the episode's. Workflows are
taken as they are now; nothing of a bundle is executed or played from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from flowgauge.define.workflow import load_workflow
from flowgauge.errors import UsageError
from flowgauge.model.workflow import Json
from flowgauge.nodes.inputs import checked_inputs
from flowgauge.perf.model import Row, Scenario
from flowgauge.perf.scenario import FILE_ENDINGS, LoadedScenario, Lookup, PlayedWorkflow

_WORD = 120


def one_episode(loaded: LoadedScenario, episode: int, seed: int | None) -> LoadedScenario:
    """Episode i of a scenario, from 1, as perf numbers them; or its row with another seed."""
    round_, place = divmod(episode - 1, len(loaded.scenario.rows))
    row = loaded.scenario.rows[place]
    row = msgspec.structs.replace(row, seed=row.seed + round_ if seed is None else seed)
    played = loaded.workflows.get(place)
    return msgspec.structs.replace(
        loaded, scenario=msgspec.structs.replace(loaded.scenario, rows=(row,)), workflows={} if played is None else {0: played}
    )


def of_workflow(
    reference: str, folder: Path, lookup: Lookup, *, inputs: Mapping[str, Json], config: Mapping[str, Json], seed: int | None
) -> LoadedScenario:
    """A workflow file of the folder, or a stored workflow."""
    played = played_workflow(reference, folder, lookup)
    row = Row(workflow=reference, task=_task(played.workflow.name), seed=seed or 0, inputs=dict(inputs), config=dict(config))
    _check_inputs(played, row)
    return _loaded(row, folder, {0: played})


def of_agent(reference: str, folder: Path, *, inputs: Mapping[str, Json], seed: int | None) -> LoadedScenario:
    """A function: file.py:name, or package.module:name."""
    row = Row(agent=reference, task=_task(reference.rpartition(":")[2]), seed=seed or 0, inputs=dict(inputs))
    return _loaded(row, folder, {})


def again(scenario: Scenario, folder: Path, lookup: Lookup) -> LoadedScenario:
    """What a manifest names, as it is now. Raises UsageError where it is not there."""
    (row,) = scenario.rows
    if bool(row.agent) == bool(row.workflow):
        raise UsageError("The bundle names neither an agent nor a workflow, or both.", remedy="Record again.")
    played = {0: played_workflow(row.workflow, folder, lookup)} if row.workflow else {}
    if played:
        _check_inputs(played[0], row)
    return LoadedScenario(scenario=scenario, folder=folder, file="", workflows=played)


def played_workflow(reference: str, folder: Path, lookup: Lookup) -> PlayedWorkflow:
    """A file, or what is stored under that name."""
    if reference.endswith(FILE_ENDINGS):
        return PlayedWorkflow(workflow=load_workflow(folder / reference).workflow)
    return lookup(reference)


def _check_inputs(played: PlayedWorkflow, row: Row) -> None:
    takes_seed = any(item.name == "seed" for item in played.workflow.inputs)
    checked_inputs(played.workflow, {"seed": row.seed, **row.inputs} if takes_seed else row.inputs)


def _loaded(row: Row, folder: Path, workflows: dict[int, PlayedWorkflow]) -> LoadedScenario:
    return LoadedScenario(scenario=Scenario(name=_task(row.task), rows=(row,)), folder=folder, file="", workflows=workflows)


def _task(name: str) -> str:
    """Fit to be a task's name and a scenario's."""
    return (
        "".join(letter if letter.isascii() and (letter.isalnum() or letter in " ._-") else "-" for letter in name)[:_WORD].strip(" .-_")
        or "task"
    )
