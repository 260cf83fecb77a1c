"""Which episodes run: row i mod rows, seed plus i div rows, and what a worker is told of them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.perf.stage_rows import nothing_stored

from flowgauge.perf.builtin import SCENARIO
from flowgauge.perf.model import Budgets, Row, Scenario
from flowgauge.perf.plan import episodes, prepare, repeats
from flowgauge.perf.scenario import LoadedScenario, load_scenario


def scenario(seeds: list[int]) -> Scenario:
    return Scenario(name="s", rows=tuple(Row(agent="a.py:f", task=f"t{number}@1", seed=seed) for number, seed in enumerate(seeds)))


@given(seeds=st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=6), count=st.integers(1, 60))
def test_every_round_of_rows_uses_the_next_seed(seeds: list[int], count: int) -> None:
    plan = list(episodes(scenario(seeds), count))
    assert [episode.index for episode in plan] == list(range(count))
    assert all(episode.row == episode.index % len(seeds) for episode in plan)
    assert all(episode.seed == seeds[episode.row] + episode.index // len(seeds) for episode in plan)
    assert len({(episode.task_ref, episode.seed) for episode in plan}) == count


@given(count=st.integers(1, 40), again=st.integers(0, 5))
def test_repeats_are_episodes_of_the_plan_with_numbers_of_their_own(count: int, again: int) -> None:
    three = scenario([1, 1, 50])
    plan, more = list(episodes(three, count)), list(repeats(three, count, again))
    assert len(more) == min(count, 3 * again)
    assert [(one.row, one.seed) for one in more] == [(one.row, one.seed) for one in plan[: len(more)]]
    assert all(one.repeat == 1 and one.index >= count for one in more)


def test_a_row_has_its_own_budgets_else_the_scenarios_and_never_more_time_than_the_command_gives() -> None:
    rows = (
        Row(agent="a.py:f", task="own@1", budgets=Budgets(steps=3, wall_clock_s=500)),
        Row(agent="a.py:f", task="common@1"),
        Row(agent="a.py:f", task="none@1", budgets=Budgets(tool_calls=0)),
    )
    common = Scenario(name="s", budgets=Budgets(steps=9, tool_calls=4, wall_clock_s=20), rows=rows)
    setup = prepare(LoadedScenario(scenario=common, folder=Path("/x"), file="s", workflows={}), timeout_s=60, services="m:f")
    assert [row.budgets for row in setup.rows] == [
        Budgets(steps=3, tool_calls=4, wall_clock_s=60),
        Budgets(steps=9, tool_calls=4, wall_clock_s=20),
        Budgets(steps=9, tool_calls=0, wall_clock_s=20),
    ]


def test_workers_of_the_built_in_scenario_are_told_the_whole_workflow() -> None:
    setup = prepare(load_scenario(SCENARIO, nothing_stored), timeout_s=9, services="m:f", strict=True)
    assert [bool(row.workflow) for row in setup.rows] == [False, False, False, False, True]
    assert '"id":"classify"' in setup.rows[-1].workflow
