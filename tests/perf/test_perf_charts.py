"""Charts and the page: drawn from any run, small whatever its length, and safe whatever its names."""

from __future__ import annotations

import json
import re

import pytest
from tests.perf.stage_rows import failed_row, row, sample

from flowgauge.perf.charts import perf_charts
from flowgauge.perf.files import (
    Compared,
    Host,
    Judgement,
    Manifest,
    Metrics,
    RunArtifacts,
    ScenarioFacts,
    Series,
    SeriesRow,
    StartUp,
    Summary,
)
from flowgauge.perf.metrics import metrics_rows
from flowgauge.perf.page import page_html
from flowgauge.perf.pictures import pictures
from flowgauge.perf.summary import summarise
from flowgauge.perf.words import broken_lines, text

STAMP = "20260101T000000Z"


def series(count: int, name: str = "agent") -> Series:
    rows = [
        row(index, task_ref=f"t{index % 3}@1", agent=name, seed=index // 3, wall_clock_s=0.001 * (1 + index % 7 + 30 * (index % 3)))
        for index in range(count)
    ]
    if count > 10:
        rows[7] = failed_row(7, task_ref="t1@1", agent=name, seed=2, error="it broke <b>badly</b>")
    return Series(stamp=STAMP, rows=tuple(rows), samples=tuple(sample(index / 10, 10**8 + index) for index in range(min(count, 3000))))


def summary_of(rows: tuple[SeriesRow, ...], *judgements: Judgement) -> Summary:
    made = summarise(
        STAMP,
        rows,
        workers=2,
        duration_s=1.0,
        samples=[sample(0.1)],
        start_up=StartUp(workers_started=2, workers_replaced=1, median_s=0.2, total_s=0.4),
        run_artifacts=RunArtifacts(root="perf-runs", file_count=len(rows), total_bytes=5000, avg_bytes=100.0),
        recovered=[],
        earlier_rss_bytes=[],
    )
    lines = (Compared(subject="pass rate", status="passed", verdict="inconclusive", line="nobody knows <yet>"),)
    fields = {name: getattr(made, name) for name in made.__struct_fields__}
    return Summary(**{**fields, "thresholds": judgements, "compared_with": "20250101T000000Z", "comparison": lines})


def manifest(name: str = "scenario") -> Manifest:
    host = Host(machine="m", cpu="c", cores=2, memory_bytes=10**9, os="o", python="p", versions={"flowgauge": "1"}, git="")
    return Manifest(
        stamp=STAMP,
        generated_at="2026-01-01T00:00:00+00:00",
        command="flowgauge perf",
        episodes=60,
        workers=2,
        timeout=180.0,
        strict_spec=True,
        compress=False,
        repeats=2,
        interrupted=False,
        scenario=ScenarioFacts(name=name, file="f", description="", hash="h" * 64, rows=()),
        system_samples=(),
        artifact_set=("a.json",),
        bundle=None,
        host=host,
    )


@pytest.mark.parametrize("count", [1, 2, 24, 1000])
def test_every_chart_can_be_drawn(count: int) -> None:
    found = {(word, ending): content for word, ending, content in pictures(series(count))}
    words = {"latency", "distribution", "growth"} | ({"machine"} if count > 2 else set())
    assert found.keys() == {(word, ending) for word in words for ending in ("svg", "png")}
    assert all(content.startswith(b"\x89PNG" if ending == "png" else b"<svg") for (_, ending), content in found.items())


@pytest.mark.parametrize(
    ("count", "told", "not_told"),
    [
        pytest.param(24, "A dot an episode. Red crosses: failures.", "Band", id="a short run is drawn in dots"),
        pytest.param(1000, "Line: median. Band: 5th to 95th percentile. Red crosses", "dot", id="a long one as a line with its band"),
        pytest.param(6, "A dot an episode. Start-up", "failures", id="no word of failures where there is none"),
    ],
)
def test_the_legend_speaks_of_what_is_drawn(count: int, told: str, not_told: str) -> None:
    legend = perf_charts(series(count))["latency"]["title"]["subtitle"]
    shown = " ".join(legend) if isinstance(legend, list) else legend
    assert told in shown
    assert not_told not in shown


@pytest.mark.parametrize(("count", "missing"), [(1, True), (2, True), (24, False)])
def test_a_picture_that_is_missing_is_told(count: int, missing: bool) -> None:
    run = series(count)
    page = page_html(manifest(), summary_of(run.rows), Metrics(stamp=STAMP, rows=()), run)
    assert ("machine (CPU, memory): not drawn, the run was too short for it" in page) is missing
    assert ("machine" not in perf_charts(run)) is missing


def test_the_page_tells_the_moment_in_words() -> None:
    run = series(3)
    page = page_html(manifest(), summary_of(run.rows), Metrics(stamp=STAMP, rows=()), run)
    assert "2026-01-01T00:00:00+00:00" not in page
    assert re.search(r"(2026-01-01|2025-12-31) \d\d:00:00 · 2 workers", page)


def test_a_line_that_measured_nothing_is_not_shown_as_kept() -> None:
    run = series(3)
    lines = (
        Judgement(threshold="a", value=1.0, broken=False, line="line of a"),
        Judgement(threshold="b", value=None, broken=False, line="line of b"),
        Judgement(threshold="c", value=None, broken=True, line="line of c"),
    )
    summary, metrics = summary_of(run.rows, *lines), Metrics(stamp=STAMP, rows=())
    shown = text(manifest(), summary, metrics, run, "out")
    assert [line in shown for line in ("✓ line of a", "– line of b", "✗ line of c")] == [True] * 3
    page = re.sub(r"<[^>]+>", " ", page_html(manifest(), summary, metrics, run))
    for word, name in (("✓ kept", "a"), ("– not measured", "b"), ("✗ broken", "c")):
        assert re.search(rf"{word}\s+line of {name}", page), name


def test_how_to_keep_a_failure_is_told_with_its_number() -> None:
    run = series(24)
    shown = text(manifest(), summary_of(run.rows), Metrics(stamp=STAMP, rows=()), run, "out")
    assert "flowgauge record f --episode 8 -o episode-8.zip" in shown
    assert "flowgauge record" not in text(manifest(), summary_of(run.rows[:6]), Metrics(stamp=STAMP, rows=()), series(6), "out")


def test_nothing_is_drawn_of_nothing() -> None:
    assert perf_charts(Series(stamp=STAMP, rows=(), samples=())) == {}


def test_charts_of_a_long_run_are_no_larger() -> None:
    short, long = (len(json.dumps(perf_charts(series(count)))) for count in (1000, 20_000))
    assert long < 1.3 * short


def test_tasks_that_there_is_no_room_for_are_named_as_left_out() -> None:
    rows = tuple(row(index, task_ref=f"t{index}@1") for index in range(12))
    chart = perf_charts(Series(stamp=STAMP, rows=rows, samples=()))["latency"]
    assert "The first 8 of 12 tasks." in chart["title"]["subtitle"]


@pytest.mark.parametrize("count", [0, 1, 60])
def test_a_page_that_asks_nobody_and_runs_nothing(count: int) -> None:
    made = series(count, name="<script>alert(1)</script>")
    page = page_html(manifest("<img src=x>"), summary_of(made.rows), Metrics(stamp=STAMP, rows=metrics_rows(made.rows)), made)
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=[\"']?https?:", page)
    if count:
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "nobody knows &lt;yet&gt;" in page


def test_a_broken_threshold_is_the_first_thing_on_the_page() -> None:
    made = series(60)
    broken = Judgement(threshold="failure_count == 0", value=1.0, broken=True, line="failure_count == 0: it is 1")
    page = page_html(manifest(), summary_of(made.rows, broken), Metrics(stamp=STAMP, rows=metrics_rows(made.rows)), made)
    assert '<div class="verdict bad"' in page
    assert page.index("1 threshold broken") < page.index("Latency over episodes")


def test_text_tells_tasks_failures_drift_thresholds_and_what_is_undecided() -> None:
    made = series(60)
    broken = Judgement(threshold="failure_count == 0", value=1.0, broken=True, line="failure_count == 0: it is 1")
    summary = summary_of(made.rows, broken)
    told = text(manifest(), summary, Metrics(stamp=STAMP, rows=metrics_rows(made.rows)), made, "out")
    assert "59 of 60 episodes succeeded" in told
    assert "1 worker replaced" in told
    assert "t1@1 · agent: error: it broke <b>badly</b> (episode 8, seed 2)" in told
    assert "✗ failure_count == 0: it is 1" in told
    assert "? nobody knows <yet>" in told
    assert "out/a.json" in told
    assert broken_lines(summary) == ["threshold: failure_count == 0: it is 1"]
