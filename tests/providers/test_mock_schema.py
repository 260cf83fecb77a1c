"""Values written for a schema conform to it, whatever the schema, the prompt and the seed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from flowgauge.providers.mock.dice import Dice
from flowgauge.providers.mock.pattern import text_matching
from flowgauge.providers.mock.schema import conforming

NAMES = st.sampled_from(["name", "email", "tags", "total", "city", "summary", "a", "b_c", "order id"])
PATTERNS = st.sampled_from(
    [r"^[A-Z]{3}-\d{4}$", r"^\d+$", "foo|bar", r"^[a-z_][a-z0-9_]*$", r"^(yes|no)$", r"\w+@\w+\.com", "^$", r"^#[0-9a-fA-F]{6}$"]
)


@st.composite
def numbers(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    low = draw(st.integers(-1000, 1000))
    schema: dict[str, Any] = {"type": kind}
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = low
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["maximum", "exclusiveMaximum"]))] = low + draw(st.integers(40, 400))
    if draw(st.booleans()):
        schema["multipleOf"] = draw(st.sampled_from([1, 2, 5, 0.5, 20] if kind == "integer" else [1, 3, 0.5, 0.25, 0.01]))
    return schema


@st.composite
def strings(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        return {"type": "string", "pattern": draw(PATTERNS)}
    schema: dict[str, Any] = {"type": "string"}
    least = draw(st.integers(0, 80))
    if draw(st.booleans()):
        schema["minLength"] = least
    if draw(st.booleans()):
        schema["maxLength"] = least + draw(st.integers(0, 80))
    return schema


def leaves() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        numbers("integer"),
        numbers("number"),
        strings(),
        st.just({"type": "boolean"}),
        st.just({"type": "null"}),
        st.just({"type": ["string", "null"]}),
        st.just({"$ref": "#/$defs/part"}),
        st.builds(lambda items: {"enum": items}, st.lists(st.sampled_from(["red", "green", 3, None, True]), min_size=1, unique=True)),
        st.builds(lambda item: {"const": item}, st.sampled_from(["x", 7, None, {"a": [1]}])),
    )


@st.composite
def arrays(draw: st.DrawFn, parts: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": draw(parts)}
    least = draw(st.integers(0, 4))
    if draw(st.booleans()):
        schema["minItems"] = least
    if draw(st.booleans()):
        schema["maxItems"] = least + draw(st.integers(0, 3))
    if draw(st.booleans()):
        schema["prefixItems"] = draw(st.lists(parts, min_size=1, max_size=2))
    return schema


@st.composite
def objects(draw: st.DrawFn, parts: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    properties = draw(st.dictionaries(NAMES, parts, max_size=4))
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if draw(st.booleans()):
        schema["required"] = sorted(draw(st.sets(st.sampled_from(sorted(properties))))) if properties else []
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.one_of(st.just(False), parts))
    elif draw(st.booleans()):
        schema["minProperties"] = draw(st.integers(0, 6))
    return schema


def unions(parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda branches: {"anyOf": branches}, several),
        st.builds(lambda part: {"allOf": [part, {"description": "all of it"}]}, parts),
        st.just({"oneOf": [{"type": "integer", "minimum": 10}, {"type": "string", "maxLength": 5}]}),
        st.just(
            {
                "allOf": [
                    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                    {"properties": {"b": {"const": 1}}, "required": ["b"]},
                ]
            }
        ),
    )


SCHEMAS = st.recursive(leaves(), lambda parts: st.one_of(arrays(parts), objects(parts), unions(parts)), max_leaves=12)
PARTS = {
    "part": {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/part"}, {"type": "null"}]}, "name": {"type": "string"}},
        "required": ["name"],
    }
}
PROMPTS = st.sampled_from(
    ["", "Jane Doe paid a total: 42.50 to shop@acme.test in Lisbon", "name: 12 tags: red, green", "b c 900 a=3 email is broken"]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=SCHEMAS, prompt=PROMPTS, seed=st.binary(min_size=1, max_size=8))
def test_what_is_written_conforms_and_repeats_itself(schema: dict[str, Any], prompt: str, seed: bytes) -> None:
    whole = {**schema, "$defs": PARTS}
    value = conforming(whole, prompt, Dice(seed))
    Draft202012Validator(whole).validate(value)
    assert conforming(whole, prompt, Dice(seed)) == value


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3}, id="each of three once"),
        pytest.param(
            {
                "type": "object",
                "patternProperties": {"^x": {"type": "integer"}},
                "required": ["xa"],
                "properties": {"xa": {"type": "integer"}},
            },
            id="pattern properties",
        ),
        pytest.param({"type": "string", "not": {"const": "en"}}, id="anything but one"),
        pytest.param(
            {"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}]}, id="even or threefold, not both"
        ),
        pytest.param({"minimum": 3, "maximum": 3.5}, id="no type"),
        pytest.param({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001}, id="a narrow gap"),
        pytest.param({"type": "object", "required": ["undeclared"]}, id="a field that is not declared"),
        pytest.param({"$ref": "#/definitions/a~1b", "definitions": {"a/b": {"type": "integer"}}}, id="an escaped pointer"),
        pytest.param(True, id="anything goes"),
    ],
)
def test_rarer_keywords_are_met_too(schema: Any) -> None:
    for seed in range(20):
        value = conforming(schema, "some words here", Dice(bytes([seed + 1])))
        Draft202012Validator(schema).validate(value)


def test_values_vary_with_the_seed() -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 1, "maximum": 99}}}
    assert len({conforming(schema, "", Dice(bytes([seed + 1])))["age"] for seed in range(30)}) > 10


def test_values_come_from_the_prompt_where_it_holds_them() -> None:
    fields = {"name": "string", "email": "string", "total": "number", "date": "string"}
    schema = {"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}}
    value = conforming(schema, "Jane Doe (jane@acme.test) ordered lamps, total: $42.50, on 2025-03-04", Dice(b"x"))
    assert value == {"name": "Jane Doe", "email": "jane@acme.test", "total": 42.5, "date": "2025-03-04"}


@given(pattern=PATTERNS, seed=st.binary(min_size=1, max_size=8))
def test_texts_match_simple_patterns(pattern: str, seed: bytes) -> None:
    text = text_matching(pattern, 0, None, Dice(seed))
    assert text is not None
    assert re.search(pattern, text)


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"(a)\1", "[", "a{2"])
def test_what_is_not_simple_is_left_to_others(pattern: str) -> None:
    text = text_matching(pattern, 0, None, Dice(b"x"))
    assert text is None or re.search(pattern, text)
