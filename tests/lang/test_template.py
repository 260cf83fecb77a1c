"""Templates fill holes with values, and never run anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowgauge.errors import Failed
from flowgauge.lang.path import MAP_ROOTS, ROOTS
from flowgauge.lang.template import TemplateSyntaxError, parse_template
from flowgauge.lang.values import compile_value, render_value

SCOPE: dict[str, Any] = {
    "inputs": {"name": "Ada", "sly": "{{ inputs.name }}", "n": 3, "odd key": 1, "yes": True, "none": None},
    "nodes": {
        "a": {"text": " Hi ", "json": {"items": [{"x": 1}, {"x": 2}]}},
        "a-b": {"text": "dash"},
        "skipped": None,
        "list": {"items": ["p", 2, None]},
        "map": {"items": [{"json": {"sets": [1, 2]}}, None, {"json": {"sets": [3]}}]},
    },
    "config": {"model": "m"},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("plain", "plain", id="text without a hole is itself"),
        pytest.param("", "", id="empty text is itself"),
        pytest.param("{{ inputs.n }}", 3, id="a lone hole keeps the type"),
        pytest.param("{{nodes.a.json}}", {"items": [{"x": 1}, {"x": 2}]}, id="a lone hole gives an object"),
        pytest.param("n={{ inputs.n }}", "n=3", id="a number in text is written out"),
        pytest.param(" {{ inputs.n }}", " 3", id="a space makes it text"),
        pytest.param("{{ inputs.yes }}!", "true!", id="a boolean in text is JSON"),
        pytest.param("[{{ inputs.none }}]", "[]", id="null in text is nothing"),
        pytest.param("{{ nodes.a.json.items[1].x }}", 2, id="indexes and keys"),
        pytest.param("{{ nodes.a.json.items[-1].x }}", 2, id="from the end"),
        pytest.param('{{ inputs["odd key"] }}', 1, id="a quoted key"),
        pytest.param("{{ nodes.a-b.text }}", "dash", id="a name with a dash"),
        pytest.param("{{ nodes.skipped.text.more }}", None, id="through a skipped node is null"),
        pytest.param("{{ inputs.sly }}", "{{ inputs.name }}", id="a filled-in value is not rendered again"),
        pytest.param("x {{ inputs.sly }}", "x {{ inputs.name }}", id="nor in the middle of text"),
        pytest.param("{{{{ inputs.name }}", "{{ inputs.name }}", id="four braces stand for two"),
        pytest.param('{"a": {{{ inputs.n }}}', '{"a": {3}', id="of three braces the first is literal"),
        pytest.param('{"a":{"b":{{ inputs.n }}}}', '{"a":{"b":3}}', id="closing braces of JSON are left alone"),
        pytest.param("{{ nodes.a.json | json }}", '{"items":[{"x":1},{"x":2}]}', id="json"),
        pytest.param("{{ inputs.none | json }}", "null", id="json of null"),
        pytest.param("{{ inputs.nope | default('d') }}", "d", id="default for what is missing"),
        pytest.param("{{ nodes.skipped.text | default(0) }}", 0, id="default for null"),
        pytest.param('{{ inputs.name | default("}}") }}', "Ada", id="a literal may hold braces"),
        pytest.param("{{ nodes.list.items | join('-') }}", "p-2-", id="join"),
        pytest.param("{{ nodes.a.text | trim | upper }}", "HI", id="filters in a row"),
        pytest.param("{{ nodes.skipped.text | upper }}", None, id="null goes through filters"),
        pytest.param("{{ nodes.list.items | length }}", 3, id="length"),
        pytest.param("{{ nodes.list.items | first }}{{ nodes.list.items | last }}", "p", id="first and last"),
        pytest.param("{{ nodes.a.json.items | pluck('x') }}", [1, 2], id="pluck"),
        pytest.param("{{ nodes.map.items | pluck('json.sets') }}", [[1, 2], None, [3]], id="pluck goes deep, and through null"),
        pytest.param("{{ nodes.map.items | pluck('json.sets') | flat }}", [1, 2, 3], id="flat leaves null out"),
    ],
)
def test_rendering(text: str, value: Any) -> None:
    assert parse_template(text).render(SCOPE) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{{ nodes.a.txt }}", "nodes.a has no 'txt'; it has text, json.", id="an unknown key"),
        pytest.param("{{ nodes.list.items[7] }}", "nodes.list.items has no [7]; it is an array of 3.", id="past the end"),
        pytest.param("{{ inputs.name.first }}", "inputs.name has no 'first'; it is a string.", id="inside text"),
        pytest.param(
            "{{ inputs.name.__class__ }}", "inputs.name has no '__class__'; it is a string.", id="attributes of Python are not there"
        ),
        pytest.param("{{ nodes.list.items.append }}", "nodes.list.items has no 'append'; it is an array of 3.", id="methods neither"),
        pytest.param("{{ item.x }}", "There is no 'item' here; there is inputs, nodes, config.", id="item outside of map"),
        pytest.param("{{ inputs.n | upper }}", "The filter 'upper' needs a string, not a number.", id="a filter on the wrong type"),
        pytest.param(
            "{{ nodes.a.json.items | pluck('y') }}", "The filter 'pluck' finds no 'y' in an item that is an object.", id="pluck of nothing"
        ),
        pytest.param("{{ nodes.list.items | pluck('y') }}", "The filter 'pluck' finds no 'y' in an item that is a string.", id="of text"),
        pytest.param("{{ nodes.list.items | flat }}", "The filter 'flat' needs an array, not a string.", id="flat of a list of no lists"),
    ],
)
def test_a_path_that_leads_nowhere_says_what_is_there(text: str, message: str) -> None:
    with pytest.raises(Failed) as caught:
        parse_template(text).render(SCOPE)
    assert caught.value.failure.kind == "template"
    assert caught.value.failure.message == message


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        pytest.param("abc {{ inputs.x", 4, id="never closed"),
        pytest.param("{{ }}", 3, id="empty"),
        pytest.param("{{ foo.x }}", 3, id="an unknown root"),
        pytest.param("{{ inputs.x | nope }}", 14, id="an unknown filter"),
        pytest.param("{{ inputs.x | default }}", 14, id="default without a value"),
        pytest.param("{{ inputs.0 }}", 10, id="an index as a name"),
        pytest.param("{{ inputs.x + 1 }}", 12, id="arithmetic"),
        pytest.param("{{ inputs.x() }}", 11, id="a call"),
        pytest.param("{{ inputs[x] }}", 10, id="an index that is no literal"),
    ],
)
def test_bad_syntax_is_told_with_its_place_and_a_remedy(text: str, offset: int) -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        parse_template(text)
    assert caught.value.offset == offset
    assert caught.value.remedy


def test_roots_can_be_narrowed() -> None:
    parse_template("{{ item.x }}", MAP_ROOTS)
    with pytest.raises(TemplateSyntaxError, match="Unknown name 'item'"):
        parse_template("{{ item.x }}", ROOTS)


def test_paths_know_where_they_stand() -> None:
    first, second = parse_template("a {{ inputs.x }} b {{ nodes.n.text | default(1) }}").paths
    assert (str(first), first.offset, first.optional) == ("inputs.x", 5, False)
    assert (str(second), second.offset, second.optional) == ("nodes.n.text", 22, True)


def test_nested_values_are_rendered_and_constants_are_handed_back() -> None:
    value = {"a": ["{{ inputs.n }}", {"b": "x{{ inputs.name }}", "c": 1}], "d": [1, 2], "{{ inputs.n }}": 1}
    expected = {"a": [3, {"b": "xAda", "c": 1}], "d": [1, 2], "{{ inputs.n }}": 1}
    compiled = compile_value(value)
    assert compiled.render(SCOPE) == expected == render_value(value, SCOPE)
    assert [str(path) for path in compiled.paths] == ["inputs.n", "inputs.name"]
    constant = {"deep": [1, {"x": "y"}]}
    assert compile_value(constant).render(SCOPE) is constant


@settings(deadline=None)
@given(st.text(alphabet="{} inputs.nodes|json()[]\"'0123\\", max_size=60))
def test_random_text_is_a_template_or_a_syntax_error(text: str) -> None:
    try:
        template = parse_template(text)
    except TemplateSyntaxError as error:
        assert 0 <= error.offset <= len(text)
        return
    try:
        template.render(SCOPE)
    except Failed as error:
        assert error.failure.kind == "template"


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_value_can_be_filled_in_and_stays_as_it_is(value: str) -> None:
    assert parse_template("<{{ inputs.v }}>").render({"inputs": {"v": value}}) == f"<{value}>"


@settings(deadline=None)
@given(st.text(alphabet="{}ab \n", max_size=40).filter(lambda text: "{{" not in text))
def test_text_without_double_braces_is_left_alone(text: str) -> None:
    assert parse_template(text).render(SCOPE) == text
