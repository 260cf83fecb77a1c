from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.score.scoring import ran, score, score_all, spec
from tests.stage import on_stage

from flowgauge.errors import UsageError
from flowgauge.model.bench import Answer, Case, CheckSpec
from flowgauge.model.play import Failure
from flowgauge.score.scorer import Scored, Scorer

RIGHT, WRONG = spec("equals", "a"), spec("equals", "b")
BROKEN = spec("equals", "{{ expected.nowhere }}")


@pytest.mark.parametrize(
    ("checks", "passed", "category"),
    [
        pytest.param([], None, "", id="no check"),
        pytest.param([RIGHT], True, "", id="a check that passes"),
        pytest.param([RIGHT, WRONG], False, "wrong_answer", id="one of two does not pass"),
        pytest.param([RIGHT, BROKEN], None, "check_error", id="one of two cannot be made"),
        pytest.param([BROKEN, WRONG], False, "wrong_answer", id="wrong whatever the broken check would say"),
        pytest.param([RIGHT, spec("equals", "b", required=False)], True, "", id="what is not required does not decide"),
        pytest.param([spec("equals", "a", required=False)], None, "", id="nothing decides"),
        pytest.param([spec("similarity", "a")], None, "", id="a scorer only measures"),
        pytest.param([spec("similarity", "a", threshold=1.0)], True, "", id="a scorer with a threshold decides"),
        pytest.param([spec("similarity", "b", threshold=0.5)], False, "wrong_answer", id="a score below its threshold"),
    ],
)
def test_verdict(checks: list[CheckSpec], passed: bool | None, category: str) -> None:
    scored = score(checks, ran("a"))
    assert (scored.passed, scored.failure_category, len(scored.checks)) == (passed, category, len(checks))


@pytest.mark.parametrize(
    ("answer", "category"),
    [
        pytest.param(Answer(status="failed", error=Failure(kind="rate_limited", message="slow down")), "rate_limited", id="with an error"),
        pytest.param(Answer(status="timeout"), "timeout", id="timed out without one"),
        pytest.param(Answer(status="failed", output="a"), "internal", id="failed without one"),
    ],
)
def test_failed_run_is_not_checked(answer: Answer, category: str) -> None:
    scored = score(RIGHT, answer)
    assert (scored.passed, scored.failure_category, scored.checks) == (None, category, ())


@pytest.mark.parametrize(
    ("value", "output", "error"),
    [
        pytest.param("{{ expected.lable }}", None, "expected has no 'lable'; it has label", id="a column that is not there"),
        pytest.param("{{ expected.none.label }}", None, "expected.none is null", id="a path through null"),
        pytest.param("{{ inputs.q }}", None, "inputs has no 'q'", id="an input that is not there"),
    ],
)
def test_missing_gold_is_an_error_and_never_a_pass(value: str, output: Any, error: str) -> None:
    scored = score(spec("equals", value), ran(output), expected={"label": "a", "none": None})
    assert (scored.passed, scored.failure_category) == (None, "check_error")
    assert error in scored.checks[0].error


def test_templates_name_expected_inputs_output_and_nodes() -> None:
    check = spec("equals", {"a": "{{ expected.x }}", "b": ["{{ inputs.y }} {{ output.n }}", "{{ nodes.m.k }}"]}, path="output.all")
    answer = ran({"n": 3, "all": {"a": 1, "b": ["two 3", True]}}, nodes={"m": {"k": True}})
    assert score(check, answer, case=Case(name="c", inputs={"y": "two"}, expected={"x": 1})).passed is True


def test_template_that_names_what_the_output_lacks_is_a_wrong_answer() -> None:
    scored = score(spec("equals", "{{ output.b }}", path="output.a"), ran({"a": 1}))
    assert (scored.passed, scored.failure_category) == (False, "wrong_answer")
    assert "output has no 'b'" in scored.checks[0].reason


def test_options_may_be_templates() -> None:
    check = spec("numeric", "{{ expected.n }}", abs="{{ expected.tolerance }}")
    assert score(check, ran(10.4), expected={"n": "10", "tolerance": "0.5"}).passed is True
    assert score(check, ran(10.6), expected={"n": "10", "tolerance": "0.5"}).passed is False


def test_what_was_filled_in_is_not_rendered_again() -> None:
    assert score(spec("equals", "{{ expected.x }}"), ran("{{ inputs.y }}"), expected={"x": "{{ inputs.y }}"}).passed is True


def test_other_inputs_of_the_same_case_are_seen() -> None:
    case = Case(name="c", inputs={"x": "a"})
    check = spec("equals", "{{ inputs.x }}")
    for inputs, passed in (({"x": "a"}, True), ({"x": "b"}, False)):
        assert score(check, ran("a"), case=case, inputs=inputs).passed is passed
    changing = {"x": "a"}
    (first,), _ = score_all([check], [ran("a")], case=case, inputs=changing)
    assert first.passed is True


def test_cases_of_one_name_are_told_apart() -> None:
    async def work() -> list[bool | None]:
        async with on_stage() as stage:
            scorer = Scorer([spec("equals", "{{ expected.x }}")], stage.services)
            return [(await scorer.score(ran("a"), Case(name="c", expected={"x": x}), {})).passed for x in "aba"]

    assert asyncio.run(work()) == [True, False, True]


def test_case_s_own_checks_come_besides_the_bench_s() -> None:
    case = Case(name="c", checks=(spec("equals", "a"), spec("length", 1)))
    scored = score([RIGHT], ran("a"), case=case)
    assert [check.name for check in scored.checks] == ["equals output", "equals output 2", "length output"]
    assert scored.passed is True


def test_case_s_check_that_can_never_be_made_is_an_error_of_its_trials() -> None:
    scored = score([RIGHT], ran("a"), case=Case(name="c", checks=(spec("eqals", "a"),)))
    assert (scored.passed, scored.failure_category) == (None, "check_error")
    assert "Did you mean 'equals'?" in scored.checks[1].error


def test_bench_s_check_that_can_never_be_made_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="Did you mean 'ignore_case'"):
        score(spec("equals", "a", ignorecase=True), ran("a"))


def test_scores_are_the_target_s_and_those_of_checks() -> None:
    scored = score(spec("similarity", "ab", name="like"), ran("ac", scores={"own": 3.0}))
    assert scored.scores == {"own": 3.0, "like": 0.5}


def test_checks_that_ask_nothing_are_made_at_once() -> None:
    async def work() -> list[type]:
        async with on_stage() as stage:
            plain, asking = Scorer([RIGHT], stage.services), Scorer([spec("command", argv=["true"])], stage.services)
            begun = asking.begin(ran("a"), Case(name="c"), {})
            assert not isinstance(begun, Scored)
            return [type(plain.begin(ran("a"), Case(name="c"), {})), type(await begun)]

    assert asyncio.run(work()) == [Scored, Scored]


def test_time_for_scoring_is_measured() -> None:
    assert score(RIGHT, ran("a")).score_ms == 0.0, "the clock of the stage stands still"
