"""The HTML page: whole in itself, safe with whatever a model wrote, small enough to open at once."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.report import bench_examples
from tests.report.bench_examples import Example

from flowgauge.report import bench_html_trials
from flowgauge.report.bench_html import write_html
from flowgauge.report.bench_source import Source

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(HTMLParser):
    """Every start tag with its attributes, and the text of script elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.inside = False


def page_of(example: Example) -> str:
    out = io.BytesIO()
    write_html(Source(example.summary, example.trials), out)
    return out.getvalue().decode()


@pytest.fixture(scope="module")
def small_page() -> str:
    return page_of(bench_examples.small())


@pytest.fixture(scope="module")
def nasty_page() -> str:
    return page_of(bench_examples.nasty())


def data_of(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Page(text).scripts[0])
    return data


def test_the_page_asks_for_nothing_from_outside(nasty_page: str) -> None:
    asking = {"src", "href", "xlink:href", "action", "data", "poster", "srcset", "background"}
    found = [(tag, attributes) for tag, attributes in Page(nasty_page).tags if asking & set(attributes)]
    assert found == []
    assert "default-src 'none'" in nasty_page
    assert "@import" not in nasty_page
    assert "url(" not in nasty_page


def test_nothing_that_a_model_wrote_becomes_an_element_or_a_handler(nasty_page: str) -> None:
    page = Page(nasty_page)
    assert len(page.scripts) == 2
    assert "img" not in {tag for tag, _ in page.tags}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "style"]


def test_the_policy_lets_only_the_page_s_own_script_and_style_in(small_page: str) -> None:
    policy = next(attributes["content"] for tag, attributes in Page(small_page).tags if attributes.get("http-equiv"))
    style = re.search(r"<style>(.*?)</style>", small_page, re.DOTALL)
    assert style is not None
    assert policy is not None
    for text in (Page(small_page).scripts[1], style.group(1)):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert "unsafe" not in policy


def test_every_trial_is_in_the_data_with_its_text_as_it_was(nasty_page: str) -> None:
    data = data_of(nasty_page)
    example = bench_examples.nasty()
    rows = [dict(zip(data["fields"], row, strict=True)) for row in data["rows"]]
    assert [row["run_id"] for row in rows] == [trial.run_id for trial in example.all]
    assert [row["output"] for row in rows] == [trial.answer.output or "" for trial in example.all]
    assert {data["configs"][row["config"]] for row in rows} == set(bench_examples.NASTY)


def test_the_table_shows_every_configuration_and_unknown_costs_as_unknown(small_page: str) -> None:
    table = small_page.split("<h2>Comparison</h2>")[1].split("</table>")[0]
    for part in ("mini", "broken", "house", "crowded", "$0 (unpriced)", "49–94.3 %", "Pareto"):
        assert part in table


def test_leads_say_whether_they_are_significant(small_page: str) -> None:
    cards = small_page.split('<div class="cards">')[1].split("Comparison")[0]
    assert ">not significant<" in cards
    assert "Most reliable" in cards


def test_the_charts_are_inside_in_two_widths(small_page: str) -> None:
    assert small_page.count("<figure>") == 3
    assert small_page.count('class="marks"') == 6


def test_without_the_extra_the_page_says_how_to_get_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    text = page_of(bench_examples.small())
    assert "pip install &#x27;flowgauge[report]&#x27;" in text
    assert len(data_of(text)["rows"]) == 40


def test_long_texts_are_cut_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_html_trials, "MOST_CHARS", 10)
    monkeypatch.setattr(bench_html_trials, "LEAST_CHARS", 10)
    text = page_of(bench_examples.small())
    data = data_of(text)
    assert max(len(row[data["fields"].index("output")]) for row in data["rows"]) == 10
    assert "Texts are cut here after 10 characters" in text


def test_too_many_trials_become_the_failures_and_a_share_of_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_html_trials, "MAX_ROWS", 40)
    example = bench_examples.small()
    trials = example.all * 10
    grown = Example(bench_examples.summary_of(trials), trials)
    text = page_of(grown)
    data = data_of(text)
    failed = [row for row in data["rows"] if not row[data["fields"].index("ok")]]
    assert len(failed) == 20
    assert 20 < len(data["rows"]) <= 40
    assert f"{len(data['rows'])} of 400 trials are on this page" in text


def test_ten_thousand_trials_make_a_page_of_a_few_megabytes() -> None:
    text = page_of(bench_examples.large())
    assert len(data_of(text)["rows"]) == 10_000
    assert len(text) < 8_000_000


def opened(place: Path) -> str:
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom", place.as_uri()]
    return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_real_browser_runs_only_our_script_and_shows_adversarial_text(tmp_path: Path, nasty_page: str) -> None:
    place = tmp_path / "report.html"
    place.write_text(nasty_page)
    dom = opened(place)
    title = re.search(r"<title>(.*?)</title>", dom)
    assert title is not None
    assert html.unescape(title.group(1)) == bench_examples.nasty().summary.bench.bench_id
    body = dom.split('<tbody id="rows">')[1].split("</tbody>")[0]
    assert body.count('class="row"') == 50
    assert html.escape(bench_examples.NASTY[0], quote=False) in body
    assert "<img" not in dom
    assert "<script>document.title" not in dom.replace(html.escape("<script>document.title"), "")


DRIVER = """<script>
const say = {};
const pick = (selector) => document.querySelector(selector);
const cells = (index) => [...document.querySelectorAll("#rows tr.row")].map((row) => row.children[index].textContent);
const change = (id, value) => { pick(id).value = value; pick(id).dispatchEvent(new Event("change")); };
change("#outcome", "bad");
say.failed = pick("#count").textContent;
change("#outcome", "");
change("#config", "0");
document.querySelectorAll("#head button")[4].click();
document.querySelectorAll("#head button")[4].click();
say.configs = [...new Set(cells(0))];
say.times = cells(4).map(parseFloat);
pick("#rows tr.row").click();
say.open = pick("#rows tr.detail").textContent;
pick("#rows tr.open").click();
say.closed = document.querySelectorAll("#rows tr.detail").length;
change("#config", "");
pick("#find").value = "RUN_000003";
pick("#find").dispatchEvent(new Event("input"));
setTimeout(() => { say.found = cells(0); document.body.innerHTML = ""; document.body.textContent = JSON.stringify(say); }, 400);
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_rows_can_be_filtered_sorted_found_and_opened(tmp_path: Path, small_page: str) -> None:
    place = tmp_path / "driven.html"
    without_policy = re.sub(r"<meta http-equiv[^>]*>", "", small_page)
    place.write_text(without_policy.replace("</body>", DRIVER))
    body = re.search(r"<body>(.*)</body>", opened(place), re.DOTALL)
    assert body is not None
    said = json.loads(html.unescape(body.group(1)))
    assert said["failed"] == "16 of 40 trials"
    assert said["configs"] == ["mini"]
    assert said["times"] == sorted(said["times"], reverse=True)
    assert "label is right" in said["open"]
    assert "run id: run_" in said["open"]
    assert (said["closed"], said["found"]) == (0, ["crowded"])
