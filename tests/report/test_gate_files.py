"""A gate for CI: JUnit, GitHub's annotations and the summary of a step."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from tests.report import comparisons
from tests.report.bench_examples import NASTY

from flowgauge.model.verdict import Comparison, GateResult
from flowgauge.report.compare_source import compare_source
from flowgauge.report.gate_github import MAX_OF_A_KIND, MAX_SUMMARY_CHARS, github_annotations, github_summary
from flowgauge.report.gate_junit import write_junit


def junit(result: Comparison | GateResult) -> bytes:
    out = io.BytesIO()
    write_junit(compare_source(result), out)
    return out.getvalue()


def told(result: Comparison | GateResult) -> list[str]:
    return github_annotations(compare_source(result))


@pytest.mark.parametrize(
    "result",
    [
        comparisons.failed(),
        comparisons.not_measured(),
        comparisons.open_ended(),
        comparisons.nasty(),
        comparisons.comparison(),
        comparisons.no_baseline(),
    ],
    ids=["failed", "not measured", "open", "adversarial", "without a gate", "no baseline"],
)
def test_junit_has_one_suite_whose_counts_add_up(result: Comparison | GateResult) -> None:
    root = ET.fromstring(junit(result))
    (suite,) = root
    cases = suite.findall("testcase")
    found = {tag: len(suite.findall(f"testcase/{tag}")) for tag in ("failure", "error", "skipped")}
    for element in (root, suite):
        counted = [int(element.attrib[name]) for name in ("tests", "failures", "errors", "skipped")]
        assert counted == [len(cases), found["failure"], found["error"], found["skipped"]]


def test_junit_is_read_by_another_program(tmp_path: Path) -> None:
    place = tmp_path / "gate.xml"
    place.write_bytes(junit(comparisons.failed()))
    (suite,) = JUnitXml.fromfile(str(place))
    results = {case.name: [type(result) for result in case.result] for case in suite}
    assert results["duration_ms"] == [Failure]
    assert results["cost_usd"] == [Skipped]
    assert results["score.tone"] == []


def test_junit_calls_what_was_not_measured_an_error() -> None:
    (case,) = ET.fromstring(junit(comparisons.not_measured())).iter("testcase")
    assert case.find("failure") is None
    error = case.find("error")
    assert error is not None
    assert "All 90 runs failed" in error.attrib["message"]


def test_junit_keeps_adversarial_names_as_they_are() -> None:
    names = {case.attrib["name"] for case in ET.fromstring(junit(comparisons.nasty())).iter("testcase")}
    assert {NASTY[0], NASTY[1], NASTY[3]} <= names


def test_junit_of_a_comparison_without_a_gate_tells_its_verdicts() -> None:
    root = ET.fromstring(junit(comparisons.comparison()))
    failing = {case.attrib["name"] for case in root.iter("testcase") if case.find("failure") is not None}
    assert failing == {"duration_ms", "pass rate of triage.json/refund request"}
    assert len(junit_cases(Error, comparisons.no_baseline())) == 1


def junit_cases(kind: type, result: Comparison | GateResult) -> list[object]:
    return [found for suite in JUnitXml.fromstring(junit(result)) for case in suite for found in case.result if isinstance(found, kind)]


def test_what_failed_is_an_error_what_is_open_a_warning() -> None:
    assert told(comparisons.failed()) == [
        "::error title=duration_ms%3A regressed::1.21 s against 1 s, ratio 1.211 (1.148 to 1.277), beyond the tolerance of 5 %25.",
        "::error title=pass rate of triage.json/refund request%3A regression::0 of 3 against 3 of 3, p = 0.05.",
        "::warning title=cost_usd%3A inconclusive::ratio 1.054 (0.971 to 1.144); about 240 runs a side would decide it.",
    ]


def test_what_was_not_measured_is_an_error_too() -> None:
    (line,) = told(comparisons.not_measured())
    assert line.startswith("::error title=infrastructure%3A rate limited::All 90 runs")


def test_a_pass_is_one_notice() -> None:
    assert told(comparisons.better()) == ["::notice title=Flowgauge::Passed: none of 3 lines of the gate failed."]


def test_without_a_gate_nothing_is_an_error() -> None:
    assert {line.split(" ")[0] for line in told(comparisons.comparison())} == {"::warning"}
    (line,) = told(comparisons.no_baseline())
    assert line.startswith("::notice ")


def test_no_text_can_end_its_command_or_begin_another() -> None:
    words = "100 %\r\n::error::owned\nnext"
    lines = (comparisons.line("a: b, c\n::set-output", "failed", "limit", "broken", words),)
    (line,) = told(comparisons.gate("failed", lines))
    assert "\n" not in line
    assert "\r" not in line
    title, _, message = line.removeprefix("::error title=").partition("::")
    assert (title, message) == ("a%3A b%2C c%0A%3A%3Aset-output%3A broken", "100 %25%0D%0A::error::owned%0Anext")


@pytest.mark.parametrize("line", told(comparisons.nasty()))
def test_every_annotation_is_one_well_formed_line(line: str) -> None:
    assert re.fullmatch(r"::(error|warning|notice) title=[^:,\n\r]*::[^\n\r]*", line)
    assert not re.search(r"%(?!25|0A|0D|3A|2C)", line)
    assert "\x1b" not in line


def test_no_more_annotations_of_a_kind_than_github_shows_and_the_rest_are_counted() -> None:
    lines = told(comparisons.huge(40))
    assert len(lines) == MAX_OF_A_KIND
    assert lines[-1] == "::error title=Flowgauge::31 more like these; the step's summary lists them."


def test_the_summary_of_a_step_has_more_room_than_a_comment() -> None:
    text = github_summary(compare_source(comparisons.huge()))
    assert 65_536 < len(text) <= MAX_SUMMARY_CHARS
    assert len(text.encode()) < 1024 * 1024
    assert text.startswith("### Flowgauge `4c0ffee`")
