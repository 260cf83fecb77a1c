"""Comparisons for programs: the JSON report, its schema, and how files are written."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from tests.report import comparisons

from flowgauge.cli.schema import schema_of
from flowgauge.errors import NotMeasured, UsageError
from flowgauge.model.benchmark import Interval
from flowgauge.model.verdict import Comparison, GateResult
from flowgauge.report.compare_formats import COMPARE_FORMATS, write_compare_report
from flowgauge.report.compare_json import compare_report
from flowgauge.report.compare_report import CompareReport, compare_report_json_schema
from flowgauge.report.compare_source import compare_source
from flowgauge.report.trend_json import trend_report_json_schema

SCHEMA = compare_report_json_schema()
ALL = [
    pytest.param(make(), id=make.__name__)
    for make in (
        comparisons.failed,
        comparisons.price_changed,
        comparisons.better,
        comparisons.open_ended,
        comparisons.quiet,
        comparisons.not_measured,
        comparisons.no_baseline,
        comparisons.nasty,
        comparisons.comparison,
    )
]


def written(result: Comparison | GateResult, name: str = "json") -> bytes:
    out = io.BytesIO()
    COMPARE_FORMATS[name].write(compare_source(result, distributions=comparisons.distributions(), command="flowgauge gate"), out)
    return out.getvalue()


def strictly(data: bytes) -> Any:
    """Refuses NaN and Infinity, which Python's own reader takes."""

    def refused(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(data, parse_constant=refused)


@pytest.mark.parametrize("result", ALL)
def test_json_fits_its_schema(result: Comparison | GateResult) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(strictly(written(result)), SCHEMA, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("result", ALL)
def test_json_reads_back_as_the_same_verdicts(result: Comparison | GateResult) -> None:
    read = msgspec.json.decode(written(result), type=CompareReport)
    assert read == compare_report(compare_source(result, command="flowgauge gate"))


def test_the_schema_refuses_what_is_missing_or_of_another_version() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    good = strictly(written(comparisons.failed()))
    assert validator.is_valid(good)
    assert not validator.is_valid({**good, "version": 2})
    assert not validator.is_valid({**good, "comparisonStatus": "perhaps"})
    for key in ("summary", "comparison", "comparisonStatus", "comparisonError", "gate", "verdicts"):
        assert not validator.is_valid({name: value for name, value in good.items() if name != key})


def test_the_names_that_evaluation_scripts_know_are_there() -> None:
    report = strictly(written(comparisons.failed()))
    assert report["comparisonStatus"] == "ok"
    assert report["comparisonError"] is None
    result = report["comparison"]["result"]
    assert set(result) == {"pr", "baseline", "aggregate", "scenarios", "prOnly", "baselineOnly", "failureCategories"}
    assert result["pr"]["experimentName"] == report["experimentName"] == "triage-3fa9c1-2 mini"
    first = result["scenarios"][0]
    assert (first["testCaseFile"], first["scenarioName"], first["verdict"]) == ("triage.json", "refund request", "hard_regression")
    assert (first["prPasses"], first["prTotal"], first["baselinePassRate"], first["delta"]) == (0, 3, 1.0, -1.0)
    aggregate = result["aggregate"]
    assert aggregate["prAggregateCI"]["lower"] < aggregate["prAggregatePassRate"] < aggregate["prAggregateCI"]["upper"]
    assert result["prOnly"] == [{"testCaseFile": "new.json", "scenarioName": "attachment"}]
    assert result["failureCategories"][0]["category"] == "wrong_answer"


def test_the_summary_has_the_gate_s_answer() -> None:
    summary = strictly(written(comparisons.failed()))["summary"]
    assert (summary["status"], summary["exitCode"], summary["tiers"]["hard_regression"], summary["metrics"]["regressed"]) == (
        "failed",
        1,
        1,
        1,
    )
    assert summary["sentence"].startswith("Failed: ")


@pytest.mark.parametrize(
    ("result", "status", "code"),
    [
        (comparisons.not_measured(), "not_measured", 3),
        (comparisons.comparison(), "compared", None),
        (comparisons.no_baseline(), "not_compared", None),
    ],
    ids=["not measured", "no gate", "no baseline"],
)
def test_what_is_not_a_pass_does_not_read_as_one(result: Comparison | GateResult, status: str, code: int | None) -> None:
    summary = strictly(written(result))["summary"]
    assert (summary["status"], summary["exitCode"]) == (status, code)


def test_a_comparison_that_was_not_made_says_why() -> None:
    report = strictly(written(comparisons.no_baseline()))
    assert report["comparison"] is None
    assert report["comparisonStatus"] == "no_baseline"
    assert "no baseline is called 'main'" in report["comparisonError"]


def test_a_rate_without_a_run_is_null_not_zero() -> None:
    scenario = strictly(written(comparisons.not_measured()))["comparison"]["result"]["scenarios"][0]
    assert (scenario["prTotal"], scenario["prPassRate"], scenario["delta"], scenario["pValue"]) == (0, None, None, None)


def test_a_case_of_a_bench_has_no_file() -> None:
    rates = (msgspec.structs.replace(comparisons.RATES[0], key="short"), msgspec.structs.replace(comparisons.RATES[0], key="a/b/c"))
    scenarios = strictly(written(comparisons.comparison(rates=rates)))["comparison"]["result"]["scenarios"]
    assert [(one["testCaseFile"], one["scenarioName"]) for one in scenarios] == [("", "short"), ("a", "b/c")]


def test_what_is_not_finite_is_unknown() -> None:
    odd = msgspec.structs.replace(comparisons.COST, ratio=float("nan"), interval=Interval(0.2, float("inf")), p_harm=float("nan"))
    report = strictly(written(comparisons.comparison(metrics=(odd,))))
    jsonschema.validate(report, SCHEMA, cls=jsonschema.Draft202012Validator)
    (metric,) = report["verdicts"]["metrics"]
    assert (metric["ratio"], metric["interval"], metric["p_harm"]) == (None, None, None)


@pytest.mark.parametrize(
    ("file", "format_name"),
    [
        ("eval-pr-comment.md", "pr-comment"),
        ("report.md", "markdown"),
        ("eval-results.json", "json"),
        ("gate.xml", "junit"),
        ("page.HTML", "html"),
        ("charts.svg", "svg"),
        ("charts.png", "png"),
    ],
)
def test_the_format_follows_from_the_file_s_name(tmp_path: Path, file: str, format_name: str) -> None:
    source = compare_source(comparisons.failed(), distributions=comparisons.distributions())
    assert write_compare_report(tmp_path / "new" / file, source).name == format_name
    assert (tmp_path / "new" / file).stat().st_size > 500


def test_a_name_beats_the_extension(tmp_path: Path) -> None:
    write_compare_report(tmp_path / "out.txt", compare_source(comparisons.failed()), "junit")
    assert (tmp_path / "out.txt").read_text().startswith("<?xml")


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="markdown, pr-comment, html, json, junit"):
        write_compare_report(tmp_path / "out.doc", compare_source(comparisons.failed()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["svg", "png"])
def test_a_picture_of_nothing_is_refused_and_leaves_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotMeasured, match="nothing to draw"):
        write_compare_report(tmp_path / f"out.{name}", compare_source(comparisons.no_baseline()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in COMPARE_FORMATS if name not in ("svg", "png")])
@pytest.mark.parametrize("result", ALL)
def test_every_text_format_can_tell_every_result(result: Comparison | GateResult, name: str) -> None:
    text = written(result, name).decode()
    assert text.endswith("\n")
    assert not re.search(r"\b(nan|NaN)\b", text)


@pytest.mark.parametrize("schema", [SCHEMA, trend_report_json_schema()], ids=["compare-report", "trend-report"])
def test_every_field_of_the_json_is_documented(schema: dict[str, Any]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\w+", text.partition("### JSON of a comparison")[2]))
    known_from_benches = {"count", "total", "low", "high"}
    fields = {name for part in schema["$defs"].values() for name in part.get("properties", {})} - known_from_benches
    sides = {f"{side}_{what}" for side in ("candidate", "baseline") for what in ("sid", "commit", "infrastructure")}
    assert fields - named - sides == set()


@pytest.mark.parametrize("name", ["compare-report", "trend-report"])
def test_the_command_prints_the_schema(name: str) -> None:
    assert schema_of(name)["title"].startswith("Flowgauge ")
