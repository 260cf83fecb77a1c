"""Conditions compute on values, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowgauge.errors import Failed
from flowgauge.lang.condition import ConditionSyntaxError, parse_condition
from flowgauge.lang.path import ROOTS

SCOPE: dict[str, Any] = {
    "inputs": {"x": " Billing ", "n": 3, "list": [1, {"a": None}], "flag": True, "odd key": "k"},
    "nodes": {"a": {"text": "hi", "json": {"score": 0.7}}, "a-b": {"t": 1}, "skipped": None},
    "config": {},
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("inputs.x.strip().lower() == 'billing'", True),
        ("1 < inputs.n <= 3", True),
        ("1 < inputs.n < 3", False),
        ("inputs.n in [1, 2, 3] and not false", True),
        ("inputs.n not in (1, 2, 3)", False),
        ("nodes.a.json.score * 100 >= 70 - 1", True),
        ("nodes['a-b'].t == 1", True),
        ("inputs['odd key'] == 'k'", True),
        ("nodes.skipped.text == null", True),
        ("nodes.skipped == None or nodes.skipped.text.strip() == ''", True),
        ("inputs.x.split()[0].startswith('Bill')", True),
        ("'a,b'.split(',')[-1].endswith('b')", True),
        ("len(inputs.list) == 2 and len('abc') == 3", True),
        ("inputs.flag", True),
        ("inputs.flag == true", True),
        ("-inputs.n < 0", True),
        ("7 // 2 == 3 and 7 % 2 == 1 and 7 / 2 == 3.5", True),
        ("'a' + 'b' == 'ab'", True),
        ("'text' in nodes.a", True),
        ("  inputs.n\n  == 3\n", True),
        ("inputs.list[1].a", False),
    ],
)
def test_what_holds(text: str, holds: bool) -> None:
    assert parse_condition(text).evaluate(SCOPE) is holds


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("__import__('os')", id="a call by name"),
        pytest.param("inputs.x.format('a')", id="a method that is not listed"),
        pytest.param("open('x')", id="open"),
        pytest.param("'a'*10**9", id="a power"),
        pytest.param("(lambda: 1)()", id="lambda"),
        pytest.param("[x for x in inputs.list]", id="a comprehension"),
        pytest.param("{'a': 1}", id="a dictionary"),
        pytest.param("f'{inputs.x}'", id="an f-string"),
        pytest.param("1 if inputs.x else 2", id="if else"),
        pytest.param("inputs.n is None", id="is"),
        pytest.param("inputs.list[0:1]", id="a slice"),
        pytest.param("inputs.list[inputs.n]", id="a computed index"),
        pytest.param("(y := 1)", id="an assignment"),
        pytest.param("other.x == 1", id="an unknown root"),
        pytest.param("nodes.a-b.t == 1", id="a dash outside of quotes"),
        pytest.param("inputs.x.strip(chars='a')", id="a named argument"),
        pytest.param("1 << 1000", id="a shift"),
        pytest.param("~1", id="a bit operation"),
        pytest.param("b'x' == 1", id="bytes"),
        pytest.param("2j == 1", id="a complex number"),
        pytest.param("... == 1", id="an ellipsis"),
        pytest.param("99999999999999999999 > 1", id="a huge number"),
        pytest.param("9" * 3999, id="a huge number of digits"),
        pytest.param("1 +", id="half an expression"),
        pytest.param("x = 1", id="a statement"),
        pytest.param("", id="nothing"),
        pytest.param("   ", id="spaces"),
        pytest.param("not " * 900 + "1", id="deep nesting"),
        pytest.param("-" * 3000 + "1", id="deeper nesting"),
        pytest.param("(" * 300, id="many brackets"),
        pytest.param("1 == 1" + " " * 4000, id="very long"),
        pytest.param("'\0'", id="a null byte"),
    ],
)
def test_everything_else_is_refused_when_it_is_read(text: str) -> None:
    with pytest.raises(ConditionSyntaxError) as caught:
        parse_condition(text)
    assert caught.value.remedy
    assert 0 <= caught.value.offset <= len(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("inputs.x < 3", "'<' cannot compare a string with a number."),
        ("'a' * 9 == ''", "'*' needs numbers, not a string."),
        ("inputs.list * 9 == ''", "'*' needs numbers, not an array."),
        ("'%s' % 3 == ''", "'%' needs numbers, not a string."),
        ("inputs.flag + 1 == 2", "'+' needs numbers, not a boolean."),
        ("1 / 0 == 1", "'/' divides by zero."),
        ("nodes.skipped.text.strip() == ''", "strip() needs a string, not null."),
        ("inputs.nope == 1", "inputs has no 'nope'; it has x, n, list, flag, odd key."),
        ("1 in 3", "'in' cannot compare a number with a number."),
        ("len(inputs.n) == 1", "len() needs a string, array or object, not a number."),
        ("9000000000000000000 * 9000000000000000000 > 0", "The result of '*' is too large: integers of up to 63 bits are allowed."),
    ],
)
def test_values_that_do_not_fit_fail_with_their_kinds(text: str, message: str) -> None:
    with pytest.raises(Failed) as caught:
        parse_condition(text).evaluate(SCOPE)
    assert caught.value.failure.kind == "template"
    assert caught.value.failure.message == message


def test_text_cannot_be_grown_without_bound() -> None:
    scope = {"inputs": {"s": "x" * 600_000}}
    with pytest.raises(Failed, match="too large"):
        parse_condition("inputs.s + inputs.s == ''").evaluate(scope)


def test_paths_are_the_longest_chains() -> None:
    condition = parse_condition("nodes.a.text.strip() == inputs.list[1].a and nodes['a-b'].t > 1", ROOTS)
    assert [(str(path), path.offset) for path in condition.paths] == [
        ("nodes.a.text", 0),
        ("inputs.list[1].a", 24),
        ("nodes.a-b.t", 45),
    ]


def test_offsets_count_characters_not_bytes() -> None:
    with pytest.raises(ConditionSyntaxError) as caught:
        parse_condition("'ééé' == foo")
    assert caught.value.offset == 9


LITERALS = st.one_of(
    st.integers(-50, 50).map(str),
    st.sampled_from(["1.5", "0.25", "'a'", "'Ab c'", "''", "True", "False", "None", "[]", "[1, 2]", "('a', 1)"]),
)


def _combine(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"])
    return st.one_of(
        st.tuples(parts, operators, parts).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        parts.map(lambda p: f"(not {p})"),
        parts.map(lambda p: f"(-{p})"),
        parts.map(lambda p: f"len({p})"),
        st.tuples(parts, st.sampled_from(["strip", "lower", "upper", "split"])).map(lambda t: f"({t[0]}).{t[1]}()"),
        st.tuples(parts, parts, parts).map(lambda t: f"({t[0]} < {t[1]} == {t[2]})"),
    )


@settings(deadline=None)
@given(st.recursive(LITERALS, _combine, max_leaves=8))
def test_what_is_allowed_agrees_with_python(text: str) -> None:
    try:
        ours = parse_condition(text).value({})
    except Failed:
        return  # stricter than Python on purpose: booleans are no numbers, text is not repeated
    except ConditionSyntaxError as error:
        assert "too deeply" in str(error)
        return
    theirs = eval(text.replace("('a', 1)", "['a', 1]"), {"__builtins__": {"len": len}})
    assert ours == theirs
    assert type(ours) is type(theirs)


@settings(deadline=None)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="inputs.nodes()[]'\"+-*/<>=! andotrl0123456789\n\\{}:,", max_size=80)))
def test_random_text_is_a_condition_or_a_syntax_error(text: str) -> None:
    try:
        condition = parse_condition(text)
    except ConditionSyntaxError:
        return
    try:
        condition.evaluate(SCOPE)
    except Failed as error:
        assert error.failure.kind == "template"
