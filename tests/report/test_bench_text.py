"""Reports for people, as text: Markdown and the terminal."""

from __future__ import annotations

import io
import re

import msgspec
import pytest
from markdown_it import MarkdownIt
from rich.console import Console
from tests.report import bench_examples

from flowgauge.model.bench import Answer, CheckResult, Trial
from flowgauge.model.benchmark import Lead
from flowgauge.model.play import Failure, Usage
from flowgauge.report.bench_markdown import bench_markdown
from flowgauge.report.bench_source import Source
from flowgauge.report.bench_terminal import bench_view
from flowgauge.report.markdown import code, escape


def source(example: bench_examples.Example) -> Source:
    return Source(example.summary, example.trials, "flowgauge bench triage.yaml --configs configs.yaml")


@pytest.fixture(scope="module")
def report() -> str:
    return bench_markdown(source(bench_examples.small()))


def row(report: str, start: str) -> list[str]:
    line = next(line for line in report.splitlines() if line.startswith(f"| {start} "))
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_markdown_table_has_success_with_its_interval_and_times(report: str) -> None:
    head = row(report, "configuration")
    mini = dict(zip(head, row(report, "mini"), strict=True))
    assert mini["success"] == "80 % (49–94.3 %, 8/10)"
    assert mini["model"] == "gpt-4o-mini"
    assert mini["p50"].endswith(" ms")
    assert mini["first token"].endswith(" ms")
    assert mini["cost/run"] == "$0.000110†"


def test_markdown_shows_what_is_unknown_as_unknown(report: str) -> None:
    head = row(report, "configuration")
    broken, house = (dict(zip(head, row(report, name), strict=True)) for name in ("broken", "house"))
    assert (broken["p50"], broken["cost/success"], broken["success"]) == ("–", "–", "0 % (0–27.8 %, 0/10)")
    assert house["cost/run"] == "$0 (unpriced)"


def cells_of(trials: list[Trial], config: str) -> tuple[dict[str, str], str]:
    report = bench_markdown(source(bench_examples.Example(bench_examples.summary_of(trials), trials)))
    return dict(zip(row(report, "configuration"), row(report, config), strict=True)), report


def test_markdown_shows_what_judges_cost_only_where_there_were_any(report: str) -> None:
    usage = Usage(tokens_prompt=9, cost_usd=0.002, cost_source="computed")
    paid = [
        msgspec.structs.replace(one, checks=(CheckResult(name="tone", type="judge", score=0.5, usage=usage),))
        for one in bench_examples.made({"mini": bench_examples.answered}, 5)
    ]
    cells, _ = cells_of(paid, "mini")
    assert (cells["judge cost, all runs"], cells["cost/run"]) == ("$0.0200", "$0.000110†")
    assert "judge cost" not in report


def test_markdown_marks_a_cost_that_some_failed_runs_did_not_report() -> None:
    trials = bench_examples.made({"mini": bench_examples.answered}, 5)
    failure = Failure(kind="connection", message="gone")
    trials[3] = msgspec.structs.replace(
        trials[3], answer=Answer(status="failed", error=failure, cost_usd=None, cost_source="unpriced"), failure_category="connection"
    )
    cells, report = cells_of(trials, "mini")
    assert cells["cost/run"] == "$0.000110†‡"
    assert "the model's price is not known" not in report
    assert "‡ of the runs whose cost is known; unknown for runs that failed before they reported it: mini 1" in report


def test_markdown_never_calls_the_unpriced_one_cheapest(report: str) -> None:
    (cheapest,) = [line for line in report.splitlines() if "Cheapest" in line]
    assert "house" not in cheapest


def test_markdown_says_where_a_lead_is_not_significant() -> None:
    example = bench_examples.small()
    sure = Lead(config="mini", value=0.001, runner_up="house", runner_up_value=0.002, significant=True, p_value=0.001)
    unsure = msgspec.structs.replace(sure, significant=False, p_value=0.41)
    alone = Lead(config="mini", value=0.001)
    lines = []
    for lead in (sure, unsure, alone):
        summary = msgspec.structs.replace(example.summary, cheapest=lead)
        lines += [line for line in bench_markdown(Source(summary, example.trials)).splitlines() if "Cheapest" in line]
    assert lines == [
        "- **Cheapest**: mini, $0.001000 a success – next house, $0.002000 a success; significant, p = 0.001",
        "- **Cheapest (?)**: mini, $0.001000 a success – next house, $0.002000 a success; lead not significant, p = 0.41",
        "- **Cheapest (?)**: mini, $0.001000 a success – nothing to compare with",
    ]


def test_markdown_lists_failures_with_one_example_each(report: str) -> None:
    assert re.search(r"\| crowded +\| rate_limited +\| no +\| +4 \| classify: 429 Too Many Requests", report)
    assert re.search(r"\| broken +\| code_error +\| yes +\| +10 \| clean: KeyError: 'label' \\\| &lt;b&gt;not", report)


def test_markdown_says_how_to_repeat_it(report: str) -> None:
    tail = report.split("## How to repeat it")[1]
    for fact in ("flowgauge bench triage.yaml", "classifier-shootout-3fa9c1-1", "4c0ffee", "genai-prices 0.0.30", "seed: `0`"):
        assert fact in tail


def test_markdown_without_failures_reads_no_trial() -> None:
    example = bench_examples.small()
    trials = [trial for trial in example.all if not trial.failure_category]
    quiet = bench_examples.Example(bench_examples.summary_of(trials), trials)
    assert "## Failures" not in bench_markdown(source(quiet))
    assert quiet.reads == 0


def test_adversarial_text_stays_in_its_cell_and_becomes_no_markup() -> None:
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(bench_markdown(source(bench_examples.nasty())))
    for tag in ("<script", "<img", "<a ", "<!--", "<em>", "<del>"):
        assert tag not in html
    rows = [len(re.findall("<t[dh]", part)) for part in re.findall(r"<table>.*?</table>", html, re.DOTALL)[0].split("<tr>")[1:]]
    assert len(set(rows)) == 1
    assert len(rows) == 1 + len(bench_examples.NASTY)


@pytest.mark.parametrize("text", [r"a \| b", r"a \\| b", "a\nb | c", "`` | ``", "\\"])
def test_a_cell_is_one_cell_whatever_is_in_it(text: str) -> None:
    table = f"| x | y |\n|---|---|\n| {escape(text)} | end |\n"
    html = MarkdownIt("gfm-like", {"linkify": False}).render(table)
    assert html.count("<td>") == 2
    assert "<td>end</td>" in html


@pytest.mark.parametrize("text", ["plain", "a `tick`", "``two``", "`"])
def test_a_code_span_shows_its_text_as_it_is(text: str) -> None:
    assert MarkdownIt().render(code(text)) == f"<p><code>{text}</code></p>\n"


def shown(example: bench_examples.Example, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(bench_view(source(example)))
    output = console.file
    assert isinstance(output, io.StringIO)
    return output.getvalue()


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_terminal_of_any_width_shows_names_success_and_cost_whole(width: int) -> None:
    text = shown(bench_examples.small(), width)
    for part in ("mini", "crowded", "80 % (49–94.3 %, 8/10)", "$0 (unpriced)", "p50"):
        assert part in text
    assert max(len(line) for line in text.splitlines()) <= width


def test_a_terminal_is_not_sent_what_a_model_wrote_to_steer_it() -> None:
    text = shown(bench_examples.nasty(), 160)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "bell escape [31m" in text
