"""What misses its schema only in form is mended; what is wrong stays wrong."""

from __future__ import annotations

from typing import Any

import pytest
from tests.nodes.test_ai_node import FAST, ask, says
from tests.stage import run

from flowgauge.define.workflow import parse_workflow
from flowgauge.errors import BadFile
from flowgauge.nodes.mending import mended

INTEGER, NUMBER, BOOLEAN, TEXT = ({"type": kind} for kind in ("integer", "number", "boolean", "string"))
LIST = {"type": "array", "items": INTEGER, "maxItems": 2}
CLOSED = {"type": "object", "properties": {"n": INTEGER}, "additionalProperties": False}
OPEN = {"type": "object", "properties": {"n": INTEGER}}
ONE_LIST = {"type": "object", "properties": {"sets": {"type": "array"}}}
N = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("value", "schema", "better"),
    [
        pytest.param("3", INTEGER, 3, id="a whole number written as text"),
        pytest.param(3.0, INTEGER, 3, id="a whole number with a point"),
        pytest.param("3.0", INTEGER, 3, id="both"),
        pytest.param(" 2.5 ", NUMBER, 2.5, id="a number written as text"),
        pytest.param("True", BOOLEAN, True, id="a boolean written as text"),
        pytest.param(7, TEXT, "7", id="a number where text is wanted"),
        pytest.param('{"n": "1"}', OPEN, {"n": 1}, id="an object written as text"),
        pytest.param("[1]", LIST, [1], id="a list written as text"),
        pytest.param([1, "2", 3], LIST, [1, 2], id="too many items"),
        pytest.param({"n": 1, "m": 2}, CLOSED, {"n": 1}, id="a property that a closed object does not have"),
        pytest.param([1], ONE_LIST, {"sets": [1]}, id="the list alone where an object with one list is wanted"),
    ],
)
def test_what_can_be_meant_in_one_way_is_mended(value: Any, schema: Any, better: Any) -> None:
    found = mended(value, schema)
    assert found == better
    assert type(found) is type(better)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        pytest.param("three", INTEGER, id="a word for a number"),
        pytest.param("true", INTEGER, id="a boolean for a number"),
        pytest.param(2.5, INTEGER, id="a fraction for a whole number"),
        pytest.param("1e999", NUMBER, id="a number that none can hold"),
        pytest.param(1, BOOLEAN, id="a number for a boolean"),
        pytest.param("yes", BOOLEAN, id="a word for a boolean"),
        pytest.param(True, TEXT, id="a boolean for text"),
        pytest.param(None, TEXT, id="null for text"),
        pytest.param("[1]", OPEN, id="a list for an object"),
        pytest.param({"m": 2}, OPEN, id="more properties where that is allowed"),
        pytest.param([1], OPEN, id="a list where the object's property is none"),
        pytest.param("x", {"type": ["string", "null"]}, id="a schema of several types"),
        pytest.param({"n": "1"}, True, id="a schema that is no object"),
    ],
)
def test_everything_else_is_left_as_it_is(value: Any, schema: Any) -> None:
    assert mended(value, schema) == value


def test_a_schema_may_come_from_another_node() -> None:
    workflow = {
        "inputs": [{"name": "schema", "type": "object"}],
        "nodes": [{"id": "a", "type": "ai", "prompt": "go", "schema_from": "{{ inputs.schema }}", "retry": FAST}],
    }
    played = run(workflow, {"schema": N}, answers=says('{"n": "x"}', '{"n": 4}'))
    assert played.output["a"]["json"] == {"n": 4}
    assert played.run_of("a").attempt == 2, "what does not fit it is asked for again"
    assert played.stage.model.requests[0].schema == N


@pytest.mark.parametrize(
    ("named", "words"),
    [
        pytest.param("text", "must name a JSON Schema and names a string", id="text"),
        pytest.param({"type": "nothing"}, "no JSON Schema", id="an object that is none"),
    ],
)
def test_what_is_no_schema_fails_without_a_call(named: Any, words: str) -> None:
    workflow = {"inputs": [{"name": "x"}], "nodes": [{"id": "a", "type": "ai", "prompt": "go", "schema_from": "{{ inputs.x }}"}]}
    played = run(workflow, {"x": named}, answers=says("{}"))
    assert played.error.kind == "template"
    assert words in played.error.message
    assert not played.stage.model.requests


def test_an_answer_is_mended_only_where_the_node_asks_for_it() -> None:
    assert run(ask(schema=N, mend=True), answers=says('{"n": "4"}')).output["a"]["json"] == {"n": 4}
    assert run(ask(schema=N, retry={"max": 0}), answers=says('{"n": "4"}')).error.kind == "invalid_output"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"schema": N, "schema_from": "{{ inputs.x }}"}, "There is a `schema` already", id="two schemas"),
        pytest.param({"mend": True}, "nothing to mend", id="mend without a schema"),
    ],
)
def test_the_file_check_finds_what_cannot_be_meant(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadFile, match=words):
        parse_workflow({"name": "w", **ask(**fields)})
