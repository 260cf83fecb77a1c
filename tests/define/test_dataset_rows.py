"""Data sets in every format become the same cases; what is wrong with a row is told with its line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.define import dataset_csv
from flowgauge.define.bench import bench_from_value
from flowgauge.define.dataset_csv import sniff
from flowgauge.define.workflow import parse_workflow
from flowgauge.errors import BadFile
from flowgauge.model.bench import Bench, Target
from flowgauge.model.workflow import Workflow

TYPES = {"ticket": "string", "count": "integer", "ratio": "number", "urgent": "boolean", "facts": "object", "tags": "array"}
FUNCTION = Target(kind="python", reference="m:f", name="f")


def workflow(**required: bool) -> Workflow:
    inputs = [{"name": name, "type": kind, "required": required.get(name, False)} for name, kind in TYPES.items()]
    prompt = "".join(f"{{{{ inputs.{name} }}}}" for name in TYPES)
    return parse_workflow({"name": "w", "inputs": inputs, "nodes": [{"id": "a", "type": "ai", "prompt": prompt}]}).workflow


def load(folder: Path, name: str, content: str | bytes, of: Workflow | None, **value: Any) -> Bench:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    target = FUNCTION if of is None else Target(kind="workflow", reference="wv", name="w")
    return bench_from_value({"dataset": name, **value}, target, of, folder=folder).bench


def rows(folder: Path, content: str | bytes, of: Workflow | None = None, name: str = "rows.csv") -> list[dict[str, Any]]:
    return [case.inputs for case in load(folder, name, content, of).cases]


def problems(folder: Path, content: str | bytes, of: Workflow | None = None, name: str = "rows.csv") -> list[str]:
    with pytest.raises(BadFile) as caught:
        load(folder, name, content, of)
    return [problem.message for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("content", "inputs"),
    [
        pytest.param("ticket,count\nhello,3\n", [{"ticket": "hello", "count": 3}], id="plain"),
        pytest.param("ticket;count\nhello, you;3\n", [{"ticket": "hello, you", "count": 3}], id="semicolons"),
        pytest.param("ticket\tcount\nhello, you; there\t3\n", [{"ticket": "hello, you; there", "count": 3}], id="tabs"),
        pytest.param("ticket|count\nhello|3\n", [{"ticket": "hello", "count": 3}], id="bars"),
        pytest.param('ticket,count\n"a ""b"", c\nd",3\n', [{"ticket": 'a "b", c\nd', "count": 3}], id="quotes and line breaks in a cell"),
        pytest.param("\ufeffticket,count\nhello,3\n", [{"ticket": "hello", "count": 3}], id="a byte order mark"),
        pytest.param("ticket,count\r\nhello,3\r\n", [{"ticket": "hello", "count": 3}], id="line ends of Windows"),
        pytest.param(" ticket , count \nhello, 3 \n", [{"ticket": "hello", "count": 3}], id="spaces around names and numbers"),
        pytest.param("ticket\nhello; you | there\n", [{"ticket": "hello; you | there"}], id="one column"),
        pytest.param("ticket,count\nhello,\n,4\n", [{"ticket": "hello"}, {"count": 4}], id="empty cells are not given"),
        pytest.param("ticket,count\nhello\n", [{"ticket": "hello"}], id="missing cells are not given"),
        pytest.param("ticket,count\n\nhello,3\n,\n\n", [{"ticket": "hello", "count": 3}], id="empty rows are no cases"),
        pytest.param("ticket,count,\nhello,3,\n", [{"ticket": "hello", "count": 3}], id="a delimiter too many at the end"),
        pytest.param("inputs.ticket\nhello\n", [{"ticket": "hello"}], id="inputs by their whole name"),
        pytest.param("ticket\n007\n", [{"ticket": "007"}], id="text stays text"),
        pytest.param("count,ratio,urgent\n3.0,1e3,TRUE\n", [{"count": 3, "ratio": 1000.0, "urgent": True}], id="numbers and booleans"),
        pytest.param('facts,tags\n"{""a"": 1}","[1, 2]"\n', [{"facts": {"a": 1}, "tags": [1, 2]}], id="objects and arrays"),
    ],
)
def test_csv_is_read_as_the_workflow_declares(tmp_path: Path, content: str, inputs: list[dict[str, Any]]) -> None:
    assert rows(tmp_path, content, workflow()) == inputs


def test_cells_that_nobody_declares_are_read_as_what_they_look_like(tmp_path: Path) -> None:
    content = 'a,b,c,d,e,f,g,h:string,i\n1,-2.5,true,word,"[1]",007,123456789012345678901,5,2024-01-01\n'
    assert rows(tmp_path, content) == [
        {"a": 1, "b": -2.5, "c": True, "d": "word", "e": [1], "f": "007", "g": "123456789012345678901", "h": "5", "i": "2024-01-01"}
    ]


def test_gold_tags_and_names_have_columns_of_their_own(tmp_path: Path) -> None:
    content = "id,ticket,expected.label,expected.score,expected.by.ann,expected.zip:string,tag.lang\n"
    content += "first,hello,billing,4,no,10115,en\nsecond,x,,,,,\n"
    first, second = load(tmp_path, "rows.csv", content, workflow()).cases
    assert (first.name, first.inputs, first.tags) == ("first", {"ticket": "hello"}, {"lang": "en"})
    assert first.expected == {"label": "billing", "score": 4, "by": {"ann": "no"}, "zip": "10115"}
    assert (second.expected, second.tags) == ({}, {})


def test_a_name_that_is_an_input_names_no_case(tmp_path: Path) -> None:
    of = parse_workflow({"name": "w", "inputs": [{"name": "name"}], "nodes": [{"id": "a", "type": "ai", "prompt": "{{ inputs.name }}"}]})
    cases = load(tmp_path, "rows.csv", "id,name\nx,Ann\ny,Ann\n", of.workflow).cases
    assert [(case.name, case.inputs) for case in cases] == [("x", {"name": "Ann"}), ("y", {"name": "Ann"})]


def test_rows_without_names_are_counted_over_all_data_sets(tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text('{"ticket": "c"}\n', encoding="utf-8")
    found = load(tmp_path, "rows.csv", "ticket\na\nb\n", workflow(), dataset=["rows.csv", "more.jsonl"])
    assert [(case.name, case.inputs["ticket"]) for case in found.cases] == [("row-1", "a"), ("row-2", "b"), ("row-3", "c")]


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        pytest.param("tickt\nhello\n", ["rows.csv:1: tickt: The workflow has no such input."], id="an unknown column"),
        pytest.param("ticket,ticket\na,b\n", ["rows.csv:1: ticket: The column is there twice."], id="a column twice"),
        pytest.param("ticket,expected\na,b\n", ["rows.csv:1: expected: What is expected needs a name."], id="gold without a name"),
        pytest.param(
            "ticket,expected.\na,b\n", ["rows.csv:1: expected.: The name ends in a dot, or two follow each other."], id="half a name"
        ),
        pytest.param("ticket:txt\na\n", ["rows.csv:1: ticket:txt: There is no type 'txt'."], id="an unknown type"),
        pytest.param(
            "ticket,expected.a,expected.a.b\na,1,2\n",
            ["rows.csv:1: expected.a.b: It lies inside another column's value."],
            id="gold in gold",
        ),
        pytest.param(
            'ticket,count\n"a\nb",1\nc,x\nd,1.5\n',
            ["rows.csv:4: count: 'x' is no integer.", "rows.csv:5: count: '1.5' is no integer."],
            id="cells of another type, after a cell of two lines",
        ),
        pytest.param("ticket,urgent\na,yes\n", ["rows.csv:2: urgent: 'yes' is no boolean."], id="no boolean"),
        pytest.param("ticket,count\na,1,2\n", ["rows.csv:2: There are 3 cells, and 2 columns."], id="cells too many"),
        pytest.param(
            'ticket,count\na,1\n"b,2\nc,3\n', ["rows.csv:3: This is not CSV: unexpected end of data."], id="a quote that does not close"
        ),
        pytest.param("ticket,count\n", ["rows.csv: There are no rows in it."], id="no rows"),
        pytest.param("", ["rows.csv: There are no rows in it."], id="nothing"),
        pytest.param(b"ticket\nh\xe4llo\n", ["rows.csv: The file is not UTF-8: byte 0xe4."], id="another encoding"),
        pytest.param("id,ticket\nx,a\nx,b\n", ["rows.csv:3: name: Two cases are called 'x'."], id="a name twice"),
        pytest.param("ticket,count\n,3\n", ["rows.csv:2: The workflow needs ticket."], id="a required cell that is empty"),
    ],
)
def test_mistakes_in_csv_are_told_with_their_lines(tmp_path: Path, content: str | bytes, messages: list[str]) -> None:
    assert problems(tmp_path, content, workflow(ticket=True)) == messages


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.jsonl", '{"name": "x", "ticket": "a", "count": 2, "expected": {"label": "b"}, "tags": ["t"]}\n\n{"ticket": "c"}\n'),
        ("rows.ndjson", '\ufeff{"name": "x", "ticket": "a", "count": 2, "expected.label": "b", "tags": ["t"]}\n{"ticket": "c"}'),
        ("rows.json", '[{"name": "x", "inputs": {"ticket": "a", "count": 2, "tags": ["t"]}, "expected": {"label": "b"}}, {"ticket": "c"}]'),
        ("rows.yaml", "- {name: x, ticket: a, count: 2, tags: [t], expected: {label: b}}\n- ticket: c\n"),
        ("rows.yml", "- name: x\n  inputs: {ticket: a, count: 2, tags: [t]}\n  expected: {label: b}\n- inputs: {ticket: c}\n"),
        ("rows.csv", 'name,ticket,count,tags,expected.label\nx,a,2,"[""t""]",b\n,c,,,\n'),
        ("rows.tsv", 'name\tticket\tcount\ttags\texpected.label\nx\ta\t2\t["t"]\tb\n\tc\n'.replace('["t"]', '"[""t""]"')),
    ],
)
def test_every_format_gives_the_same_cases(tmp_path: Path, name: str, content: str) -> None:
    first, second = load(tmp_path, name, content, workflow()).cases
    assert (first.name, first.inputs, first.expected) == ("x", {"ticket": "a", "count": 2, "tags": ["t"]}, {"label": "b"})
    assert (second.name, second.inputs, second.expected) == ("row-2", {"ticket": "c"}, {})


def test_a_row_may_be_a_whole_case(tmp_path: Path) -> None:
    row = {"id": 7, "inputs": {"q": 1}, "runs": 3, "tags": {"lang": "en"}, "checks": [{"type": "judge", "rubric": "x"}]}
    (case,) = load(tmp_path, "rows.jsonl", json.dumps(row), None).cases
    assert (case.name, case.runs, case.tags) == ("7", 3, {"lang": "en"})
    assert (case.checks[0].type, case.checks[0].options) == ("judge", {"rubric": "x"})


@pytest.mark.parametrize(
    ("name", "content", "messages"),
    [
        ("rows.jsonl", '{"ticket": "a"}\n{"ticket": 3}\n', ["rows.jsonl:2: ticket: Expected string, not 3."]),
        (
            "rows.jsonl",
            '{"tickt": "a"}\n',
            ["rows.jsonl:1: tickt: The workflow has no such input.", "rows.jsonl:1: The workflow needs ticket."],
        ),
        ("rows.jsonl", '{"ticket": "a"}\n[1]\n', ["rows.jsonl:2: A row must be a mapping of inputs to values."]),
        ("rows.jsonl", '{"ticket": "a"}\n{"ticket": \n', ["rows.jsonl:2: This is not JSON: Input data was truncated."]),
        ("rows.jsonl", '{"inputs": {"ticket": "a"}, "runs": 0}\n', ["rows.jsonl:1: runs: Expected `int` >= 1."]),
        ("rows.jsonl", '{"inputs": {"ticket": "a"}, "gold": 0}\n', ["rows.jsonl:1: Object contains unknown field `gold`."]),
        ("rows.json", '[{"ticket": "a"}, {"ticket": 3}]', ["rows.json[1]: ticket: Expected string, not 3."]),
        ("rows.json", '{"ticket": "a"}', ["rows.json: Expected a list of rows."]),
        ("rows.json", "[{]", ["rows.json: This is not JSON: JSON is malformed: object keys must be strings (byte 2)."]),
        ("rows.yaml", "- ticket: a\n- ticket:\n    x: 3\n", ["rows.yaml:2: ticket: Expected string, not an object."]),
        (
            "rows.yaml",
            "- ticket: a\n  ticket: b\n",
            ["rows.yaml:2: ticket: The key 'ticket' was given on line 1 already. Keep one of them."],
        ),
    ],
)
def test_mistakes_in_other_formats_are_told_with_their_places(tmp_path: Path, name: str, content: str, messages: list[str]) -> None:
    assert problems(tmp_path, content, workflow(ticket=True), name) == messages


def test_of_many_mistakes_only_the_first_are_told(tmp_path: Path) -> None:
    told = problems(tmp_path, "ticket,count\n" + "a,x\n" * 1000, workflow())
    assert told[19:] == ["rows.csv:21: count: 'x' is no integer.", "rows.csv: The list ends here, after 20 problems."]
    twice = problems(tmp_path, "id,ticket\n" + "a,x\n" * 1000, workflow())
    assert twice[20:] == ["rows.csv: The list ends here, after 20 problems."]


def test_a_mistake_in_a_data_set_stands_beside_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("ticket,count\na,x\n", encoding="utf-8")
    file = {"dataset": "rows.csv", "runs": 0}
    with pytest.raises(BadFile) as caught:
        bench_from_value(file, Target(kind="workflow", reference="wv", name="w"), workflow(), folder=tmp_path)
    assert [problem.where for problem in caught.value.problems] == ["runs", "dataset[0]"]


def test_a_limit_stops_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    whole = dataset_csv._case

    def counted(*arguments: Any) -> Any:
        read.append(1)
        return whole(*arguments)

    monkeypatch.setattr(dataset_csv, "_case", counted)
    found = load(tmp_path, "rows.csv", "ticket\n" + "a\n" * 1000, workflow(), limit=3)
    assert (len(found.cases), len(read)) == (3, 3)


def test_the_limit_counts_what_a_filter_leaves(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("q,tag.lang\n" + "a,en\nb,de\n" * 5, encoding="utf-8")
    found = bench_from_value({"dataset": "rows.csv"}, FUNCTION, folder=tmp_path, filters=["tag.lang=de"], limit=2).bench
    assert [case.name for case in found.cases] == ["row-2", "row-4"]


def test_a_hundred_thousand_rows_are_read(tmp_path: Path) -> None:
    content = "id,ticket,count,expected.label\n" + "".join(f'c{number},"a, b\nc",{number},x\n' for number in range(100_000))
    found = load(tmp_path, "rows.csv", content, workflow())
    assert (len(found.cases), found.cases[-1].inputs) == (100_000, {"ticket": "a, b\nc", "count": 99_999})


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        ("a,b\n1;2,3;4\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a;b,c\n1,2\n3,4\n", ","),
        ("a,b,c;d\n1;2\n3;4\n", ";"),
        ('"a,b";c\n"1,2";3\n', ";"),
        ("a\n1;2;3\n", ","),
        ("", ","),
    ],
)
def test_the_delimiter_is_what_cuts_the_header_and_all_rows_alike(sample: str, delimiter: str) -> None:
    assert sniff(sample) == delimiter


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@given(
    table=st.integers(2, 5).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=6)),
    mark=st.sampled_from(",;\t|"),
)
def test_what_a_spreadsheet_writes_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, table: list[list[str]], mark: str) -> None:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=mark)
    names = [f"c{number}" for number in range(len(table[0]))]
    writer.writerow([f"{name}:string" for name in names])
    writer.writerows(table)
    found = rows(tmp_path_factory.mktemp("rows"), written.getvalue())
    assert found == [dict(zip(names, cells, strict=True)) for cells in table]
