"""The page of a comparison and its charts: whole in themselves, safe, and true to the verdicts."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import re
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.report import comparisons
from tests.report.test_bench_html import CHROMIUM, Page, opened

from flowgauge.model.benchmark import Interval
from flowgauge.model.verdict import Comparison, GateResult
from flowgauge.report.charts import BAD, GOOD, TONES
from flowgauge.report.compare_chart_nodes import MOST_NODES, node_chart
from flowgauge.report.compare_chart_rates import rate_chart
from flowgauge.report.compare_chart_ratios import ratio_chart
from flowgauge.report.compare_chart_spread import FEW_SAMPLES, spread_chart
from flowgauge.report.compare_charts import compare_charts
from flowgauge.report.compare_html import MOST_ROWS, write_html
from flowgauge.report.compare_source import CompareSource, compare_source
from flowgauge.report.painting import svg_of


def page_of(result: Comparison | GateResult, **more: Any) -> str:
    out = io.BytesIO()
    write_html(compare_source(result, **more), out)
    return out.getvalue().decode()


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(comparisons.failed(), distributions=comparisons.distributions())


@pytest.fixture(scope="module")
def nasty_page() -> str:
    metrics = [metric.metric for metric in comparisons.nasty().comparison.metrics]
    return page_of(comparisons.nasty(), distributions=dict.fromkeys(metrics, ([1.0, 2.0, 3.0], [2.0, 3.0])))


def test_the_page_asks_for_nothing_and_runs_nothing(nasty_page: str) -> None:
    found = Page(nasty_page)
    asking = {"src", "href", "xlink:href", "action", "data", "poster", "srcset", "background"}
    assert [(tag, attributes) for tag, attributes in found.tags if asking & set(attributes)] == []
    assert {"script", "img", "iframe", "a"} & {tag for tag, _ in found.tags} == set()
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on") or name == "style"]
    assert "url(" not in nasty_page
    assert "@import" not in nasty_page


def test_the_policy_lets_only_the_page_s_own_style_in(page: str) -> None:
    policy = next(attributes["content"] for _, attributes in Page(page).tags if attributes.get("http-equiv"))
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    assert policy is not None
    assert base64.b64encode(hashlib.sha256(style.group(1).encode()).digest()).decode() in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy


@pytest.mark.parametrize(
    ("result", "kind", "head"),
    [
        pytest.param(comparisons.failed(), "bad", "Failed", id="failed is red"),
        pytest.param(comparisons.better(), "good", "Passed", id="passed is green"),
        pytest.param(comparisons.open_ended(), "warn", "Passed", id="passed with something open is not green"),
        pytest.param(comparisons.not_measured(), "warn", "Not measured", id="not measured is not green"),
        pytest.param(comparisons.no_baseline(), "warn", "Not compared", id="not compared is not green"),
    ],
)
def test_the_banner_says_it_in_words_and_colour(result: Comparison | GateResult, kind: str, head: str) -> None:
    found = re.search(r'<div class="verdict (\w*)".*?<h2>(.*?)</h2><p>(.*?)</p>', page_of(result), re.DOTALL)
    assert found is not None
    assert found.groups()[:2] == (kind, head)
    assert len(found.group(3)) > 20


def test_the_page_has_every_part(page: str) -> None:
    titles = re.findall(r"<section><h2>(.*?)</h2>", page)
    assert titles == [
        "Metrics",
        "Gate",
        "Pass rates",
        "Nodes that moved",
        "Failures that became more or less common",
        "What the two sides do not share",
        "Notes",
        "How metrics were judged",
        "What was compared",
    ]
    assert page.count("<figure>") == 3 + 4
    assert page.count('class="marks"') == 2 * page.count("<figure>")


def test_every_chart_has_words_for_those_who_do_not_see_it(page: str) -> None:
    labels = [attributes["aria-label"] for tag, attributes in Page(page).tags if attributes.get("role") == "img"]
    assert len(labels) == page.count('class="marks"')
    assert all(label and len(label) > 40 for label in labels)


def test_stable_cases_are_folded_and_the_others_are_not(page: str) -> None:
    rates = page.partition("<h2>Pass rates</h2>")[2].partition("<h2>")[0]
    open_part, _, folded = rates.partition("<summary>12 stable cases</summary>")
    assert "refund request" in open_part
    assert "stable.json/case 3" not in open_part
    assert "stable.json/case 3" in folded


def test_too_many_cases_are_cut_and_counted() -> None:
    text = page_of(comparisons.huge(MOST_ROWS + 25))
    assert "25 more are in the JSON report" in text
    assert len(text) < 2_000_000


def test_without_the_extra_the_page_says_how_to_get_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    text = page_of(comparisons.failed())
    assert "pip install &#x27;flowgauge[report]&#x27;" in text
    assert "21.1 % slower" in text


def values(chart: dict[str, Any] | None) -> list[dict[str, Any]]:
    assert chart is not None
    found: list[dict[str, Any]] = chart["data"]["values"]
    return found


def test_ratios_are_placed_with_interval_tolerance_and_verdict() -> None:
    drawn = values(ratio_chart(comparisons.comparison(), 600))
    assert [value["metric"] for value in drawn] == ["duration_ms ↓", "cost_usd ↓", "score.tone ↑", "tokens_completion ↓"]
    first = drawn[0]
    assert (first["low"], first["ratio"], first["high"], first["inside"], first["outside"]) == (1.148, 1.211, 1.277, 0.95, 1.05)
    assert [TONES[value["tone"]] for value in drawn[:3:2]] == [BAD, GOOD]


def test_a_ratio_that_is_not_known_is_named_not_drawn() -> None:
    chart = ratio_chart(comparisons.comparison(metrics=(comparisons.TOKENS, comparisons.FIRST_TOKEN)), 600)
    assert [value["metric"] for value in values(chart)] == ["tokens_completion ↓"]
    assert chart is not None
    assert "Not placed: first_token_ms." in chart["title"]["subtitle"][1]
    assert ratio_chart(comparisons.comparison(metrics=(comparisons.FIRST_TOKEN,)), 600) is None


@pytest.mark.parametrize("bounds", [(0.001, 900.0), (0.0, float("inf")), (0.9, 1.1)], ids=["very wide", "without end", "narrow"])
@pytest.mark.parametrize("ratio", [0.02, 0.99, 1.0, 1.3, 40.0])
def test_an_axis_of_ratios_holds_every_mark_and_a_few_round_ticks(ratio: float, bounds: tuple[float, float]) -> None:
    metric = msgspec.structs.replace(comparisons.COST, ratio=ratio, interval=Interval(*bounds))
    chart = ratio_chart(comparisons.comparison(metrics=(metric,)), 400)
    assert chart is not None
    x = chart["layer"][0]["encoding"]["x"]
    low, high = x["scale"]["domain"]
    (value,) = values(chart)
    assert all(low <= value[name] <= high for name in ("ratio", "low", "high", "inside", "outside"))
    ticks = x["axis"]["values"]
    assert 1.0 in ticks
    assert 2 <= len(ticks) <= 9
    assert all(low <= tick <= high for tick in ticks)


def test_the_waterfall_ends_where_the_sum_does() -> None:
    drawn = values(node_chart(comparisons.comparison(), 600))
    assert [value["node"] for value in drawn] == ["classify", "audit", "summarise", "all nodes"]
    assert all(before["end"] == after["start"] for before, after in pairwise(drawn[:-1]))
    total = sum(node.delta_ms for node in comparisons.NODES)
    assert drawn[-1]["start"] == 0
    assert drawn[-1]["end"] == pytest.approx(total)
    assert [value["tone"] for value in drawn[:3]] == ["bad", "bad", "good"]


def test_many_nodes_are_summed_up_in_one_bar() -> None:
    nodes = tuple(msgspec.structs.replace(comparisons.NODES[0], node_id=f"n{index}") for index in range(30))
    drawn = values(node_chart(comparisons.comparison(nodes=nodes), 600))
    assert len(drawn) == MOST_NODES + 2
    assert drawn[-2]["node"] == "18 others"
    assert drawn[-1]["end"] == pytest.approx(30 * comparisons.NODES[0].delta_ms)


def test_pass_rates_are_drawn_for_both_sides_of_cases_that_are_not_stable() -> None:
    chart = rate_chart(comparisons.comparison(), 600)
    drawn = values(chart)
    assert len(drawn) == 2 * 5
    assert {value["side"] for value in drawn} == {"candidate", "baseline"}
    assert all(value["low"] <= value["share"] <= value["high"] for value in drawn)
    assert chart is not None
    assert "12 cases" in chart["title"]["subtitle"][1]
    assert rate_chart(comparisons.not_measured().comparison, 600) is None


def test_few_samples_are_steps_and_many_a_curve() -> None:
    many, few = (comparisons.distributions(size)["duration_ms"] for size in (FEW_SAMPLES, FEW_SAMPLES - 1))
    curve = values(spread_chart(comparisons.DURATION, *many, 600))
    steps = values(spread_chart(comparisons.DURATION, *few, 600))
    assert max(value["height"] for value in curve) == 1
    assert len(steps) == 2 * (FEW_SAMPLES - 1 + 2)
    mine = [value for value in steps if value["side"] == "candidate"]
    assert [value["height"] for value in mine] == sorted(value["height"] for value in mine)
    assert mine[-1]["height"] == 1


@pytest.mark.parametrize(
    ("candidate", "baseline", "drawn"),
    [([], [1.0], False), ([float("nan")], [1.0], False), ([1.0] * 50, [1.0] * 50, False), ([0.0, 5.0], [1.0], True)],
    ids=["no sample", "no finite sample", "all alike", "a zero"],
)
def test_odd_samples_are_drawn_or_left_out(candidate: list[float], baseline: list[float], drawn: bool) -> None:
    chart = spread_chart(comparisons.DURATION, candidate, baseline, 400)
    assert (chart is not None) == drawn
    if chart is not None:
        assert "<svg" in svg_of(chart)


def test_a_metric_in_seconds_is_drawn_in_ms_and_named_in_its_unit() -> None:
    metric = msgspec.structs.replace(comparisons.DURATION, unit="s")
    chart = spread_chart(metric, [1.0, 2.0, 3.0], [2.0, 2.0, 2.0], 400)
    assert chart is not None
    assert {value["at"] for value in values(chart)} == {1000.0, 2000.0, 3000.0}
    assert "medians, 2 s and 2 s" in chart["title"]["subtitle"]


@pytest.mark.parametrize(
    "make", [comparisons.failed, comparisons.nasty, comparisons.price_changed], ids=["failed", "adversarial", "prices"]
)
@pytest.mark.parametrize("width", [250, 470])
def test_every_chart_can_be_drawn_as_svg_without_scripts(make: Any, width: int) -> None:
    result = make()
    spreads = dict.fromkeys([metric.metric for metric in result.comparison.metrics], ([1.0, 2.0], [2.0, 9.0]))
    source: CompareSource = compare_source(result, distributions=spreads)
    charts = compare_charts(source, width=width)
    assert charts
    for chart in charts.values():
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(svg_of(chart)).iter()}
        assert {"svg", "text"} <= tags
        assert not tags & {"script", "image", "foreignObject", "a", "img"}


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_real_browser_shows_adversarial_text_as_text(tmp_path: Path, nasty_page: str) -> None:
    place = tmp_path / "compare.html"
    place.write_text(nasty_page)
    dom = opened(place)
    title = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert title is not None
    assert html.unescape(title.group(1)).startswith("</script><script>document.title='owned'</script> against")
    assert not {"img", "script"} & {tag for tag, _ in Page(dom).tags}
