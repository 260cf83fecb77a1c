"""Any results file is read by what it holds; what is none of them is refused with what was expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.define.ingest.results_text import benchmark_file, command, plain, written

from flowgauge.define.ingest import ingested, read_results, results_file
from flowgauge.define.ingest.table import FORMATS
from flowgauge.errors import BadFile, FlowgaugeError, NotMeasured, UsageError


@pytest.mark.parametrize(
    ("value", "source"),
    [
        pytest.param(benchmark_file(version="5.3.1"), "pytest-benchmark 5.3.1", id="pytest-benchmark, by its machine"),
        pytest.param({"results": [command()]}, "hyperfine", id="hyperfine, by its commands"),
        pytest.param(plain(), "metrics", id="one subject"),
        pytest.param([plain()], "metrics", id="a list of subjects"),
    ],
)
def test_the_content_says_the_format(tmp_path: Path, value: Any, source: str) -> None:
    assert [each.source for each in read_results(written(tmp_path, value))] == [source]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="nothing in it"),
        pytest.param(3, id="a number"),
        pytest.param({"results": [{"name": "x"}]}, id="results of something else"),
        pytest.param({"context": {}, "benchmarks": []}, id="Google Benchmark"),
        pytest.param([{"name": "x"}], id="a list of something else"),
        pytest.param("command,mean\nsleep 1,0.2\n", id="the CSV of hyperfine"),
    ],
)
def test_what_is_none_of_them_is_one_error_that_names_them_all(tmp_path: Path, value: Any) -> None:
    with pytest.raises(BadFile) as raised:
        read_results(written(tmp_path, value))
    assert len(raised.value.problems) == 1
    assert all(name in str(raised.value) for name in ("pytest --benchmark-json", "hyperfine --export-json", "flowgauge schema metrics"))


def test_a_format_that_is_named_is_taken_at_its_word(tmp_path: Path) -> None:
    path = written(tmp_path, plain())
    with pytest.raises(BadFile, match="no list of `results`"):
        read_results(path, "hyperfine")
    with pytest.raises(BadFile, match="no list of `benchmarks`"):
        read_results(path, "pytest-benchmark")
    with pytest.raises(BadFile, match="'subject' is missing"):
        read_results(written(tmp_path, {"results": [command()]}), "metrics")


def test_a_format_that_there_is_not_is_refused_before_the_file_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no format 'hyperfin'\. Did you mean 'hyperfine'"):
        read_results(tmp_path / "none.json", "hyperfin")


def test_a_row_of_the_table_goes_by_its_own_name() -> None:
    assert {name: each.name for name, each in FORMATS.items()} == {name: name for name in FORMATS}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param('{"subject": "a",\n "metrics": {"x": {"value": NaN, "direction": "lower"}}}', 2, "'NaN' is no value", id="NaN"),
        pytest.param('{"results": [\n\n{"command": "a", "mean": Infinity}]}', 3, "'Infinity' is no value", id="Infinity"),
        pytest.param('{"results": [{"command": "a", "mean": -Infinity}]}', 1, "before '-'", id="minus infinity"),
        pytest.param('{"subject": "a",\n"subject": "b"}', 2, "'subject' is given twice", id="a key given twice"),
        pytest.param('{"subject": "a",\n}', 2, "a key in double quotes is missing", id="a comma before the end"),
        pytest.param('{"subject": "a"', 1, "ends too early", id="cut short"),
        pytest.param('{"subject": 1' + "0" * 5000 + "}", 1, "too large for 64 bits", id="a number of 5,000 digits"),
        pytest.param("[" * 200_000, 1, "more than 60 deep", id="brackets that never close"),
        pytest.param("[\n" + "[" * 200_000 + "]" * 200_001, 2, "more than 60 deep", id="nested past all reason"),
    ],
)
def test_what_is_not_json_is_refused_at_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(BadFile, match=message) as raised:
        read_results(written(tmp_path, text))
    assert raised.value.problems[0].line == line


def test_every_key_that_is_given_twice_is_listed(tmp_path: Path) -> None:
    with pytest.raises(BadFile) as raised:
        read_results(written(tmp_path, '{"a": 1, "a": 2,\n"b": [{"c": 1,\n"c": 2}, {"c": 3}]}'))
    assert [(problem.line, problem.message) for problem in raised.value.problems] == [
        (1, "The key 'a' is given twice."),
        (3, "The key 'c' is given twice."),
    ]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(json.dumps(plain()).encode("utf-16"), "not UTF-8", id="UTF-16"),
        pytest.param(b'{"subject": "\xe9"}', "not UTF-8", id="Latin-1"),
        pytest.param(b'{"subject": "' + b"x" * 2000 + b'"}', "larger than 0 MB. Keep fewer samples", id="too large"),
    ],
)
def test_bytes_that_are_no_text_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes, message: str) -> None:
    monkeypatch.setattr(results_file, "MOST_BYTES", 1000)
    path = tmp_path / "results.json"
    path.write_bytes(raw)
    with pytest.raises(BadFile, match=message):
        read_results(path)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(plain()).encode())
    assert read_results(path)[0].subject == "search"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="There is no such file"):
        read_results(tmp_path / "none.json")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(" \n", id="an empty file, as hyperfine leaves it when a command fails"),
        pytest.param({"results": []}, id="no command"),
        pytest.param(benchmark_file(benchmarks=[]), id="no test"),
        pytest.param([], id="no subject"),
    ],
)
def test_a_file_without_results_is_not_measured_rather_than_wrong(tmp_path: Path, value: Any) -> None:
    with pytest.raises(NotMeasured) as raised:
        read_results(written(tmp_path, value))
    assert raised.value.exit_code == 3


@pytest.mark.parametrize(
    ("value", "place"),
    [
        pytest.param([plain(), plain(subject="other"), plain()], "[2]: 'search' was measured already: [0].", id="metrics"),
        pytest.param(
            {"results": [command(), command("sleep  1")]}, "results[1]: 'sleep 1' was measured already: results[0].", id="commands"
        ),
    ],
)
def test_two_results_of_one_name_are_refused(tmp_path: Path, value: Any, place: str) -> None:
    with pytest.raises(BadFile) as raised:
        read_results(written(tmp_path, value))
    assert place in str(raised.value)


def test_in_a_file_of_very_many_values_a_mistake_has_its_way_without_its_line(tmp_path: Path) -> None:
    many = plain(metrics={"x": {"direction": "lower", "samples": [1.5] * 120_000}, "y": {"value": "3", "direction": "lower"}})
    with pytest.raises(BadFile) as raised:
        read_results(written(tmp_path, many))
    assert [(problem.line, problem.where) for problem in raised.value.problems] == [(0, "metrics.y.value")]


def test_of_very_many_samples_some_are_kept_evenly_and_the_value_is_that_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingested, "MOST_SAMPLES", 10)
    samples = {"a": [float(number) for number in range(90)], "b": [1000.0] * 10, "c": [7.0]}
    metrics = {"x": {"direction": "lower", "samples": samples}, "y": {"direction": "lower", "samples": [1.0] * 10}}
    (found,) = read_results(written(tmp_path, plain(metrics=metrics, notes=["mine"])))
    kept = found.metrics["x"]
    assert kept.samples == {"a": [0.0, 11.0, 22.0, 33.0, 45.0, 56.0, 67.0, 78.0], "b": [1000.0], "c": [7.0]}
    assert kept.value == pytest.approx((sum(range(90)) + 10_000 + 7) / 101)
    assert found.metrics["y"].samples == {"": [1.0] * 10}
    assert found.notes == ("mine", "x: 10 of 101 samples are kept, evenly spaced; the value is that of all.")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
_KEYS = st.sampled_from(
    ["subject", "metrics", "commit", "measured_at", "tags", "notes", "results", "command", "mean", "times", "exit_codes", "parameters",
     "benchmarks", "machine_info", "fullname", "stats", "data", "params", "value", "direction", "samples", "unit", "cpu"]
)  # fmt: skip
_LIKELY = st.recursive(
    _JSON | st.sampled_from(["lower", "a", 1.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=6),
    max_leaves=20,
)


@given(value=_LIKELY, name=st.sampled_from([None, *FORMATS]))
def test_whatever_a_file_holds_is_read_or_refused_in_words(tmp_path_factory: pytest.TempPathFactory, value: Any, name: str | None) -> None:
    path = written(tmp_path_factory.getbasetemp(), json.dumps(value))
    try:
        found = read_results(path, name)
    except FlowgaugeError as error:
        assert str(error).strip()
    else:
        assert all(each.metrics and each.subject.isprintable() for each in found)


@given(
    base=st.sampled_from(
        [json.dumps(each) for each in (benchmark_file(version="5"), {"results": [command(parameters={"n": "1"})]}, [plain()])]
    ),
    where=st.integers(min_value=0),
    put=st.text(max_size=3) | st.sampled_from(['"', "null", "-1", "[", "}", "1e999", "\\ud800", "NaN"]),
    cut=st.integers(min_value=0, max_value=12),
)
def test_a_file_that_was_damaged_is_read_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, base: str, where: int, put: str, cut: int
) -> None:
    at = where % len(base)
    path = written(tmp_path_factory.getbasetemp(), base[:at] + put + base[at + cut :])
    try:
        read_results(path)
    except FlowgaugeError as error:
        assert str(error).strip()
