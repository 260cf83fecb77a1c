"""Thresholds: lines are read or refused, defaults give way, and what is unknown keeps none."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.perf.stage_rows import failed_row, row

from flowgauge.errors import BadFile, UsageError
from flowgauge.perf.files import RunArtifacts, StartUp, Summary
from flowgauge.perf.summary import summarise
from flowgauge.perf.thresholds import (
    LONG_LINES,
    NEW_REASONS,
    SLICE_LINES,
    chosen,
    figures,
    judge,
    read_threshold,
    read_threshold_file,
)
from flowgauge.perf.trend import SENTENCES, SLICE, SUCCESS_HOLDS, Measured


def summary(failed: int = 0) -> Summary:
    rows = [*(row(index, wall_clock_s=2.0) for index in range(5)), *(failed_row(index, wall_clock_s=20.0) for index in range(failed))]
    return summarise(
        "20260101T000000Z",
        rows,
        workers=1,
        duration_s=1.0,
        samples=[],
        start_up=StartUp(workers_started=1, workers_replaced=0, median_s=0.1, total_s=0.1),
        run_artifacts=RunArtifacts(root="r", file_count=5, total_bytes=5000, avg_bytes=1000.0),
        recovered=[],
        earlier_rss_bytes=[],
    )


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        pytest.param("failure_count == 0", False, id="equal"),
        pytest.param("failure_count==1", True, id="not equal, without blanks"),
        pytest.param("max_wall_clock_s <= 2", False, id="at most, at the bound"),
        pytest.param("max_wall_clock_s < 2", True, id="less than the bound"),
        pytest.param("run_artifacts.total_bytes <= 2_000_000", False, id="a figure inside, with underscores"),
        pytest.param("summary.p95_wall_clock_s>1e-3", False, id="an exponent"),
        pytest.param("success_rate >= 0.99", False, id="a share"),
        pytest.param("episodes != 5", True, id="unequal"),
        pytest.param("system_samples.process_rss_bytes <= 1", True, id="what is not measured is not kept"),
        pytest.param("mean_time_to_recovery_s <= 1", True, id="neither is what is unknown"),
    ],
)
def test_a_line_is_kept_or_broken(line: str, broken: bool) -> None:
    (found,) = judge(Measured(rows=(), summary=summary()), [read_threshold(line)])
    assert (found.broken, found.line.startswith(found.threshold)) == (broken, True)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        pytest.param("fast please", "is no threshold", id="words"),
        pytest.param("failure_count = 0", "is no threshold", id="one equals sign"),
        pytest.param("failure_count <= many", "is no threshold", id="no number"),
        pytest.param("failure_cont == 0", "Did you mean 'failure_count'", id="a figure that is mistyped"),
        pytest.param("failure_reasons == 0", "no figure 'failure_reasons'", id="something that is no number"),
        pytest.param("stamp == 0", "no figure 'stamp'", id="the stamp"),
    ],
)
def test_a_line_that_says_nothing_is_refused(line: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_threshold(line)


def test_every_figure_that_can_be_named_is_in_the_summary_and_a_number() -> None:
    value = msgspec.to_builtins(summary(1))
    for figure in figures():
        found = value
        for part in figure.split("."):
            found = found[part]
        assert found is None or isinstance(found, int | float), figure


def test_the_everyday_slice_is_held_to_fixed_figures_and_a_longer_run_is_not() -> None:
    assert [one.text for one in chosen(SLICE, None, [])] == list(SLICE_LINES)
    assert [one.text for one in chosen(SLICE + 1, None, [])] == list(LONG_LINES)


def test_a_flag_stands_instead_of_the_default_of_its_figure_and_a_file_instead_of_all(tmp_path: Path) -> None:
    flags = [read_threshold("max_wall_clock_s<=1"), read_threshold("episodes>=3")]
    assert [one.text for one in chosen(24, None, flags)] == [
        "failure_count == 0",
        "run_artifacts.total_bytes <= 2_000_000",
        "run_artifacts.avg_bytes <= 150_000",
        NEW_REASONS,
        "max_wall_clock_s <= 1",
        "episodes >= 3",
    ]
    file = tmp_path / "t.yaml"
    file.write_text("thresholds:\n  - max_wall_clock_s <= 3\n  - failure_count <= 2\n")
    assert [one.text for one in chosen(24, read_threshold_file(file), flags[:1])] == ["failure_count <= 2", "max_wall_clock_s <= 1"]


def test_every_mistake_of_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("thresholds:\n  - max_wall <= 3\n  - failure_count == 0\n  - nonsense\n")
    with pytest.raises(BadFile) as caught:
        read_threshold_file(file)
    assert [problem.line for problem in caught.value.problems] == [2, 4]


@pytest.mark.parametrize("text", [pytest.param("- a\n", id="a list"), pytest.param("limits: []\n", id="another key")])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(text)
    with pytest.raises(BadFile, match="Expected one key, `thresholds`"):
        read_threshold_file(file)


@pytest.mark.parametrize(
    ("reference", "broken", "value"),
    [
        pytest.param(summary(), True, "error", id="a reason that the reference did not have"),
        pytest.param(summary(failed=1), False, "", id="one that it had"),
        pytest.param(None, False, None, id="without a reference nothing is measured"),
    ],
)
def test_new_failure_reasons_break_the_threshold(reference: Summary | None, broken: bool, value: str | None) -> None:
    run = Measured(rows=(), summary=summary(failed=1), reference=reference)
    (found,) = judge(run, [read_threshold("no new failure_reasons")])
    assert (found.broken, found.value) == (broken, value)


def texts(episodes: int, *flags: str, reference: Summary | None = None) -> list[str]:
    return [one.text for one in chosen(episodes, None, map(read_threshold, flags), reference)]


@pytest.mark.parametrize("episodes", [SLICE, SLICE + 1, 100_000])
def test_without_a_word_about_success_no_run_may_have_a_failure_however_long_it_is(episodes: int) -> None:
    assert "failure_count == 0" in texts(episodes)


@pytest.mark.parametrize("episodes", [SLICE, SLICE + 1])
@pytest.mark.parametrize("flag", ["success_rate>=0.4", "failure_count<=3", "success_count>=20", "summary.failed<=3"])
def test_a_flag_about_success_stands_instead_of_all_defaults_about_success(episodes: int, flag: str) -> None:
    found = texts(episodes, flag)
    assert "failure_count == 0" not in found
    assert SUCCESS_HOLDS not in found
    assert found[-1].replace(" ", "") == flag


def test_a_long_run_that_is_held_against_one_with_failures_may_fail_too() -> None:
    assert "failure_count == 0" not in texts(SLICE + 1, reference=summary(failed=1))
    assert SUCCESS_HOLDS in texts(SLICE + 1, reference=summary(failed=1))
    assert "failure_count == 0" in texts(SLICE + 1, reference=summary())
    assert "failure_count == 0" in texts(SLICE, reference=summary(failed=1))


def test_a_file_stands_instead_of_the_trend_too_and_can_name_it(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("thresholds:\n  - success_rate >= 0.4\n")
    assert [one.text for one in chosen(1000, read_threshold_file(file), [])] == ["success_rate >= 0.4"]
    file.write_text("thresholds:\n" + "".join(f"  - {sentence}\n" for sentence in SENTENCES))
    assert [one.text for one in chosen(1000, read_threshold_file(file), [])] == list(SENTENCES)
