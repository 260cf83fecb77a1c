"""The plain format: what it may say, every mistake with its place, and a schema that says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.define.ingest.results_text import plain, written

from flowgauge.define.fields import field_names
from flowgauge.define.ingest import Ingested, read_results
from flowgauge.define.ingest.metrics import MetricEntry, SubjectEntry
from flowgauge.define.ingest.metrics_schema import metrics_json_schema
from flowgauge.errors import BadFile
from flowgauge.model.metric import Metric

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "metrics.json"
DOCS = (ROOT / "docs" / "ingest.md").read_text(encoding="utf-8")
VALIDATOR = jsonschema.Draft202012Validator(metrics_json_schema())
SHA = "0123456789abcdef0123456789abcdef01234567"
LOWER = {"direction": "lower"}


def problems(folder: Path, value: Any) -> list[tuple[int, str, str]]:
    with pytest.raises(BadFile) as raised:
        read_results(written(folder, value), "metrics")
    return [(problem.line, problem.where, problem.message) for problem in raised.value.problems]


def test_all_that_a_file_may_say(tmp_path: Path) -> None:
    value = plain(commit=f"{SHA}+", measured_at="2026-01-31T13:00:00+01:00", machine="m1", tags={"suite": "nightly"}, notes=["warm"])
    assert read_results(written(tmp_path, value)) == (
        Ingested(
            subject="search",
            metrics={"duration_ms": Metric(value=12.5, direction="lower", unit="ms")},
            source="metrics",
            commit=f"{SHA}+",
            measured_at=1_769_860_800_000,
            machine="m1",
            tags={"suite": "nightly"},
            notes=("warm",),
        ),
    )


def test_what_a_file_need_not_say(tmp_path: Path) -> None:
    (found,) = read_results(written(tmp_path, plain()))
    assert (found.commit, found.measured_at, found.machine, found.tags, found.notes) == ("", None, "", {}, ())


@pytest.mark.parametrize(
    ("name", "entry", "metric"),
    [
        pytest.param("x", {"value": 3}, Metric(value=3.0, direction="lower"), id="a figure"),
        pytest.param("x", {"value": None}, Metric(value=None, direction="lower"), id="one that could not be measured"),
        pytest.param(
            "x", {"samples": [1, 2.5]}, Metric(value=1.75, direction="lower", samples={"": [1.0, 2.5]}), id="the mean of its samples"
        ),
        pytest.param(
            "x",
            {"value": 2, "samples": [1, 2, 9]},
            Metric(value=2.0, direction="lower", samples={"": [1.0, 2.0, 9.0]}),
            id="its own figure",
        ),
        pytest.param(
            "x",
            {"samples": {"a": [1], "b": [2, 3]}},
            Metric(value=2.0, direction="lower", samples={"a": [1.0], "b": [2.0, 3.0]}),
            id="samples by case, the mean of all",
        ),
        pytest.param("first_token_ms", {"value": 3}, Metric(value=3.0, direction="lower", unit="ms"), id="ms by its name"),
        pytest.param("cost_usd", {"value": 3, "unit": "usd"}, Metric(value=3.0, direction="lower", unit="USD"), id="USD by its name"),
        pytest.param("x", {"value": 3, "unit": "pages"}, Metric(value=3.0, direction="lower", unit="pages"), id="any other unit"),
    ],
)
def test_a_metric(tmp_path: Path, name: str, entry: dict[str, Any], metric: Metric) -> None:
    (found,) = read_results(written(tmp_path, plain(metrics={name: {**LOWER, **entry}})))
    assert found.metrics == {name: metric}


def test_a_moment_may_be_milliseconds(tmp_path: Path) -> None:
    assert read_results(written(tmp_path, plain(measured_at=1_769_860_800_000)))[0].measured_at == 1_769_860_800_000


def test_every_mistake_is_listed_with_its_line_and_way(tmp_path: Path) -> None:
    text = """[
      {"subject": "a",
       "metrics": {
         "duration_ms": {"value": 1e999, "direction": "down",
                         "unit": "s"},
         "x y": {"direction": "lower"},
         "z": {"direction": "lower", "samples": [1, "2",
               true, null]}
       },
       "commit": "abc",
       "measured_at": "2026-01-31",
       "metric": 1
      },
      {"subject": "", "metrics": {}},
      3,
      {"subject": 4,
       "metrics": {"a": 3, "b": {"direction": "higher", "samples": {"": [1], "c": []}}}}
    ]"""
    assert problems(tmp_path, text) == [
        (4, "[0].metrics.duration_ms.direction", "'down' is not allowed here."),
        (4, "[0].metrics.duration_ms.value", "Expected a finite number, not inf."),
        (5, "[0].metrics.duration_ms.unit", "'s' is not the unit that 'duration_ms' names."),
        (6, "[0].metrics.x y", "'x y' cannot be the name of a metric."),
        (6, "[0].metrics.x y", "'value' is missing."),
        (7, "[0].metrics.z.samples[1]", "Expected a number up to 1e100, not '2'."),
        (8, "[0].metrics.z.samples[2]", "Expected a number up to 1e100, not true."),
        (8, "[0].metrics.z.samples[3]", "Expected a number up to 1e100, not null."),
        (10, "[0].commit", "'abc' is no whole commit hash."),
        (11, "[0].measured_at", "'2026-01-31' does not say its zone."),
        (12, "[0].metric", "Unknown key 'metric'."),
        (14, "[1].subject", "It is empty."),
        (14, "[1].metrics", "There are no metrics."),
        (15, "[2]", "Expected an object with `subject` and `metrics`."),
        (16, "[3].subject", "Expected text, not 4."),
        (17, "[3].metrics.a", "Expected a mapping of names to values, not 3."),
        (17, "[3].metrics.b.samples.", "It is empty."),
        (17, "[3].metrics.b.samples.c", "Nothing is listed."),
    ]


@pytest.mark.parametrize(
    ("value", "where"),
    [
        pytest.param(plain(subject="a\nb"), "subject", id="a name over two lines"),
        pytest.param(plain(subject="\ud800"), "subject", id="half a character"),
        pytest.param(
            plain(metrics={"x": {"value": 1, "direction": "low\ud800er"}}), "metrics.x.direction", id="half a character in a choice"
        ),
        pytest.param(plain(machine="a\x00"), "machine", id="a zero byte"),
        pytest.param(plain(tags={"a": "\x1b[31m"}), "tags.a", id="a colour in a tag"),
        pytest.param(plain(tags={"a\x07": "b"}), "tags.a\x07", id="a bell in the name of a tag"),
        pytest.param(plain(notes=["fine", "a\nb"]), "notes[1]", id="a note over two lines"),
        pytest.param(plain(metrics={"x": {**LOWER, "value": 1, "unit": "\u202e"}}), "metrics.x.unit", id="a unit that turns the line"),
        pytest.param(plain(metrics={"x\n": {**LOWER, "value": 1}}), "metrics.x\n", id="a metric that ends the line"),
        pytest.param(plain(metrics={"x": {**LOWER, "samples": {"\x00": [1]}}}), "metrics.x.samples.\x00", id="a case without a name"),
        pytest.param(plain(commit=f"{SHA}\n"), "commit", id="a commit that ends the line"),
        pytest.param(plain(measured_at=True), "measured_at", id="a moment that is true"),
        pytest.param(plain(measured_at=-1), "measured_at", id="a moment before 1970"),
        pytest.param(plain(measured_at="1969-01-01T00:00:00Z"), "measured_at", id="the same in words"),
        pytest.param(plain(measured_at=10**15), "measured_at", id="a moment after the year 9999"),
        pytest.param(plain(metrics={"x": {**LOWER, "samples": 3}}), "metrics.x.samples", id="samples that are a number"),
        pytest.param(plain(metrics={"x": {**LOWER, "value": 1e101}}), "metrics.x.value", id="a figure past all reason"),
        pytest.param(plain(metrics={"x": {**LOWER, "samples": [10**101]}}), "metrics.x.samples[0]", id="a whole number past all reason"),
    ],
)
def test_what_cannot_be_stored_or_shown_is_refused(tmp_path: Path, value: Any, where: str) -> None:
    assert [found for _, found, _ in problems(tmp_path, value)] == [where]


def test_a_list_of_mistakes_ends(tmp_path: Path) -> None:
    found = problems(tmp_path, plain(metrics={"x": {**LOWER, "samples": ["no"] * 5000}}))
    assert len(found) == 201
    assert "The list ends here" in found[-1][2]


_NUMBERS = st.lists(st.floats(min_value=-1e100, max_value=1e100), min_size=1, max_size=20)


@given(samples=st.dictionaries(st.text("abc ", min_size=1, max_size=5).filter(str.strip), _NUMBERS, min_size=1, max_size=4))
def test_samples_come_back_as_they_were_given(tmp_path_factory: pytest.TempPathFactory, samples: dict[str, list[float]]) -> None:
    path = written(tmp_path_factory.getbasetemp(), plain(metrics={"x": {**LOWER, "samples": samples}}))
    metric = read_results(path)[0].metrics["x"]
    every = [number for numbers in samples.values() for number in numbers]
    assert metric.samples == samples
    assert metric.value is not None
    spread = max(map(abs, every)) * 1e-12
    assert min(every) - spread <= metric.value <= max(every) + spread


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(metrics_json_schema())


def test_the_example_fits_and_is_read() -> None:
    assert [error.message for error in VALIDATOR.iter_errors(json.loads(EXAMPLE.read_text(encoding="utf-8")))] == []
    assert [each.subject for each in read_results(EXAMPLE)] == ["search/index", "search/answer"]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(plain(), id="a subject"),
        pytest.param([plain(), plain(subject="b")], id="two"),
        pytest.param(plain(subject=""), id="no name"),
        pytest.param(plain(subject="x" * 501), id="a long name"),
        pytest.param({"subject": "a"}, id="no metrics"),
        pytest.param(plain(metrics={}), id="metrics without one"),
        pytest.param(plain(metrics={"1x": {**LOWER, "value": 1}}), id="a metric that begins with a digit"),
        pytest.param(plain(metrics={"x": {"value": 1}}), id="no direction"),
        pytest.param(plain(metrics={"x": LOWER}), id="no value"),
        pytest.param(plain(metrics={"x": {**LOWER, "samples": None}}), id="neither value nor samples"),
        pytest.param(plain(metrics={"x": {**LOWER, "value": None}}), id="an unknown value"),
        pytest.param(plain(metrics={"x": {**LOWER, "value": "1"}}), id="a value in quotes"),
        pytest.param(plain(metrics={"x": {**LOWER, "value": 1e101}}), id="a value past all reason"),
        pytest.param(plain(metrics={"x": {**LOWER, "samples": [1]}}), id="samples"),
        pytest.param(plain(metrics={"x": {**LOWER, "samples": []}}), id="no samples"),
        pytest.param(plain(metrics={"x": {**LOWER, "samples": {"a": [1]}}}), id="samples by case"),
        pytest.param(plain(metrics={"x": {**LOWER, "samples": {}}}), id="samples of no case"),
        pytest.param(plain(metrics={"x": {**LOWER, "samples": {"": [1]}}}), id="samples of a case without a name"),
        pytest.param(plain(metrics={"x": {**LOWER, "value": 1, "stddev": 1}}), id="a key that there is not"),
        pytest.param(plain(metrics={"x": {**LOWER, "value": 1, "unit": "x" * 41}}), id="a long unit"),
        pytest.param(plain(commit=SHA), id="a commit"),
        pytest.param(plain(commit=SHA[:7]), id="the beginning of a commit"),
        pytest.param(plain(commit=""), id="no commit"),
        pytest.param(plain(measured_at=-1), id="a moment before 1970"),
        pytest.param(plain(measured_at=None), id="no moment"),
        pytest.param(plain(machine=None), id="a machine that is null"),
        pytest.param(plain(tags={"a": 1}), id="a tag that is no text"),
        pytest.param(plain(notes="x"), id="notes that are no list"),
        pytest.param(plain(name="x"), id="a key of something else"),
    ],
)
def test_schema_and_reader_agree(tmp_path: Path, value: Any) -> None:
    try:
        read_results(written(tmp_path, value), "metrics")
        reads = True
    except BadFile:
        reads = False
    assert VALIDATOR.is_valid(value) is reads


@pytest.mark.parametrize(("heading", "struct"), [("### A subject", SubjectEntry), ("### A metric", MetricEntry)])
def test_the_docs_name_every_key_in_its_part(heading: str, struct: type[msgspec.Struct]) -> None:
    part = DOCS.split(f"{heading}\n", 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]
    assert [field for field in field_names(struct) if f"`{field}`" not in part] == []


def test_every_whole_file_in_the_docs_is_read(tmp_path: Path) -> None:
    blocks = [block.split("```", 1)[0] for block in DOCS.split("```json\n")[1:]]
    assert blocks
    for block in blocks:
        assert VALIDATOR.is_valid(json.loads(block))
        assert read_results(written(tmp_path, block))
