"""Input values are held to their declarations; all that does not fit is one error."""

from __future__ import annotations

from typing import Any

import pytest

from flowgauge.define.inputs import parse_assignments
from flowgauge.errors import BadInputs
from flowgauge.model.workflow import InputDecl, Workflow
from flowgauge.nodes.inputs import checked_inputs

WORKFLOW = Workflow(
    name="w",
    inputs=(
        InputDecl(name="text", required=True),
        InputDecl(name="count", type="integer", default=1),
        InputDecl(name="ratio", type="number"),
        InputDecl(name="flag", type="boolean", default=False),
        InputDecl(name="data", type="object"),
        InputDecl(name="items", type="array"),
    ),
)


def test_defaults_are_filled_in_and_optional_inputs_are_null() -> None:
    assert checked_inputs(WORKFLOW, {"text": "t"}) == {"text": "t", "count": 1, "ratio": None, "flag": False, "data": None, "items": None}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        pytest.param("count", 3.0, 3, id="a number without a fraction is an integer"),
        pytest.param("ratio", 3, 3, id="an integer is a number"),
        pytest.param("count", None, 1, id="null means not given"),
        pytest.param("items", [1], [1], id="a list"),
        pytest.param("data", {}, {}, id="an object"),
    ],
)
def test_what_fits(name: str, value: Any, expected: Any) -> None:
    checked = checked_inputs(WORKFLOW, {"text": "t", name: value})
    assert checked[name] == expected
    assert type(checked[name]) is type(expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", 1),
        ("count", True),
        ("count", 1.5),
        ("count", "1"),
        ("ratio", False),
        ("ratio", float("nan")),
        ("flag", 0),
        ("data", []),
        ("items", {}),
        ("items", "a"),
    ],
)
def test_what_does_not_fit(name: str, value: Any) -> None:
    with pytest.raises(BadInputs, match=f"{name}: Expected an?"):
        checked_inputs(WORKFLOW, {"text": "t", name: value})


def test_every_misfit_is_listed_at_once() -> None:
    with pytest.raises(BadInputs) as caught:
        checked_inputs(WORKFLOW, {"count": "x", "txet": "t"})
    assert caught.value.problems == (
        "txet: There is no such input. Did you mean 'text'?",
        "text: It is required and was not given. Give text=…, a string.",
        "count: Expected an integer, not 'x'. Give a whole number such as 3.",
    )


def test_assignments_are_read_as_declared() -> None:
    given = ["text=3 = three", "count=4", "ratio=0.5", "flag=true", 'data={"a": [1]}', "items=[1, 2]"]
    assert parse_assignments(WORKFLOW, given) == {
        "text": "3 = three",
        "count": 4,
        "ratio": 0.5,
        "flag": True,
        "data": {"a": [1]},
        "items": [1, 2],
    }


def test_assignments_that_cannot_be_read_are_listed() -> None:
    with pytest.raises(BadInputs) as caught:
        parse_assignments(WORKFLOW, ["text", "count=x", "nope=1", "flag=yes"])
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["text", "count", "nope", "flag"]
