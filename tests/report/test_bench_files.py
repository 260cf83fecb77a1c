"""Reports for machines: JSON, JSON lines, CSV, JUnit; and how files are written."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import msgspec
import pytest
from tests.report import bench_examples
from tests.report.bench_examples import Example

from flowgauge.errors import UsageError
from flowgauge.model.bench import Trial
from flowgauge.report.bench_csv import safe_cell
from flowgauge.report.bench_json import BenchReport, bench_report_json_schema
from flowgauge.report.bench_source import Source
from flowgauge.report.formats import FORMATS, format_of, write_report


def written(example: Example, name: str) -> bytes:
    out = io.BytesIO()
    FORMATS[name].write(Source(example.summary, example.trials, "flowgauge bench triage.yaml"), out)
    return out.getvalue()


@pytest.fixture(params=[bench_examples.small, bench_examples.nasty], ids=["ordinary bench", "adversarial text everywhere"])
def example(request: pytest.FixtureRequest) -> Example:
    make: Callable[[], Example] = request.param
    return make()


def test_json_fits_its_schema(example: Example) -> None:
    schema = bench_report_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(written(example, "json")), schema, cls=jsonschema.Draft202012Validator)


def test_json_schema_refuses_another_version_and_a_missing_summary() -> None:
    validator = jsonschema.Draft202012Validator(bench_report_json_schema())
    good = json.loads(written(bench_examples.small(), "json"))
    assert not validator.is_valid({**good, "version": 2})
    assert not validator.is_valid({key: value for key, value in good.items() if key != "summary"})


def test_json_reads_back_as_the_same_values(example: Example) -> None:
    report = msgspec.json.decode(written(example, "json"), type=BenchReport)
    assert report.summary == example.summary
    assert list(report.trials) == example.all


def test_json_of_a_bench_without_trials_is_json() -> None:
    example = bench_examples.small()
    example.all = []
    assert json.loads(written(example, "json"))["trials"] == []


def test_jsonl_has_a_trial_a_line(example: Example) -> None:
    lines = written(example, "jsonl").splitlines()
    assert [msgspec.json.decode(line, type=Trial) for line in lines] == example.all


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_csv_has_a_row_a_trial_with_every_score_and_check() -> None:
    example = bench_examples.small()
    rows = rows_of(written(example, "csv"))
    assert [row["run_id"] for row in rows] == [trial.run_id for trial in example.all]
    first = rows[0]
    assert (float(first["score.tone"]), first["check.label is right"]) == (example.all[0].scores["tone"], "1")


def test_csv_leaves_an_unknown_cost_empty_and_a_free_run_zero() -> None:
    rows = {row["config"]: row for row in rows_of(written(bench_examples.small(), "csv"))}
    assert (rows["house"]["cost_usd"], rows["broken"]["cost_usd"]) == ("", "0.0")


def test_no_csv_cell_can_be_taken_for_a_formula() -> None:
    data = written(bench_examples.nasty(), "csv").decode()
    cells = [cell for row in csv.reader(io.StringIO(data, newline="")) for cell in row]
    assert not [cell for cell in cells if cell[:1] in set("=+-@\t\r")]
    assert any(cell.startswith("'=HYPERLINK") for cell in cells)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "\u00a0=1"])
def test_text_that_a_spreadsheet_would_run_is_quoted(text: str) -> None:
    assert safe_cell(text) == "'" + text


@pytest.mark.parametrize("value", [-1.5, 0, None, "plain", "", "a=b"])
def test_numbers_and_plain_text_stay_as_they_are(value: object) -> None:
    assert safe_cell(value) == value


def test_csv_for_excel_begins_with_its_mark_and_is_otherwise_the_same() -> None:
    example = bench_examples.small()
    assert written(example, "csv-excel") == b"\xef\xbb\xbf" + written(example, "csv")


def test_junit_has_a_suite_a_configuration_with_counts_that_add_up(example: Example) -> None:
    root = ET.fromstring(written(example, "junit"))
    assert len(root) == len(example.summary.configs)
    assert int(root.attrib["tests"]) == len(example.all)
    for suite in root:
        for tag, attribute in (("testcase", "tests"), ("testcase/failure", "failures"), ("testcase/error", "errors")):
            assert len(suite.findall(tag)) == int(suite.attrib[attribute])


def test_junit_calls_a_wrong_answer_a_failure_and_a_rate_limit_an_error() -> None:
    root = ET.fromstring(written(bench_examples.small(), "junit"))
    suites = {suite.attrib["name"]: suite for suite in root}
    kinds = {
        name: {(part.tag, part.attrib["type"]) for part in suite.iter() if part.tag in ("failure", "error")}
        for name, suite in suites.items()
    }
    assert kinds["mini"] == {("failure", "wrong_answer")}
    assert kinds["broken"] == {("failure", "code_error")}
    assert kinds["crowded"] == {("error", "rate_limited")}


def test_junit_is_taken_by_a_parser_of_its_own(example: Example) -> None:
    junitparser = pytest.importorskip("junitparser")
    suites = junitparser.JUnitXml.fromstring(written(example, "junit"))
    assert sum(len(list(suite)) for suite in suites) == len(example.all)


@pytest.mark.parametrize(
    ("extension", "name"),
    [
        ("md", "markdown"),
        ("HTML", "html"),
        ("json", "json"),
        ("jsonl", "jsonl"),
        ("csv", "csv"),
        ("xml", "junit"),
        ("svg", "svg"),
        ("png", "png"),
    ],
)
def test_the_extension_tells_the_format(extension: str, name: str) -> None:
    assert format_of(f"report.{extension}").name == name


def test_a_named_format_wins_over_the_extension(tmp_path: Path) -> None:
    example = bench_examples.small()
    write_report(tmp_path / "out.txt", example.summary, example.trials, "jsonl")
    assert (tmp_path / "out.txt").read_bytes() == written(example, "jsonl")


@pytest.mark.parametrize(("path", "name"), [("report.doc", None), ("report", None), ("report.md", "word")])
def test_an_unknown_format_is_refused_with_the_known_ones(path: str, name: str | None) -> None:
    with pytest.raises(UsageError, match="markdown, html, json"):
        format_of(path, name)


def test_a_report_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path) -> None:
    example = bench_examples.small()
    place = tmp_path / "out.json"
    place.write_text("old")

    def breaking() -> Iterator[Trial]:
        yield example.all[0]
        raise RuntimeError("the store went away")

    with pytest.raises(RuntimeError, match="went away"):
        write_report(place, example.summary, breaking)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.json", "old")]


def test_a_place_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    example = bench_examples.small()
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_report(tmp_path / "file" / "out.json", example.summary, example.trials)


class Nowhere(io.RawIOBase):
    """Takes bytes and keeps none."""

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        return len(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FORMATS)
def test_trials_are_never_held_together(name: str) -> None:
    example = bench_examples.small()
    few = 10 * len(example.all)

    def endless() -> Iterator[Trial]:
        for number in range(few):
            trial = example.all[number % len(example.all)]
            answer = msgspec.structs.replace(trial.answer, output=f"{number:09}" * 10_000, error=None)
            yield msgspec.structs.replace(trial, answer=answer)

    source = Source(msgspec.structs.replace(example.summary, trials=few), endless)
    FORMATS[name].write(source, io.BytesIO())
    tracemalloc.start()
    FORMATS[name].write(source, io.BufferedWriter(Nowhere()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < few * 90_000 / 4
