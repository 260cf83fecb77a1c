"""Which episodes are run, in which order; and a scenario made ready for workers.

Pure. Episode i takes row i mod rows; its seed is the row's plus i div rows, so
every round of rows uses the next seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from flowgauge.nodes.codec import write_workflow
from flowgauge.perf.model import Budgets, Episode, Row, Scenario
from flowgauge.perf.orders import PreparedRow, Setup
from flowgauge.perf.scenario import LoadedScenario


def episodes(scenario: Scenario, count: int) -> Iterator[Episode]:
    """The plan itself."""
    rows = scenario.rows
    for index in range(count):
        round_, place = divmod(index, len(rows))
        yield _episode(rows[place], place, index, rows[place].seed + round_)


def repeats(scenario: Scenario, count: int, seeds: int) -> Iterator[Episode]:
    """The first episodes of every row once more, so many seeds of each: does the same seed give the same?"""
    again = min(count, seeds * len(scenario.rows))
    for episode in islice(episodes(scenario, count), again):
        yield msgspec.structs.replace(episode, index=count + episode.index, repeat=1)


def prepare(loaded: LoadedScenario, *, timeout_s: float, services: str, strict: bool = False) -> Setup:
    """All that workers are told at their start. `timeout_s` holds for rows that have no wall clock of their own."""
    scenario = loaded.scenario
    return Setup(
        folder=str(loaded.folder),
        rows=tuple(_prepared(loaded, number, row, timeout_s) for number, row in enumerate(scenario.rows)),
        services=services,
        strict=strict,
        memory_mb=scenario.memory_mb,
        file_mb=scenario.file_mb,
        output_kb=scenario.output_kb,
        artifact_kb=scenario.artifact_kb,
    )


def _prepared(loaded: LoadedScenario, number: int, row: Row, timeout_s: float) -> PreparedRow:
    played = loaded.workflows.get(number)
    return PreparedRow(
        row=row,
        budgets=_merged(row.budgets, loaded.scenario.budgets, timeout_s),
        workflow=write_workflow(played.workflow).decode() if played else "",
        workflows={name: write_workflow(other).decode() for name, other in played.others.items()} if played else {},
    )


def _merged(own: Budgets, common: Budgets, timeout_s: float) -> Budgets:
    """A row's own word, else the scenario's. No wall clock is longer than the command's."""
    wall_clock_s = own.wall_clock_s or common.wall_clock_s
    return Budgets(
        steps=own.steps if own.steps is not None else common.steps,
        tool_calls=own.tool_calls if own.tool_calls is not None else common.tool_calls,
        wall_clock_s=min(wall_clock_s, timeout_s) if wall_clock_s else timeout_s,
    )


def _episode(row: Row, place: int, index: int, seed: int) -> Episode:
    return Episode(index=index, row=place, agent=row.name, task_ref=row.task, seed=seed)
