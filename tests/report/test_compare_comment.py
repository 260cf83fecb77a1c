"""The comment on a pull request: its alert, its sections, its escaping and its length."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.report import comparisons

from flowgauge.model.verdict import Comparison, GateResult
from flowgauge.report.compare_comment import MAX_CHARS, Section, alert_of, fit, pr_comment
from flowgauge.report.compare_source import compare_source


def comment(result: Comparison | GateResult, commit: str = "") -> str:
    return pr_comment(compare_source(result, commit=commit))


def html_of(text: str) -> str:
    html: str = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(text)
    return html


@pytest.mark.parametrize(
    ("result", "alert"),
    [
        pytest.param(comparisons.failed(), "CAUTION", id="a case broke"),
        pytest.param(comparisons.price_changed(), "CAUTION", id="only a metric regressed"),
        pytest.param(comparisons.comparison(rates=comparisons.RATES[1:2], metrics=()), "WARNING", id="a likely regression"),
        pytest.param(comparisons.comparison(rates=(), metrics=(comparisons.FIRST_TOKEN,)), "WARNING", id="a metric vanished"),
        pytest.param(comparisons.not_measured(), "WARNING", id="nothing could be measured"),
        pytest.param(
            Comparison(attempt="fetch_failed", candidate="x", reason="the store is gone"), "WARNING", id="the baseline could not be read"
        ),
        pytest.param(comparisons.better(), "TIP", id="something is better and nothing worse"),
        pytest.param(comparisons.quiet(), "NOTE", id="nothing moved"),
        pytest.param(comparisons.open_ended(), "NOTE", id="undecided"),
        pytest.param(comparisons.no_baseline(), "NOTE", id="a first run"),
    ],
)
def test_the_alert_says_how_bad_it_is(result: Comparison | GateResult, alert: str) -> None:
    assert alert_of(compare_source(result)) == alert
    assert re.search(rf"^> \[!{alert}\]\n> \S", comment(result), re.MULTILINE)


def test_a_gate_that_failed_for_anything_at_all_is_a_caution() -> None:
    limit = comparisons.line("p95_ms <= 2000", "failed", "limit", "broken", "2.4 s, the limit is 2 s.")
    assert alert_of(compare_source(comparisons.gate("failed", (limit,), comparisons.quiet().comparison))) == "CAUTION"


def test_the_heading_has_the_short_commit() -> None:
    assert comment(comparisons.failed()).startswith("### Flowgauge `4c0ffee`: triage-3fa9c1-2 mini against main\n")
    assert comment(comparisons.failed(), commit="abcdef0123").startswith("### Flowgauge `abcdef0`: ")


def test_tiers_have_their_sections_in_order_with_their_columns() -> None:
    text = comment(comparisons.failed())
    heads = re.findall(r"^#### (.+)$", text, re.MULTILINE)
    assert heads == [
        "Regressions",
        "Likely regressions",
        "Worth watching",
        "Improvements",
        "Metrics",
        "Nodes that moved",
        "Failure breakdown",
    ]
    assert text.count("| Scenario | PR | Baseline | Δ | p |") == 4
    assert "| triage.json/refund request | 0 % (0/3) | 100 % (3/3) | −100 pp | 0.05 |" in text
    watching = text.partition("#### Worth watching")[2].partition("#### Improvements")[0]
    assert "long thread" in watching
    assert "no subject" in watching


def test_failed_runs_are_folded_below_their_table() -> None:
    broken = comment(comparisons.failed()).partition("#### Regressions")[2].partition("#### ")[0]
    assert "<details><summary>3 failed runs</summary>" in broken
    assert broken.count("`run_") == 3
    assert broken.index("| triage.json/refund request |") < broken.index("<details>")


def test_the_aggregate_has_its_intervals_and_both_ways_to_count() -> None:
    text = comment(comparisons.failed())
    assert "Pass rate 82.9 % (73.4–89.5 %, 68/82) against 92 % (84.3–96 %, 80/87): −9 pp" in text
    assert "with every failure counted 81.9 % (68/83)" in text


@pytest.mark.parametrize("title", ["Per case", "Checks of the gate", "Not alike", "How metrics were judged", "Details"])
def test_what_is_long_is_folded(title: str) -> None:
    assert f"<details><summary>{title}</summary>\n\n" in comment(comparisons.failed())


def test_folds_are_closed_and_tables_are_tables() -> None:
    text = comment(comparisons.failed())
    assert text.count("<details>") == text.count("</details>")
    html = html_of(text)
    assert html.count("<table>") == 11
    assert "| ---" not in html
    assert "|---" not in html


def test_a_section_without_cases_is_left_out() -> None:
    assert "#### " not in comment(comparisons.no_baseline())
    assert "#### Regressions" not in comment(comparisons.better())


def test_adversarial_text_cannot_leave_its_place() -> None:
    text = comment(comparisons.nasty())
    html = html_of(text)
    for tag in ("<script", "<img", "<a ", "<!--", "<em>", "<del>"):
        assert tag not in html
    assert "@everyone" not in re.sub(r"<code>.*?</code>", "", html)
    for table in re.findall(r"<table>.*?</table>", html, re.DOTALL):
        assert len({len(re.findall("<t[dh]", row)) for row in table.split("<tr>")[1:]}) == 1
    assert html.count("<details>") == html.count("</details>") == text.count("\n<details>")


def test_a_comment_is_never_longer_than_github_takes_and_says_what_is_missing() -> None:
    text = comment(comparisons.huge())
    assert 0.9 * MAX_CHARS < len(text) <= MAX_CHARS
    shown = len(
        re.findall(r"^\| suite_\d+\.json/scenario number \d+ \| 0 %.* \| 0\.05 \|$", text.partition("#### Metrics")[0], re.MULTILINE)
    )
    left = int(re.findall(r"… and ([\d,]+) more, left out for length", text)[0].replace(",", ""))
    assert shown + left == 4000
    assert "#### Metrics" in text
    assert "| duration_ms | 1.21 s |" in text
    assert text.count("<details>") == text.count("</details>")


@given(st.lists(st.lists(st.integers(1, 400), max_size=60), max_size=12), st.integers(0, 20_000))
def test_sections_share_the_room_and_short_ones_are_whole(sizes: list[list[int]], more: int) -> None:
    sections = [Section("<head>", tuple("x" * size for size in rows), "<tail>") for rows in sizes]
    room = sum(section.fixed_chars for section in sections) + more
    text = fit(sections, room)
    assert len(text) <= room
    assert text.count("<head>") == text.count("<tail>") == len(sections)
    if sum(section.rows_chars for section in sections) <= more:
        assert "left out" not in text
    elif sections:
        fair = more // len(sections)
        whole = [section for section in sections if section.rows_chars <= fair]
        assert text.count("left out") <= len(sections) - len(whole)


def test_long_names_are_cut() -> None:
    rates = tuple(msgspec.structs.replace(one, key=one.key + "x" * 5000) for one in comparisons.RATES)
    text = comment(comparisons.gate(found=comparisons.comparison(rates=rates)))
    assert max(map(len, text.splitlines())) < 3000
