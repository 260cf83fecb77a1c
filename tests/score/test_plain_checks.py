from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.score.scoring import ran, result, score, spec

from flowgauge.model.bench import CheckSpec
from flowgauge.score.checks.equals import same_json
from flowgauge.score.checks.numeric import number_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("check", "output", "passed"),
    [
        pytest.param(spec("equals", "a"), "a", True, id="the same text"),
        pytest.param(spec("equals", "a"), "A", False, id="text in another case"),
        pytest.param(spec("equals", "a", ignore_case=True, strip=True), " A\n", True, id="text but for case and blanks"),
        pytest.param(spec("equals", "straße  1", ignore_case=True, normalise=True), "STRASSE 1", True, id="text but for unicode forms"),
        pytest.param(
            spec("equals", {"a": [1, {"b": None}]}), {"a": [1.0, {"b": None}]}, True, id="an object with a number spelled otherwise"
        ),
        pytest.param(spec("equals", [1]), [True], False, id="true is not 1"),
        pytest.param(spec("equals", {"a": " X "}, strip=True, ignore_case=True), {"a": "x"}, True, id="text inside an object"),
        pytest.param(spec("equals", [1, 2]), [1], False, id="a shorter list"),
        pytest.param(spec("equals", "1"), 1, False, id="a number is no text"),
        pytest.param(spec("equals", "1", as_text=True), 1, True, id="a number as text"),
        pytest.param(spec("equals", "a", as_text=True), None, False, id="null is no text"),
        pytest.param(spec("equals", 1.5), math.nan, False, id="NaN is nothing"),
        pytest.param(spec("one_of", ["a", "b"]), "b", True, id="one of two"),
        pytest.param(spec("one_of", ["a", "b"]), "c", False, id="none of two"),
        pytest.param(spec("one_of", ["A"], ignore_case=True), "a", True, id="one of them in another case"),
        pytest.param(spec("contains", "ell"), "hello", True, id="contains a piece"),
        pytest.param(spec("contains", ["ell", "x"]), "hello", False, id="contains not all"),
        pytest.param(spec("contains", ["ell", "x"], mode="any"), "hello", True, id="contains any"),
        pytest.param(spec("contains", "ELL", ignore_case=True), "hello", True, id="contains in another case"),
        pytest.param(spec("contains", "x"), None, False, id="null contains nothing"),
        pytest.param(spec("contains", '"a":1'), {"a": 1}, True, id="an object as JSON text"),
        pytest.param(spec("not_contains", ["x", "y"]), "hello", True, id="contains none"),
        pytest.param(spec("not_contains", ["x", "h"]), "hello", False, id="contains what it must not"),
        pytest.param(spec("not_contains", "x"), None, False, id="null does not pass by emptiness"),
        pytest.param(spec("starts_with", "he"), "hello", True, id="starts with"),
        pytest.param(spec("starts_with", ["x", "HE"], ignore_case=True), "hello", True, id="starts with one of two"),
        pytest.param(spec("starts_with", "lo"), "hello", False, id="does not start with"),
        pytest.param(spec("ends_with", "lo", strip=True), "hello\n", True, id="ends with but for a line break"),
        pytest.param(spec("ends_with", "lo"), "hello\n", False, id="does not end with"),
        pytest.param(spec("numeric", 10, abs=0.5), 10.5, True, id="near enough"),
        pytest.param(spec("numeric", 10, rel=0.01), 10.2, False, id="not near enough"),
        pytest.param(spec("numeric", 10), "10.0", True, id="a number in text"),
        pytest.param(spec("numeric", 1234.5), " 1,234.50 ", True, id="thousands set off"),
        pytest.param(spec("numeric", 7), "The answer is 7.", False, id="a sentence is no number"),
        pytest.param(spec("numeric", 7, extract="last"), "Of 3 and 4 it is 7.", True, id="the last number in a sentence"),
        pytest.param(spec("numeric", 3, extract="first"), "Of 3 and 4 it is 7.", True, id="the first number in a sentence"),
        pytest.param(spec("numeric", min=0, max=1), 1, True, id="at the bound"),
        pytest.param(spec("numeric", min=0, max=1), 1.01, False, id="beyond the bound"),
        pytest.param(spec("numeric", min=0), math.nan, False, id="NaN is in no bounds"),
        pytest.param(spec("numeric", 1), True, False, id="true is no number"),
        pytest.param(spec("numeric", 10**30), 10**30, True, id="a huge integer exactly"),
        pytest.param(spec("numeric", 10**30), 10**30 + 1, False, id="a huge integer not quite"),
        pytest.param(spec("length", 3), "abc", True, id="so many characters"),
        pytest.param(spec("length", max=2), [1, 2, 3], False, id="too many items"),
        pytest.param(spec("length", min=2, max=3, unit="words"), "a b  c", True, id="so many words"),
        pytest.param(spec("length", min=0), 5, False, id="a number has no length"),
        pytest.param(spec("json_path", "x", path="output.a[1].b"), {"a": [0, {"b": "x"}]}, True, id="a path"),
        pytest.param(spec("json_path", "x", path='output["odd key"][-1]'), {"odd key": [1, "x"]}, True, id="an odd key and the last item"),
        pytest.param(spec("json_path", 3, path="output.n", op=">="), {"n": 3}, True, id="compared at a path"),
        pytest.param(spec("json_path", 3, path="output.n", op="<"), {"n": "2"}, False, id="text has no order among numbers"),
        pytest.param(spec("json_path", ["a", "b"], path="output.n", op="in"), {"n": "a"}, True, id="in a list"),
        pytest.param(spec("json_path", "a", path="output.n", op="contains"), {"n": ["a"]}, True, id="a list that contains"),
        pytest.param(spec("json_path", 0, path="output.a[*].n", op=">"), {"a": [{"n": 1}, {"n": 2}]}, True, id="all of several"),
        pytest.param(spec("json_path", 1, path="output.a[*].n", op=">"), {"a": [{"n": 1}, {"n": 2}]}, False, id="not all of several"),
        pytest.param(
            spec("json_path", 1, path="output.a[*].n", op=">", each="any"), {"a": [{"n": 1}, {"n": 2}]}, True, id="any of several"
        ),
        pytest.param(spec("json_path", 1, path="output.a[*].n", op=">"), {"a": []}, False, id="all of none is no pass"),
        pytest.param(spec("json_path", path="output.a", exists=True), {"a": None}, True, id="null is there"),
        pytest.param(spec("json_path", path="output.a", exists=True), {}, False, id="nothing is there"),
        pytest.param(spec("json_path", path="output.a", exists=False), {}, True, id="nothing should be there"),
        pytest.param(spec("json_path", path="output.a[*]", exists=False), {"a": []}, True, id="an empty list has no items"),
        pytest.param(spec("json_path", 1, path="output.a"), 'Sure:\n```json\n{"a": 1}\n```', True, id="a path into fenced JSON text"),
        pytest.param(spec("equals", 1, path="output.a"), '{"a": 1}', True, id="any check with a path into JSON text"),
        pytest.param(spec("equals", [1, 2], path="output[*]"), [1, 2], True, id="all that a star finds is a list"),
        pytest.param(spec("equals", "x", path="output.a.b"), {"a": None}, False, id="a path through null leads nowhere"),
        pytest.param(spec("json_schema", {"type": "object", "required": ["a"]}), {"a": 1}, True, id="fits a schema"),
        pytest.param(spec("json_schema", {"type": "object", "required": ["a"]}), '{"b": 1}', False, id="text whose JSON does not fit"),
        pytest.param(spec("json_schema", {"type": "object"}), "no JSON", False, id="text that is no JSON"),
        pytest.param(spec("json_schema", {"type": "string"}, parse=False), "12", True, id="text as it is"),
    ],
)
def test_check(check: CheckSpec, output: Any, passed: bool) -> None:
    found = result(check, output)
    assert (found.passed, found.error) == (passed, "")
    assert bool(found.reason) is not passed, "a failure says why"


@given(JSON)
def test_every_json_value_equals_itself(value: Any) -> None:
    assert same_json(value, value)
    assert same_json([value, {"a": value}], [value, {"a": value}])


@given(JSON, JSON)
def test_equality_is_symmetric(one: Any, other: Any) -> None:
    assert same_json(one, other) is same_json(other, one)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_back_from_its_text(number: float) -> None:
    assert number_of(str(number)) == number


@pytest.mark.parametrize(
    ("check", "passed", "error"),
    [
        pytest.param(spec("latency", max_duration_ms=100), True, "", id="fast enough"),
        pytest.param(spec("latency", max_duration_ms=10), False, "", id="too slow"),
        pytest.param(spec("latency", max_first_token_ms=10), None, "time to first token", id="a first token that nobody measured"),
        pytest.param(spec("cost", max_cost_usd=1), None, "cost is unknown", id="an unknown price is below no bound"),
        pytest.param(spec("tokens", max_tokens=30), True, "", id="few enough tokens"),
        pytest.param(spec("tokens", max_tokens=30, max_tokens_prompt=9), False, "", id="one of two bounds broken"),
    ],
)
def test_bounds_on_the_answer_s_own_numbers(check: CheckSpec, passed: bool | None, error: str) -> None:
    answer = ran(duration_ms=50.0, tokens_prompt=10, tokens_completion=20, cost_usd=None, cost_source="unpriced")
    (found,) = score(check, answer).checks
    assert found.passed is passed
    assert error in found.error
    assert bool(found.error) is bool(error)


def test_path_into_a_node_s_output() -> None:
    answer = ran("x", nodes={"classify": {"text": "billing"}})
    assert score(spec("equals", "billing", path="nodes.classify.text"), answer).passed is True
    lacking = score(spec("equals", "billing", path="nodes.clasify.text"), answer)
    assert (lacking.passed, lacking.failure_category) == (None, "check_error"), "the bench is wrong, not the answer"
    assert "no node 'clasify'; there is classify" in lacking.checks[0].error
