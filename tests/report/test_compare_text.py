"""Comparisons for people, as text: the verdict in one sentence, the terminal, Markdown."""

from __future__ import annotations

import io
import re

import msgspec
import pytest
from markdown_it import MarkdownIt
from rich.console import Console
from tests.report import comparisons
from tests.report.bench_examples import NASTY

from flowgauge.model.benchmark import Interval
from flowgauge.model.verdict import Comparison, Estimate, GateResult, MetricVerdict
from flowgauge.report.compare_markdown import compare_markdown
from flowgauge.report.compare_sentences import counts, metric_sentence, pass_rate_sentence, verdict_sentence
from flowgauge.report.compare_source import compare_source
from flowgauge.report.compare_terminal import compare_view
from flowgauge.report.compare_words import amount, change, how_much, listed, p_value, points, ratio
from flowgauge.report.fitting import Fitting
from flowgauge.report.markdown import cell, escape


def sentence(result: Comparison | GateResult) -> str:
    return verdict_sentence(compare_source(result))


def shown(result: Comparison | GateResult, width: int = 120) -> str:
    return printed(compare_view(compare_source(result)), width)


def printed(what: object, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(what)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_failed_gate_says_what_failed_by_how_much_and_where() -> None:
    told = sentence(comparisons.failed())
    assert told.startswith("Failed: duration_ms regressed, 21.1 % slower, mostly in node classify (+184 ms, 87.2 % of the change)")
    assert "pass rate of triage.json/refund request: regression" in told
    assert told.endswith("2 of 6 lines of the gate failed.")


def test_a_regression_of_cost_blames_no_node() -> None:
    nodes = comparisons.NODES
    found = comparisons.price_changed()
    told = sentence(msgspec.structs.replace(found, comparison=msgspec.structs.replace(found.comparison, nodes=nodes)))
    assert told.startswith("Failed: cost_usd regressed, 100 % dearer;")


def test_a_broken_limit_does_not_borrow_the_words_of_a_metric_of_the_same_name() -> None:
    broken = comparisons.line("duration_ms", "failed", "limit", "broken", "1.21 s, the limit is 1 s.")
    assert "duration_ms: broken;" in sentence(comparisons.gate("failed", (broken,)))


def test_what_is_let_through_but_open_is_named_and_not_called_fine() -> None:
    assert sentence(comparisons.open_ended()) == "Passed: none of 2 lines of the gate failed, but cost_usd is inconclusive."
    assert "inconclusive" not in sentence(comparisons.better())


def test_what_was_not_measured_says_why() -> None:
    told = sentence(comparisons.not_measured())
    assert told.startswith("Not measured: All 90 runs failed for reasons of the infrastructure")
    assert "pass" not in told.lower()


def test_a_missing_baseline_is_not_a_pass() -> None:
    assert sentence(comparisons.no_baseline()) == "Not compared: there is no baseline to compare with (no baseline is called 'main')."


def test_a_comparison_without_a_gate_names_what_it_found_the_worst_first() -> None:
    told = sentence(comparisons.comparison())
    places = [
        told.index(part)
        for part in ("duration_ms (21.1 % slower) regressed", "score.tone (9.8 % better) improved", "cost_usd inconclusive")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param(comparisons.quiet().comparison, "Compared: no difference was found beyond the tolerance.", id="nothing moved"),
        pytest.param(comparisons.not_measured().comparison, "Compared: there was nothing to judge by.", id="nothing ran"),
    ],
)
def test_no_difference_is_told_apart_from_nothing_to_judge_by(found: Comparison, told: str) -> None:
    assert sentence(found) == told


def test_many_failures_are_counted_not_listed() -> None:
    told = sentence(comparisons.huge(40))
    assert "and 37 more; 40 of 40 lines of the gate failed." in told
    assert told.count("pass rate of") == 3


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        pytest.param(
            comparisons.DURATION,
            "duration_ms regressed: 21.1 % slower, 1.21 s against 1 s, ratio ×1.21 (1.15–1.28), p < 0.0001.",
            id="regressed",
        ),
        pytest.param(
            comparisons.SCORE,
            "score.tone improved: 9.8 % better, 0.871 against 0.793, ratio ×1.098 (1.061–1.137), p = 0.0012.",
            id="improved",
        ),
        pytest.param(
            comparisons.FIRST_TOKEN, "first_token_ms vanished: the baseline has 231 ms, the candidate has nothing.", id="vanished"
        ),
    ],
)
def test_a_metric_in_one_sentence(metric: MetricVerdict, told: str) -> None:
    assert metric_sentence(metric) == told


def test_an_inconclusive_metric_says_what_would_decide_it() -> None:
    assert metric_sentence(comparisons.COST).endswith("p = 0.61. About 240 runs a side would decide it.")
    alone = msgspec.structs.replace(
        comparisons.COST, ratio=None, interval=None, runs_needed=None, p_adjusted=None, p_harm=None, reason="One sample a side."
    )
    assert metric_sentence(alone) == "cost_usd is inconclusive: $0.002140 against $0.002030. One sample a side."


def test_the_pass_rate_says_which_failures_count() -> None:
    judged = pass_rate_sentence(comparisons.comparison())
    assert "Judged without infrastructure failures; with every failure counted 81.9 % (68/83) against 92 % (80/87)." in judged
    assert pass_rate_sentence(comparisons.comparison(count_all_failures=True)).endswith("Every failure counts.")
    assert pass_rate_sentence(comparisons.quiet().comparison).endswith("No run failed for reasons of the infrastructure.")


def test_counts_are_in_the_order_of_lists() -> None:
    assert counts(comparisons.comparison()) == (
        "18 cases: 1 regression, 1 likely regression, 1 improvement, 1 worth watching, 1 unreliable baseline, 12 stable, 1 not measured",
        "4 metrics: 1 regressed, 1 inconclusive, 1 improved, 1 unchanged",
    )


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1213.4, "ms", "1.21 s"),
        (0.0421, "s", "42.1 ms"),
        (350.0, "ns", "350 ns"),
        (0.0021, "USD", "$0.002100"),
        (0.914, "", "0.914"),
        (412.0, "tokens", "412 tokens"),
        (87.5, "%", "87.5 %"),
        (None, "ms", "–"),
        (float("nan"), "ms", "–"),
        (-3.0, "ms", "−3 ms"),
    ],
)
def test_an_amount_is_shown_in_its_unit_and_unknown_as_unknown(value: float | None, unit: str, text: str) -> None:
    assert amount(value, unit) == text


@pytest.mark.parametrize(
    ("value", "bounds", "text"),
    [
        (1.211, (1.148, 1.277), "×1.21 (1.15–1.28)"),
        (0.9937, (0.981, 1.0066), "×0.994 (0.981–1.007)"),
        (1.5, (0.4, float("inf")), "×1.50 (0.40–∞)"),
        (1.5, None, "×1.50"),
        (None, None, "–"),
    ],
)
def test_a_ratio_has_its_interval(value: float | None, bounds: tuple[float, float] | None, text: str) -> None:
    assert ratio(value, Interval(*bounds) if bounds else None) == text


def test_small_words() -> None:
    assert [p_value(value) for value in (0.05, 0.00001, None)] == ["0.05", "< 0.0001", "–"]
    assert [points(value) for value in (-1.0, 0.057, 0.0, None)] == ["−100 pp", "+5.7 pp", "±0 pp", "–"]
    assert [change(value) for value in (0.2106, -0.5, 12.0, None, float("inf"))] == ["+21.1 %", "−50 %", "+1,200 %", "–", "–"]
    assert [listed("abcde"[:count]) for count in range(6)] == ["", "a", "a and b", "a, b and c", "a, b, c and 1 more", "a, b, c and 2 more"]
    assert how_much(0.1, "higher", "") == "10 % better"
    assert how_much(-0.1, "lower", "ms") == "10 % faster"


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_terminal_of_any_width_shows_verdict_and_metrics_whole(width: int) -> None:
    text = shown(comparisons.failed(), width)
    for part in ("FAILED:", "duration_ms", "×1.21 (1.15–1.28)", "regressed", "refund request", "classify", "+184 ms", "wrong_answer"):
        assert part in text
    assert max(len(line) for line in text.splitlines()) <= width


def test_a_terminal_shows_the_verdict_first_and_failing_lines_before_the_others() -> None:
    text = shown(comparisons.failed())
    assert text.startswith("FAILED: ")
    lines = [line for line in text.splitlines() if line[:1] in "✗?✓"]
    assert [line[0] for line in lines if line] == ["✗", "✗", "?", "✓"]
    assert "score.tone, tokens_completion and p95_ms <= 2000" in text


def test_a_terminal_lists_cases_that_are_not_stable_and_counts_the_rest() -> None:
    text = shown(comparisons.failed())
    assert "stable.json/case 3" not in text
    assert "12 cases are stable" in text
    assert "only the baseline has 1 case: old.json/fax" in text


def test_a_terminal_is_not_sent_what_a_file_said_to_steer_it() -> None:
    text = shown(comparisons.nasty(), 160)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "escape [31m" in text


def test_an_empty_comparison_is_one_line_of_why() -> None:
    assert shown(comparisons.no_baseline()).startswith("NOT COMPARED: there is no baseline")


def test_markdown_has_the_same_parts() -> None:
    text = compare_markdown(compare_source(comparisons.failed(), command="flowgauge gate latest --baseline main"))
    heads = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert heads == [
        "Gate",
        "Metrics",
        "Pass rate",
        "Cases that are not stable",
        "Nodes that moved",
        "Failures",
        "Not alike",
        "Notes",
        "How it was judged",
    ]
    assert "| ? undecided | cost_usd" in text
    assert "flowgauge gate latest --baseline main" in text
    assert comparisons.COMMIT in text


def test_markdown_marks_a_node_that_is_new() -> None:
    (row,) = [line for line in compare_markdown(compare_source(comparisons.comparison())).splitlines() if line.startswith("| audit")]
    assert [part.strip() for part in row.split("|")][2:5] == ["27.1 ms", "new", "+27.1 ms"]


def test_adversarial_text_stays_in_its_cell_and_becomes_no_markup() -> None:
    text = compare_markdown(compare_source(comparisons.nasty()))
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(text)
    for tag in ("<script", "<img", "<a ", "<!--", "<em>", "<del>"):
        assert tag not in html
    for table in re.findall(r"<table>.*?</table>", html, re.DOTALL):
        assert len({len(re.findall("<t[dh]", row)) for row in table.split("<tr>")[1:]}) == 1


@pytest.mark.parametrize("text", ["@everyone", "see #12", "https://evil.example/x", "www.evil.example", *NASTY])
def test_nothing_becomes_a_mention_a_reference_or_a_link(text: str) -> None:
    for shown_text in (escape(text), cell(text)):
        assert not re.search(r"@\w|#\d|://|(?i:www)\.", shown_text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [("1. first", "1\\. first"), ("+ x", "\\+ x"), ("- x", "\\- x"), ("# x", "\\# x"), ("3.5 s", "3.5 s"), ("2026-01-02", "2026-01-02")],
)
def test_a_line_begins_no_list_and_no_heading(text: str, kept: str) -> None:
    assert escape(text) == kept


def test_a_cell_keeps_its_sign() -> None:
    assert cell("+80 pp") == "+80 pp"


def test_free_text_is_cut_with_an_ellipsis_and_figures_are_not() -> None:
    table = Fitting("name", "words", "figure", loose=("words",))
    table.add_row("a name", "a long story that does not fit", "1.234")
    lines = printed(table, 40).splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert "…" in lines[1]
    assert lines[1].rstrip().endswith("1.234")


def test_an_unknown_candidate_is_a_dash_not_a_zero() -> None:
    lost = msgspec.structs.replace(
        comparisons.DURATION, verdict="inconclusive", candidate=Estimate(value=None, n=0), ratio=None, interval=None
    )
    text = compare_markdown(compare_source(comparisons.comparison(metrics=(lost,))))
    (row,) = [line for line in text.splitlines() if line.startswith("| duration_ms") and "inconclusive" in line]
    assert [part.strip() for part in row.split("|")][2] == "–"
