"""Outputs that models should not make, and checks that must hold against them."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.score.scoring import ran, result, score_all, spec

from flowgauge.model.bench import Case, CheckSpec
from flowgauge.score.checks.regex import IN_PLACE_STEPS
from flowgauge.score.checks.similarity import SimilarityOptions, prepare
from flowgauge.score.pattern import worst_steps
from flowgauge.score.subsequence import common_length

BIG = "word " * 1_000_000
EVIL = "a" * 40 + "!"


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("check", "output", "error"),
    [
        pytest.param(spec("regex", "^(a+)+$", timeout_s=0.5), EVIL, "longer than 0.5 s", id="nested repeats"),
        pytest.param(spec("regex", "^(a|a)*$", timeout_s=0.5), EVIL, "longer than 0.5 s", id="alternatives that are alike"),
        pytest.param(spec("regex", "a*a*a*a*a*a*b", timeout_s=0.5), "a" * 1000, "longer than 0.5 s", id="many repeats in a row"),
        pytest.param(spec("json_schema", {"pattern": "^(a+)+$"}, parse=False, timeout_s=0.5), EVIL, "0.5 s", id="a pattern in a schema"),
        pytest.param(spec("similarity", BIG), BIG, "too long", id="texts too long to compare"),
    ],
)
def test_work_without_end_is_an_error_of_the_check(check: CheckSpec, output: Any, error: str) -> None:
    found = result(check, output)
    assert found.passed is None
    assert error in found.error


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        pytest.param(spec("equals", "x"), False, id="equals"),
        pytest.param(spec("contains", "word word"), True, id="contains"),
        pytest.param(spec("contains", "WORD", ignore_case=True), True, id="contains in any case"),
        pytest.param(spec("regex", r"(word ?)+$"), True, id="regex"),
        pytest.param(spec("length", max=100), False, id="length"),
        pytest.param(spec("numeric", 1), False, id="numeric"),
        pytest.param(spec("numeric", 1, extract="last"), False, id="numeric with extract"),
        pytest.param(spec("json_schema", {"type": "object"}), False, id="json_schema"),
        pytest.param(spec("json_path", 1, path="output.a"), False, id="json_path"),
        pytest.param(spec("similarity", "word", threshold=0.5), False, id="similarity"),
        pytest.param(spec("python", code="def check(output): return len(output) == 5_000_000"), True, id="python"),
        pytest.param(spec("command", argv=["grep", "-q", "word"]), True, id="command"),
    ],
)
def test_output_of_five_megabytes(check: CheckSpec, passed: bool) -> None:
    found = result(check, BIG)
    assert (found.passed, found.error) == (passed, "")
    assert len(found.reason) < 1000, "a reason stays short"


ODD = {"deep": nested(5_000), "nan": math.nan, "inf": {"a": math.inf}, "surrogate": "\ud800", "fence": "```" + " " * 100_000}
VALUES: dict[str, Any] = {
    "equals": "no",
    "one_of": ["no"],
    "contains": "no",
    "starts_with": "no",
    "regex": "no",
    "json_path": "no",
    "json_schema": {"type": "integer"},
    "numeric": 5,
    "length": 7,
    "similarity": "no",
    "gold": "{{ expected.g }}",
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("output", ODD.values(), ids=ODD)
def test_odd_output_is_never_a_pass_and_never_a_crash(kind: str, output: Any) -> None:
    check = spec(kind, VALUES[kind], **({"threshold": 0.9} if kind == "similarity" else {}))
    (scored,), _ = score_all([check], [ran(output)], case=Case(name="c", expected={"g": "no"}))
    assert scored.passed is not True
    assert scored.checks[0].reason or scored.checks[0].error


def test_deep_output_equals_itself() -> None:
    assert result(spec("equals", "{{ expected.x }}"), nested(50_000), expected={"x": nested(50_000)}).passed is True


@pytest.mark.parametrize(
    ("pattern", "text", "in_place"),
    [
        pytest.param("^billing$", "billing", True, id="a word"),
        pytest.param(r"^\d{4}-\d{2}-\d{2}$", "2024-01-02", True, id="a date"),
        pytest.param(r"(yes|no)[.!]?\s*", "yes!", True, id="alternatives"),
        pytest.param(r"[a-z]+@[a-z]+\.com", "x" * 20, True, id="two repeats on a short text"),
        pytest.param(r"[a-z]+@[a-z]+\.com", "x" * 2000, False, id="two repeats on a long text"),
        pytest.param(r"(\w+\s?)*", "short", False, id="a repeated group"),
        pytest.param(r"(a)\1", "aa", False, id="a back reference"),
        pytest.param(r"(?=a)a", "a", False, id="a look-ahead"),
    ],
)
def test_where_a_pattern_is_matched(pattern: str, text: str, in_place: bool) -> None:
    assert (worst_steps(pattern, len(text)) <= IN_PLACE_STEPS) is in_place


@pytest.mark.parametrize(("pattern", "text"), [(r"(a)\1", "xaay"), (r"(\w+ ?)*end$", "the end"), ("(?i)X", "x")])
def test_pattern_matched_apart_says_what_one_in_place_would(pattern: str, text: str) -> None:
    assert re.search(pattern, text)
    assert result(spec("regex", pattern), text).passed is True
    assert result(spec("regex", pattern, negate=True), text).passed is False
    assert result(spec("regex", pattern, full=True), f"{text} and more").passed is False


TEXTS = st.text(alphabet="ab c", max_size=30)


@pytest.mark.parametrize("method", ["ratio", "token_f1", "rouge_l"])
@given(one=TEXTS, other=TEXTS)
def test_similarity_is_between_0_and_1_and_symmetric_and_1_for_the_same(method: Any, one: str, other: str) -> None:
    def like(left: str, right: str) -> float:
        found: Any = prepare(SimilarityOptions(method=method), left)(right, None)  # type: ignore[arg-type]
        return float(found.score)

    assert 0.0 <= like(one, other) <= 1.0
    assert like(one, other) == like(other, one)
    assert like(one, one) == 1.0


@given(st.text(alphabet="abc", max_size=12), st.text(alphabet="abc", max_size=12))
def test_common_subsequence_is_the_longest(one: str, other: str) -> None:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for row, left in enumerate(one, 1):
        for column, right in enumerate(other, 1):
            table[row][column] = table[row - 1][column - 1] + 1 if left == right else max(table[row - 1][column], table[row][column - 1])
    assert max(common_length(one, other)) == table[-1][-1]


@pytest.mark.parametrize(
    ("method", "output", "number"),
    [
        pytest.param("ratio", "abxd", 0.75, id="characters in common"),
        pytest.param("token_f1", "d c b a", 0.0, id="no words in common"),
        pytest.param("rouge_l", "abcd", 1.0, id="the same words"),
    ],
)
def test_similarity_by_method(method: str, output: str, number: float) -> None:
    assert result(spec("similarity", "abcd", method=method), output).score == number


def test_order_of_words_counts_for_rouge_only() -> None:
    assert result(spec("similarity", "the cat sat", method="token_f1"), "sat cat the").score == 1.0
    assert result(spec("similarity", "the cat sat", method="rouge_l"), "sat cat the").score == pytest.approx(1 / 3)
