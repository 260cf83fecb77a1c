"""Made-up inputs fit the declarations, whatever is declared. (Through the real client: tests/serve/test_benchmark_flow_served.py.)"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from tests.app.declarations import EXAMPLES, check_flow, declarations, read
from tests.app.flows import INSTANT

from flowgauge.app.host import open_host
from flowgauge.app.made_inputs import BATCH, answer_schema, batches, checked_sets, fitting, set_schema
from flowgauge.errors import BadParameter
from flowgauge.model.workflow import InputDecl, Workflow
from flowgauge.nodes.mending import mended


def test_offline_inputs_fit_two_hundred_random_declarations(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()
        host = runner.run(stack.enter_async_context(open_host(str(tmp_path / "store.db"), isolation="process")))
        try:
            settings(max_examples=EXAMPLES, deadline=None)(
                given(declarations())(lambda case: runner.run(check_flow(host, INSTANT, case)))
            )()
        finally:
            runner.run(stack.aclose())


@given(declarations())
def test_what_was_stored_as_an_example_fits_what_a_model_is_asked_for(case: dict[str, Any]) -> None:
    """Else a model that answers with the examples themselves would be told that they are wrong."""
    declared = read(case["inputs"]).inputs
    whole = {one["name"]: one.get("default") for one in case["inputs"]}
    validator = jsonschema.Draft202012Validator(set_schema(declared, case["examples"]))
    for example in case["examples"]:
        wrong = [error.absolute_path[0] for error in validator.iter_errors({**whole, **example}) if error.absolute_path]
        assert set(wrong).isdisjoint(example)


@given(declarations())
def test_mending_leaves_alone_what_fits(case: dict[str, Any]) -> None:
    one_set = set_schema(read(case["inputs"]).inputs, case["examples"])
    schema = answer_schema(one_set, len(case["examples"]))
    answer = {"sets": case["examples"]}
    assert mended(answer, schema) == answer


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        pytest.param(1, [1], id="one"),
        pytest.param(BATCH, [BATCH], id="one full answer"),
        pytest.param(2 * BATCH + 3, [BATCH, BATCH, 3], id="the rest by itself"),
    ],
)
def test_many_sets_are_asked_for_in_several_answers(count: int, sizes: list[int]) -> None:
    made = batches([InputDecl(name="x")], [], count)
    assert [batch.count for batch in made] == sizes
    assert [batch.schema["properties"]["sets"]["minItems"] for batch in made] == sizes
    assert made[-1].last == count


def test_nothing_is_asked_for_where_nothing_is_declared() -> None:
    assert batches([], [], 5) == ()
    assert checked_sets(Workflow(name="w"), [], 3) == ({}, {}, {})


def test_examples_of_another_version_are_taken_as_far_as_they_fit() -> None:
    declared = [InputDecl(name="x", type="integer"), InputDecl(name="y")]
    stored: list[dict[str, Any]] = [{"x": 1, "y": "a"}, {"x": "old", "y": "b"}, {"gone": True}]
    assert fitting(declared, stored) == [{"x": 1, "y": "a"}, {"y": "b"}]


@pytest.mark.parametrize(
    ("seen", "shape"),
    [
        pytest.param([{"a": 1}, {"a": 2.5}], {"properties": {"a": {"type": "number"}}, "required": ["a"]}, id="numbers of both kinds"),
        pytest.param([{"a": 1}, {"a": "x"}], {"properties": {"a": {}}, "required": ["a"]}, id="what differs is left open"),
        pytest.param([{"a": None}], {"properties": {"a": {}}, "required": ["a"]}, id="null says nothing"),
        pytest.param([{}], {}, id="an empty object says nothing"),
        pytest.param(
            [{"a": [{"b": True}, {"b": False, "c": ""}]}],
            {
                "properties": {
                    "a": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"b": {"type": "boolean"}, "c": {"type": "string"}}, "required": ["b"]},
                    }
                },
                "required": ["a"],
            },
            id="lists of objects inside",
        ),
    ],
)
def test_the_shape_of_an_object_is_read_off_what_was_seen(seen: list[Any], shape: dict[str, Any]) -> None:
    schema = set_schema([InputDecl(name="x", type="object")], [{"x": value} for value in seen])
    assert schema["properties"]["x"] == {"type": "object", **shape}


def test_a_set_that_does_not_fit_is_refused() -> None:
    workflow = Workflow(name="w", inputs=(InputDecl(name="x", type="integer"),))
    with pytest.raises(BadParameter, match="x: Expected an integer"):
        checked_sets(workflow, [{"x": 1}, {"x": "one"}], 2)
