"""Trends: sparkline and table, the changes in words, JSON, the chart and the page."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console
from tests.report import comparisons
from tests.report.test_bench_html import Page

from flowgauge.errors import NotMeasured, UsageError
from flowgauge.model.verdict import Trend
from flowgauge.report.charts import BAD, GOOD, TONES
from flowgauge.report.painting import svg_of
from flowgauge.report.trend_charts import trend_chart
from flowgauge.report.trend_formats import TREND_FORMATS, write_trend_report
from flowgauge.report.trend_json import TrendReport, trend_report_json_schema
from flowgauge.report.trend_terminal import trend_view
from flowgauge.report.trend_words import change_sentence, headline, sparkline

ALL = (comparisons.trend(), comparisons.gappy_trend(), comparisons.short_trend())


def shown(*trends: Trend, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(trend_view(trends))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def written(name: str, *trends: Trend) -> bytes:
    out = io.BytesIO()
    TREND_FORMATS[name].write(trends, out)
    return out.getvalue()


def test_a_step_is_told_with_its_size_version_and_commit() -> None:
    trend = comparisons.trend()
    assert change_sentence(trend.changes[0], trend) == "step +21.1 % at v12 (15c1234): 484 ms after 400 ms, 21.1 % slower, p < 0.0001"


def test_a_drift_is_told_from_where_to_where() -> None:
    trend = comparisons.trend()
    assert change_sentence(trend.changes[1], trend).startswith("drift +14.9 % from v20 (1dc1234) to v28 (25c1234): 556 ms after 484 ms")


def test_a_commit_that_is_the_label_is_not_repeated() -> None:
    trend = comparisons.trend()
    one = msgspec.structs.replace(trend.changes[0], label="15c1234", p_value=None)
    assert "at 15c1234: " in change_sentence(one, trend)


def test_a_change_from_nothing_has_no_size() -> None:
    trend = comparisons.trend()
    one = msgspec.structs.replace(trend.changes[0], before=0.0, change=None, p_value=None)
    assert change_sentence(one, trend) == "step – at v12 (15c1234): 484 ms after 0 µs"


def test_headlines() -> None:
    assert [headline(trend) for trend in ALL] == [
        "duration_ms (lower is better): declining, +42.1 % from the first to the last of 30 points; 1 step and 1 drift.",
        "score.tone (higher is better): stable, ±0 % from the first to the last of 5 points; no change point.",
        "duration_ms (lower is better): not enough data, 1 point.",
    ]


def test_the_terminal_marks_changes_below_the_bars() -> None:
    lines = shown(comparisons.trend()).splitlines()
    index = next(number for number, line in enumerate(lines) if "▁" in line)
    bars, marks = lines[index], lines[index + 1]
    start = bars.index("▁")
    assert marks.index("▲") - start == comparisons.STEP
    assert (marks.index("~") - start, marks.rindex("~") - start) == comparisons.DRIFT


def test_the_terminal_names_changes_in_the_table_too() -> None:
    text = shown(comparisons.trend())
    (row,) = [line for line in text.splitlines() if line.startswith("v12 ")]
    assert "15c1234" in row
    assert "step +21.1 %, worse" in row


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_terminal_of_any_width_shows_points_and_values(width: int) -> None:
    text = shown(*ALL, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert re.search(r"^v30 +.*560 ms", text, re.MULTILINE)


def test_an_unknown_value_is_a_gap_and_a_dash() -> None:
    text = shown(comparisons.gappy_trend())
    assert "▄▄·▄▄" in text
    assert re.search(r"^v3 .*–", text, re.MULTILINE)


@given(st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=True), max_size=60), st.integers(1, 40))
def test_a_sparkline_has_a_mark_for_each_of_the_last_values(values: list[float | None], most: int) -> None:
    bars, left_out = sparkline(values, most)
    assert len(bars) == len(values) - left_out == min(len(values), most)
    assert set(bars) <= set("▁▂▃▄▅▆▇█·")


def test_markdown_has_bars_changes_and_points() -> None:
    text = written("markdown", *ALL).decode()
    assert text.count("# Trend of") == 3
    assert "- step +21.1 % at v12" in text
    assert MarkdownIt("gfm-like", {"linkify": False}).render(text).count("<table>") == 3


def test_json_fits_its_schema_and_reads_back() -> None:
    schema = trend_report_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    data = written("json", *ALL)
    jsonschema.validate(json.loads(data), schema, cls=jsonschema.Draft202012Validator)
    assert msgspec.json.decode(data, type=TrendReport).trends == ALL
    assert not jsonschema.Draft202012Validator(schema).is_valid({**json.loads(data), "version": 2})


def test_json_has_both_changes_at_their_versions() -> None:
    (trend,) = json.loads(written("json", comparisons.trend()))["trends"]
    assert [(one["kind"], one["label"], one["index"]) for one in trend["changes"]] == [("step", "v12", 11), ("drift", "v20", 19)]
    assert trend["points"][11]["label"] == "v12"


def test_json_has_no_nan() -> None:
    trend = comparisons.trend()
    points = (msgspec.structs.replace(trend.points[0], value=float("nan")), *trend.points[1:])
    data = written("json", msgspec.structs.replace(trend, points=points))
    assert json.loads(data)["trends"][0]["points"][0]["value"] is None
    assert b"NaN" not in data


def chart_of(trend: Trend, width: int = 600) -> dict[str, Any]:
    chart = trend_chart(trend, width)
    assert chart is not None
    return chart


def drawn(chart: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    return [value for one in chart["layer"] if one["mark"]["type"] == mark for value in one.get("data", chart["data"])["values"]]


def test_the_chart_marks_the_step_and_shades_the_drift() -> None:
    chart = chart_of(comparisons.trend())
    (step,) = drawn(chart, "rule")
    (drift,) = drawn(chart, "rect")
    assert (step["at"], step["text"], TONES[step["tone"]]) == ("v12", "step +21.1 %", BAD)
    assert (drift["at"], drift["until"]) == ("v20", "v28")
    assert {value["text"] for value in drawn(chart, "text")} == {"step +21.1 %", "drift +14.9 %"}


def test_a_change_for_the_better_is_green() -> None:
    trend = comparisons.trend()
    better = msgspec.structs.replace(trend, changes=(msgspec.structs.replace(trend.changes[0], harmful=False),))
    (step,) = drawn(chart_of(better), "rule")
    assert TONES[step["tone"]] == GOOD


def test_an_unknown_value_is_not_drawn_at_zero() -> None:
    points = drawn(chart_of(comparisons.gappy_trend()), "line")
    assert [value["value"] for value in points] == [0.8, 0.8, None, 0.8, 0.8]


def test_all_values_are_inside_the_axis() -> None:
    chart = chart_of(comparisons.trend())
    low, high = chart["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert all(low < value["low"] <= value["high"] < high for value in drawn(chart, "line"))


def test_points_that_are_called_alike_stay_apart() -> None:
    trend = comparisons.trend()
    alike = msgspec.structs.replace(trend, points=tuple(msgspec.structs.replace(one, label="same") for one in trend.points))
    assert len({value["at"] for value in drawn(chart_of(alike), "line")}) == 30


def test_nothing_known_is_no_chart() -> None:
    trend = comparisons.gappy_trend()
    blank = msgspec.structs.replace(trend, points=tuple(msgspec.structs.replace(one, value=None) for one in trend.points))
    assert trend_chart(blank, 600) is None
    with pytest.raises(NotMeasured, match="nothing to draw"):
        written("svg", blank)


@pytest.mark.parametrize("width", [250, 1080])
@pytest.mark.parametrize("trend", [*ALL, comparisons.nasty_trend()], ids=["step and drift", "gap", "one point", "adversarial"])
def test_every_trend_can_be_drawn(trend: Trend, width: int) -> None:
    tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(svg_of(chart_of(trend, width))).iter()}
    assert "svg" in tags
    assert not tags & {"script", "image", "foreignObject", "a", "img"}


def test_the_page_has_a_chart_a_metric_and_asks_for_nothing() -> None:
    text = written("html", *ALL).decode()
    assert text.count("<figure>") == 3
    assert "step +21.1 % at v12 (15c1234)" in text
    asking = {"src", "href", "xlink:href", "action"}
    assert not [tag for tag, attributes in Page(text).tags if asking & set(attributes)]


def test_adversarial_labels_become_no_element() -> None:
    page = Page(written("html", comparisons.nasty_trend()).decode())
    assert {"script", "img"} & {tag for tag, _ in page.tags} == set()
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "style"]
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(written("markdown", comparisons.nasty_trend()).decode())
    assert not [tag for tag in ("<script", "<img", "<a ") if tag in html]
    assert "\x1b" not in shown(comparisons.nasty_trend())


@pytest.mark.parametrize(
    ("file", "name"), [("t.md", "markdown"), ("t.html", "html"), ("t.json", "json"), ("t.svg", "svg"), ("t.png", "png")]
)
def test_files_are_written_by_their_extension(tmp_path: Path, file: str, name: str) -> None:
    assert write_trend_report(tmp_path / file, ALL).name == name
    assert (tmp_path / file).stat().st_size > 500


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="markdown, html, json, svg, png"):
        write_trend_report(tmp_path / "trend.doc", ALL)
