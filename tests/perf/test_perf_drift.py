"""Drift: what rises, clusters or spikes is found, what does not is not, and what cannot be said is not measured."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.perf.stage_rows import failed_row, row, sample

from flowgauge.perf import drift
from flowgauge.perf.files import Judgement, RunArtifacts, SeriesRow, StartUp, Summary
from flowgauge.perf.summary import summarise
from flowgauge.perf.trend import SENTENCES, Measured, judge_trend

Of = Callable[[int], Any]


def rows(count: int, seconds: Of = lambda _: 0.01, tasks: int = 2, **changes: Of) -> list[SeriesRow]:
    """A run over some tasks; what a function gives for each episode."""
    chance = random.Random(5)
    found = []
    for index in range(count):
        told = {name: of(index) for name, of in changes.items()}
        noisy_s = seconds(index) * chance.uniform(0.8, 1.25)
        found.append(row(index, task_ref=f"t{index % tasks}@1", seed=index // tasks, wall_clock_s=noisy_s, **told))
    return found


@pytest.mark.parametrize(
    ("run", "state"),
    [
        pytest.param(rows(120), "steady", id="noise"),
        pytest.param(rows(120, lambda index: 0.01 * (1 + index / 120)), "drifting", id="twice as slow at the end"),
        pytest.param(rows(120, lambda index: 0.01 * (1 + 0.02 * index / 120)), "steady", id="two percent are not worth a word"),
        pytest.param(rows(120, lambda index: 0.01 * (2 - index / 120)), "steady", id="faster at the end"),
        pytest.param(rows(120, lambda index: 0.01 if index % 2 else 1.0), "steady", id="tasks of different size"),
        pytest.param(rows(120, lambda index: 5.0 if index == 119 else 0.01), "steady", id="one slow episode is no trend"),
        pytest.param(rows(10), "not_measured", id="too few episodes"),
        pytest.param([failed_row(index) for index in range(50)], "not_measured", id="failures have no latency"),
    ],
)
def test_is_latency_rising_late(run: Sequence[SeriesRow], state: str) -> None:
    found = drift.latency_late(run)
    assert found.state == state, found.line


@pytest.mark.parametrize(
    ("run", "state"),
    [
        pytest.param(rows(60, artifact_bytes=lambda index: 1000 + index % 7), "steady", id="every episode leaves about the same"),
        pytest.param(rows(60, artifact_bytes=lambda index: 1000 + 40 * index), "drifting", id="every episode leaves more than the last"),
        pytest.param(rows(60, artifact_bytes=lambda index: 1000 if index % 2 else 90_000), "steady", id="large and small tasks"),
        pytest.param(rows(6), "not_measured", id="too few episodes"),
    ],
)
def test_is_artifact_growth_linear(run: Sequence[SeriesRow], state: str) -> None:
    found = drift.artifact_growth(run)
    assert found.state == state, found.line


def with_failures(count: int, failing: Callable[[int], bool]) -> list[SeriesRow]:
    made = rows(count, tasks=4)
    return [failed_row(one.episode_index, task_ref=one.task_ref, seed=one.seed) if failing(one.episode_index) else one for one in made]


@pytest.mark.parametrize(
    ("run", "state", "words"),
    [
        pytest.param(with_failures(80, lambda _: False), "steady", "none", id="no failure"),
        pytest.param(with_failures(80, lambda index: index % 4 == 1 and index % 3 == 0), "drifting", "t1@1", id="all on one task"),
        pytest.param(with_failures(80, lambda index: index // 4 == 7), "drifting", "the first seed + 7", id="all on one seed"),
        pytest.param(with_failures(80, lambda index: index % 9 == 0), "steady", "no task or seed", id="here and there"),
        pytest.param(with_failures(80, lambda index: index == 3), "steady", "1 of 80", id="one alone is no cluster"),
    ],
)
def test_are_failures_clustered(run: Sequence[SeriesRow], state: str, words: str) -> None:
    found = drift.failure_clusters(run)
    assert (found.state, words in found.line) == (state, True), found.line


@pytest.mark.parametrize(
    ("run", "state"),
    [
        pytest.param(rows(60), "steady", id="noise"),
        pytest.param(rows(60, lambda index: 3.0 if index == 20 else 0.01), "drifting", id="one row at 300 times its median"),
        pytest.param(rows(60, lambda index: 0.02 if index == 20 else 0.0001), "steady", id="milliseconds are the machine's"),
        pytest.param(rows(60, lambda index: 3.0 if index in (20, 21) else 0.01), "steady", id="all rows alike: no row stands out"),
        pytest.param(rows(60, tasks=1), "not_measured", id="one row has nothing to be held against"),
    ],
)
def test_did_one_row_spike_out_of_proportion(run: Sequence[SeriesRow], state: str) -> None:
    found = drift.spiking_row(run)
    assert found.state == state, found.line


@pytest.mark.parametrize(
    ("megabytes", "state"),
    [
        pytest.param([100 + (index % 3) for index in range(40)], "steady", id="flat"),
        pytest.param([100 + 2 * index for index in range(40)], "drifting", id="growing all the time"),
        pytest.param([20 + 8 * index if index < 10 else 100 + index % 2 for index in range(40)], "steady", id="workers that warm up"),
        pytest.param([100] * 5, "not_measured", id="too short"),
    ],
)
def test_does_memory_grow_in_the_run(megabytes: Sequence[int], state: str) -> None:
    found = drift.memory_in_run([sample(index / 10, count * 10**6) for index, count in enumerate(megabytes)])
    assert found.state == state, found.line


@pytest.mark.parametrize(
    ("earlier", "peak", "state"),
    [
        pytest.param([100, 101, 99], 102, "steady", id="as always"),
        pytest.param([100, 101, 99], 150, "drifting", id="half as much again"),
        pytest.param([100, 200, 100], 150, "steady", id="no more than there was once"),
        pytest.param([100, 101], 150, "not_measured", id="two earlier runs say nothing"),
        pytest.param([100, 101, 99], None, "not_measured", id="nothing was sampled"),
    ],
)
def test_does_memory_grow_between_runs(earlier: Sequence[int], peak: int | None, state: str) -> None:
    assert drift.memory_between_runs(earlier, peak).state == state


def test_every_question_has_its_line() -> None:
    found = drift.findings(rows(60), [sample(index / 10) for index in range(40)], [10**8] * 3)
    assert len({finding.name for finding in found}) == len(found) == 6
    assert all(finding.line and finding.state == "steady" for finding in found), found


def summed(run: Sequence[SeriesRow], workers: int = 2) -> Summary:
    return summarise(
        "20260101T000000Z",
        run,
        workers=workers,
        duration_s=1.0,
        samples=[],
        start_up=StartUp(workers_started=workers, workers_replaced=0, median_s=0.1, total_s=0.1),
        run_artifacts=RunArtifacts(root="r", file_count=1, total_bytes=1, avg_bytes=1.0),
        recovered=[],
        earlier_rss_bytes=[],
    )


def judged(run: Sequence[SeriesRow], workers: int = 2, reference: Sequence[SeriesRow] | None = None) -> dict[str, Judgement]:
    measured = Measured(rows=run, summary=summed(run, workers), reference=None if reference is None else summed(reference))
    return {one: judge_trend(one, measured) for one in SENTENCES}


def test_a_long_run_is_held_against_its_own_beginning() -> None:
    found = judged(rows(100))
    assert list(found) == ["success rate does not fall off", "artifact growth is linear", "tail does not get longer"]
    assert [(one.broken, one.value is None) for one in found.values()] == [(False, False)] * 3


@pytest.mark.parametrize(
    ("run", "broken"),
    [
        pytest.param(with_failures(100, lambda index: index > 30), "success rate does not fall off", id="failures set in late"),
        pytest.param(with_failures(200, lambda index: index % 3 == 0), "success rate does not fall off", id="every third fails all along"),
        pytest.param(rows(100, artifact_bytes=lambda index: 1000 + 50 * index), "artifact growth is linear", id="artifacts grow"),
        pytest.param(rows(100, lambda index: 0.01 if index < 30 else 0.5), "tail does not get longer", id="it becomes slow"),
    ],
)
def test_what_gets_worse_in_a_long_run_is_broken(run: Sequence[SeriesRow], broken: str) -> None:
    assert judged(run)[broken].broken


def test_a_failure_now_and_then_is_within_chance() -> None:
    assert not judged(with_failures(200, lambda index: index % 40 == 0))["success rate does not fall off"].broken


@pytest.mark.parametrize(
    ("every", "broken"),
    [pytest.param(3, False, id="as often as before"), pytest.param(1, True, id="always")],
)
def test_against_a_run_with_failures_it_is_that_run_s_rate_that_counts(every: int, broken: bool) -> None:
    before = with_failures(200, lambda index: index % 3 == 0)
    found = judged(with_failures(200, lambda index: index % every == 0), reference=before)["success rate does not fall off"]
    assert (found.broken, "133 of 200 of 20260101T000000Z" in found.line) == (broken, True), found.line


def test_what_a_run_is_too_short_for_is_not_measured() -> None:
    for one in judged(rows(20, tasks=4)).values():
        assert (one.broken, one.value, "not measured" in one.line) == (False, None, True), one.line


def test_the_first_episode_of_every_worker_does_not_hide_a_longer_tail() -> None:
    run = rows(100, lambda index: 0.4 if index < 4 else 0.05 if index < 40 else 0.3)
    found = judged(run, workers=4)["tail does not get longer"]
    assert found.broken, found.line


def test_a_chance_too_small_for_four_digits_is_not_told_as_zero() -> None:
    line = judged(with_failures(200, lambda index: index % 3 != 0))["success rate does not fall off"].line
    assert "p < 0.0001" in line


def test_what_chance_would_give_as_well_is_told_as_no_trend() -> None:
    line = drift.latency_late(rows(24)).line
    assert "shows no trend (p " in line
    assert not any(word in line for word in ("falls", "rises"))
    memory = drift.memory_in_run([sample(index / 10, (100 + index * 7 % 11) * 10**6) for index in range(40)]).line
    assert "shows no trend" in memory
