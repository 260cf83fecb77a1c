"""Rows become figures: rates, quantiles, taxonomies, repeats that are measured, and time to recovery."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.perf.stage_rows import artifact, failed_row, row, sample

from flowgauge.perf.files import RunArtifacts, SeriesRow, StartUp
from flowgauge.perf.keeping import series_row
from flowgauge.perf.metrics import metrics_rows, tokens_total
from flowgauge.perf.model import Episode, LlmEntry
from flowgauge.perf.recovery import mean_time_to_recovery_s
from flowgauge.perf.summary import summarise


def test_a_row_for_each_task_and_agent_in_the_order_in_which_they_ran() -> None:
    rows = [row(0, task_ref="b@1"), row(1, task_ref="a@1"), row(2, task_ref="b@1", agent="other"), row(3, task_ref="b@1")]
    found = [(one.task_ref, one.agent, one.run_count) for one in metrics_rows(rows)]
    assert found == [("b@1", "a", 2), ("a@1", "a", 1), ("b@1", "other", 1)]


def test_quantiles_ceilings_totals_and_taxonomies() -> None:
    rows = [
        *(row(index, steps=index, tool_calls=2 * index, wall_clock_s=index / 10, tokens_used=10, prompt_bytes=3) for index in range(10)),
        failed_row(10, termination_reason="timeout", failure_type="timeout", steps=None, tool_calls=None, wall_clock_s=1.0),
    ]
    (found,) = metrics_rows(rows)
    assert (found.steps_p50, found.steps_ceiling, found.tool_calls_ceiling) == (4.5, 9, 18)
    assert found.steps_p95 == pytest.approx(8.55)
    assert found.success_rate == pytest.approx(10 / 11)
    assert found.success_low < 10 / 11 < found.success_high
    assert found.avg_wall_clock_s == pytest.approx(0.5)
    assert (found.failure_taxonomy, found.termination_taxonomy) == ({"timeout": 1}, {"completed": 10, "timeout": 1})
    assert (found.artifact_bytes_total, found.prompt_bytes_total, found.tokens_used_total) == (11_000, 30, 100)


def test_counts_that_nobody_knows_are_none() -> None:
    (found,) = metrics_rows([failed_row(0, steps=None, tool_calls=None, tokens_used=None)])
    assert (found.steps_p50, found.steps_ceiling, found.tool_calls_p95, found.tokens_used_total) == (None, None, None, None)


@pytest.mark.parametrize(
    ("rows", "again", "rate", "identical", "seeds"),
    [
        pytest.param([row(0), row(1)], [], None, None, 0, id="no seed ran twice: it was not measured"),
        pytest.param([row(0), row(1)], [row(9, seed=0)], 1.0, 1.0, 1, id="one that ran twice and gave the same"),
        pytest.param([failed_row(0)], [failed_row(9, seed=0)], 1.0, 1.0, 1, id="one that fails alike each time repeats itself"),
        pytest.param(
            [row(0), row(1)],
            [failed_row(8, seed=0, artifact_hash="y"), row(9, seed=1)],
            0.5,
            0.5,
            2,
            id="one of two that came out differently",
        ),
        pytest.param([row(0)], [row(9, seed=0, artifact_hash="sha256:x")], 1.0, 0.0, 1, id="the same outcome by another way"),
        pytest.param([row(0, seed=5), row(1, seed=5)], [], 1.0, 1.0, 1, id="a scenario that lists a seed twice"),
    ],
)
def test_reproducibility_is_measured_by_repeating_seeds(
    rows: Sequence[SeriesRow], again: Sequence[SeriesRow], rate: float | None, identical: float | None, seeds: int
) -> None:
    (found,) = metrics_rows(rows, again)
    assert (found.reproducibility_rate, found.identical_rate, found.repeated_seeds) == (rate, identical, seeds)
    assert found.run_count == len(rows)


def at(seconds: float, *, good: bool, seed: int = 1) -> SeriesRow:
    moment = {"started_at": int(seconds * 1000), "wall_clock_s": 0.0, "seed": seed}
    return row(0, **moment) if good else failed_row(0, **moment)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([at(0, good=True), at(5, good=True)], None, id="nothing failed"),
        pytest.param([at(0, good=False)], None, id="nothing recovered yet"),
        pytest.param([at(0, good=False), at(7, good=True)], 7.0, id="a failure and the next success"),
        pytest.param([at(0, good=False), at(3, good=False), at(9, good=True)], 9.0, id="counted from the first failure"),
        pytest.param([at(9, good=True), at(0, good=False)], 9.0, id="in the order of time, not of the list"),
        pytest.param([at(0, good=False), at(4, good=True, seed=2)], None, id="a success of another seed is no recovery"),
        pytest.param([at(0, good=False), at(2, good=True), at(5, good=False), at(11, good=True)], 4.0, id="the mean of two"),
        pytest.param([], None, id="nothing at all"),
    ],
)
def test_time_to_recovery(rows: Sequence[SeriesRow], expected: float | None) -> None:
    assert mean_time_to_recovery_s(rows) == expected


@given(known=st.lists(st.integers(0, 100), max_size=5), unknown=st.booleans())
def test_a_sum_of_tokens_is_unknown_as_soon_as_one_is(known: list[int], unknown: bool) -> None:
    rows = [row(0, tokens_used=count) for count in known] + ([row(0, tokens_used=None)] if unknown else [])
    assert tokens_total(rows) == (None if unknown else sum(known))


def test_a_row_of_the_series_counts_bytes_and_tokens_of_what_was_said() -> None:
    said = (
        LlmEntry(step=1, model="m", prompt="größer", completion="ja", tokens_prompt=3, tokens_completion=1),
        LlmEntry(step=2, model="m", prompt="b", completion="", tokens_prompt=2, tokens_completion=0),
    )
    episode = Episode(index=4, row=0, agent="a", task_ref="t", seed=1)
    found = series_row(episode, artifact(llm_trace=said), 500)
    assert (found.episode, found.episode_index, found.llm_trace_entries) == (5, 4, 2)
    assert (found.prompt_bytes, found.completion_bytes, found.tokens_used, found.artifact_bytes) == (9, 2, 6, 500)
    assert found.error is None
    uncounted = (LlmEntry(step=1, model="m", prompt="b", completion=""),)
    assert series_row(episode, artifact(llm_trace=uncounted), 1).tokens_used is None


def test_a_summary_of_nothing_is_unknown_and_not_zero() -> None:
    found = summarise(
        "20260101T000000Z",
        [],
        workers=2,
        duration_s=0.0,
        samples=[],
        start_up=StartUp(workers_started=2, workers_replaced=0, median_s=None, total_s=0.1),
        run_artifacts=RunArtifacts(root="r", file_count=0, total_bytes=0, avg_bytes=None),
        recovered=[],
        earlier_rss_bytes=[],
    )
    assert (found.success_rate, found.max_wall_clock_s, found.episodes_per_s) == (None, None, None)
    assert (found.summary.p95_wall_clock_s, found.telemetry_verbosity.artifact_bytes_max) == (None, None)
    assert (found.system_samples.available, found.system_samples.cpu_percent) == (False, None)


def test_a_summary_counts_what_was_run() -> None:
    rows = [row(0, wall_clock_s=0.1), row(1, wall_clock_s=0.3), failed_row(2, wall_clock_s=0.2)]
    found = summarise(
        "20260101T000000Z",
        rows,
        workers=2,
        duration_s=1.5,
        samples=[sample(0.1, 5), sample(0.2, 9)],
        start_up=StartUp(workers_started=2, workers_replaced=0, median_s=0.1, total_s=0.1),
        run_artifacts=RunArtifacts(root="r", file_count=3, total_bytes=3000, avg_bytes=1000.0),
        recovered=[row(9, seed=2, started_at=7000, wall_clock_s=0.0)],
        earlier_rss_bytes=[],
    )
    assert (found.success_count, found.failure_count, found.failure_reasons) == (2, 1, {"error": 1})
    assert (found.summary.p50_wall_clock_s, found.max_wall_clock_s, found.episodes_per_s) == (0.2, 0.3, 2.0)
    assert found.mean_time_to_recovery_s == pytest.approx(7.0 - 2.2)
    assert (found.system_samples.process_rss_bytes, found.system_samples.samples) == (9, 2)
