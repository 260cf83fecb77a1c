"""Trials become cells, configurations and nodes, in any order, and unknown stays unknown."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.aggregate.bench_rows import failed, record, row

from flowgauge.aggregate.rows import NodeRow, node_row, trial_row
from flowgauge.aggregate.summary import summarise
from flowgauge.model.bench import Answer, Case, CheckResult, CheckSpec, Trial
from flowgauge.model.benchmark import Cell
from flowgauge.model.play import Failure, NodeRun, Usage


def overall(*rows: Any) -> Cell:
    return summarise(record("a"), rows).configs[0].overall


def test_one_run_has_a_time_and_no_spread() -> None:
    cell = overall(row(duration_ms=120.0))
    assert cell.duration_ms is not None
    assert (cell.duration_ms.n, cell.duration_ms.p99, cell.duration_ms.stdev, cell.duration_ms.mean_interval) == (1, 120.0, None, None)


def test_times_are_those_of_successful_runs() -> None:
    cell = overall(row(duration_ms=100.0), row(duration_ms=300.0), failed("timeout", duration_ms=9000.0), row(passed=0, duration_ms=1.0))
    assert cell.duration_ms is not None
    assert (cell.duration_ms.n, cell.duration_ms.mean, cell.duration_ms.max) == (2, 200.0, 300.0)


def test_a_configuration_that_always_fails_has_no_time() -> None:
    cell = overall(failed("code_error"), failed("code_error"))
    assert cell.duration_ms is None
    assert (cell.success.value, cell.failures, cell.cost_usd_per_success) == (0.0, {"code_error": 2}, None)


def test_what_says_nothing_about_the_target_leaves_both_sides_of_the_measured_rate() -> None:
    cell = overall(row(), row(), failed("wrong_answer"), failed("rate_limited"), row(failure_category="judge_error"))
    assert (cell.success.count, cell.success.total) == (2, 5)
    assert (cell.measured.count, cell.measured.total) == (2, 3)


def test_passed_counts_only_what_was_checked() -> None:
    cell = overall(row(passed=1), row(passed=0, failure_category="wrong_answer"), row(passed=None))
    assert (cell.passed.count, cell.passed.total, cell.success.count) == (1, 2, 2)


def test_costs_add_up_and_failures_cost_too() -> None:
    cell = overall(row(cost_usd=0.1), row(cost_usd=0.2), failed("timeout", cost_usd=0.3))
    assert (cell.cost_usd_total, cell.cost_usd_mean, cell.cost_usd_per_success) == pytest.approx((0.6, 0.2, 0.3))


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    cell = overall(row(cost_usd=0.1), row(cost_usd=None, cost_source="unpriced"))
    assert (cell.cost_usd_total, cell.cost_usd_mean, cell.cost_usd_per_success) == (None, None, None)
    assert cell.cost_source == "unpriced"
    assert cell.cost is not None
    assert cell.cost.n == 1


def test_free_is_zero_and_known() -> None:
    cell = overall(row(cost_usd=0.0, cost_source="none"))
    assert (cell.cost_usd_total, cell.cost_usd_mean, cell.cost_source) == (0.0, 0.0, "none")


def test_waiting_is_kept_apart_and_of_all_runs() -> None:
    cell = overall(row(queue_ms=5.0, backoff_ms=10.0, retries=1), failed("timeout", queue_ms=15.0, backoff_ms=20.0, retries=2))
    assert cell.queue_ms is not None
    assert (cell.queue_ms.mean, cell.backoff_ms_total, cell.retries) == (10.0, 30.0, 3)


def test_scores_and_checks_by_name() -> None:
    checks = [CheckResult(name="label", type="equals", passed=True), CheckResult(name="tone", type="judge", score=0.5)]
    cell = overall(row(scores={"tone": 0.5, "broken": None}, checks=checks), row(scores={"tone": 1.0}))
    assert cell.scores["tone"].mean == 0.75
    assert list(cell.scores) == ["tone"]
    assert (cell.checks["label"].count, cell.checks["label"].total) == (1, 1)
    assert "tone" not in cell.checks


def test_a_check_that_failed_itself_decides_nothing() -> None:
    cell = overall(row(checks=[CheckResult(name="label", type="equals", error="boom")]))
    assert cell.checks == {}


def test_a_configuration_without_a_run_is_there_and_unknown() -> None:
    summary = summarise(record("a", "b", total=2), [row("a")])
    silent = summary.configs[1].overall
    assert (silent.runs, silent.success.value, silent.cost_usd_total, silent.tokens_prompt_mean) == (0, None, None, None)
    assert (silent.success.interval.low, silent.success.interval.high) == (0.0, 1.0)
    assert "Only 1 of 2 planned runs are in these figures." in summary.notes


def test_cases_stand_in_the_order_of_the_definition_and_sum_up_to_the_whole() -> None:
    cases = (Case(name="z"), Case(name="a"))
    stats = summarise(record("c", cases=cases), [row("c", "a"), row("c", "z"), row("c", "z", duration_ms=400.0)]).configs[0]
    assert list(stats.cases) == ["z", "a"]
    assert sum(cell.runs for cell in stats.cases.values()) == stats.overall.runs == 3
    assert stats.overall.duration_ms is not None
    assert stats.overall.duration_ms.mean == 200.0


def test_models_are_named() -> None:
    assert summarise(record("a"), [row(model="m2"), row(model="m1"), row(model="")]).configs[0].model == "m1, m2"


VALUES = st.floats(min_value=0, max_value=1e6)
ROWS = st.lists(
    st.builds(
        row,
        config=st.sampled_from(["a", "b"]),
        case=st.sampled_from(["one", "two"]),
        passed=st.sampled_from([None, 0, 1]),
        status=st.sampled_from(["success", "failed", "timeout"]),
        failure_category=st.sampled_from(["", "timeout", "rate_limited"]),
        duration_ms=VALUES,
        first_token_ms=st.one_of(st.none(), VALUES),
        cost_usd=st.one_of(st.none(), VALUES),
        scores=st.one_of(st.none(), st.fixed_dictionaries({"q": VALUES})),
    ),
    max_size=20,
)


@settings(max_examples=50)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[Any], chance: random.Random) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)
    assert summarise(record("a", "b"), rows) == summarise(record("a", "b"), iter(map(tuple, shuffled)))


def test_a_trial_at_hand_gives_the_row_that_a_store_would() -> None:
    answer = Answer(status="success", duration_ms=12.0, cost_usd=None, cost_source="unpriced", model="m", tokens_prompt=3, repeated=1)
    check = CheckResult(name="label", type="equals", passed=False)
    trial = Trial(
        run_id="r", position=0, config="a", case="one", repetition=0, answer=answer, passed=False,
        failure_category="wrong_answer", scores={"q": 0.5}, checks=(check,),
    )  # fmt: skip
    cell = overall(trial_row(trial))
    assert (cell.success.count, cell.failures, cell.tokens_prompt, cell.repeated_calls) == (0, {"wrong_answer": 1}, 3, 1)
    assert (cell.checks["label"].count, cell.scores["q"].mean, cell.cost_usd_total) == (0, 0.5, None)


def node(node_id: str, duration_ms: float = 10.0, **columns: Any) -> NodeRow:
    usual: dict[str, Any] = {
        "attempt": 1, "status": "success", "tokens_prompt": 1, "tokens_completion": 2, "cost_usd": 0.5, "cost_source": "provider",
        "failure_kind": None,
    }  # fmt: skip
    return NodeRow(config="a", node_id=node_id, duration_ms=duration_ms, **{**usual, **columns})


def test_a_retry_is_an_attempt_and_not_a_run() -> None:
    rows = [
        node("ask", 10.0, status="failed", failure_kind="rate_limited"),
        node("ask", 30.0, attempt=2),
        node("ask", 60.0),
        node("clean", 100.0),
        node("never", 0.0, status="skipped"),
    ]
    nodes = summarise(record("a"), [row()], rows).configs[0].nodes
    ask = nodes["ask"]
    assert (ask.runs, ask.success.count, ask.retries, ask.failures) == (2, 2, 1, {"rate_limited": 1})
    assert ask.duration_ms is not None
    assert (ask.duration_ms.n, ask.share, ask.cost_usd_total) == (2, 0.5, 1.5)
    assert "never" not in nodes


def test_what_runs_inside_a_node_is_not_counted_twice() -> None:
    rows = [node("each", 100.0), node("each[0]/ask", 40.0), node("each[1]/ask", 60.0), node("end", 100.0)]
    nodes = summarise(record("a"), [row()], rows).configs[0].nodes
    assert {name: stats.share for name, stats in nodes.items()} == {"each": 0.5, "each[*]/ask": None, "end": 0.5}
    assert nodes["each[*]/ask"].runs == 2


def test_an_unpriced_attempt_makes_the_nodes_cost_unknown() -> None:
    rows = [node("ask"), node("ask", cost_usd=None, cost_source="unpriced")]
    assert summarise(record("a"), [row()], rows).configs[0].nodes["ask"].cost_usd_total is None


def test_a_node_run_at_hand_gives_the_row_that_a_store_would() -> None:
    failure = Failure(kind="timeout", message="too slow")
    run = NodeRun(node_id="ask", status="timeout", started_at=0, duration_ms=5.0, error=failure)
    assert summarise(record("a"), [row()], [node_row("a", run)]).configs[0].nodes["ask"].failures == {"timeout": 1}


def test_notes_say_what_makes_the_figures_weak() -> None:
    rows = [
        row("a", cost_usd=None, cost_source="unpriced", cached=1, repeated=2, scores={"q": 1.0}),
        failed("rate_limited", config="a"),
    ]
    notes = "\n".join(summarise(record("a"), rows).notes)
    for expected in ("1 of 2 runs have no known price (m)", "rate_limited 1", "from the cache", "made again", "quality is known of 1 of 2"):
        assert expected in notes


def test_scores_are_weighted_by_the_checks_that_give_them() -> None:
    checks = (CheckSpec(type="judge", name="main", weight=3.0), CheckSpec(type="judge", name="side", weight=0.0))
    case = Case(name="two", checks=(CheckSpec(type="judge", name="side", weight=1.0),))
    summary = summarise(
        record("a", cases=(Case(name="one"), case), checks=checks),
        [row(scores={"main": 1.0, "side": 0.0}), row(case="two", scores={"main": 1.0, "side": 0.0, "side 2": 0.0})],
    )
    assert summary.best_score is not None
    assert summary.best_score.value == pytest.approx((1.0 + 0.75) / 2)


def test_unnamed_checks_of_one_type_and_path_keep_their_own_weights() -> None:
    checks = (CheckSpec(type="similarity", value="a", weight=9.0), CheckSpec(type="similarity", value="b", weight=1.0))
    summary = summarise(record("a", checks=checks), [row(scores={"similarity output": 1.0, "similarity output 2": 0.0})])
    assert summary.quality == {"a": pytest.approx(0.9)}


def test_a_judges_score_counts_by_its_place_on_its_scale() -> None:
    judge = CheckSpec(type="judge", name="tone", options={"rubric": "r", "min_score": 1, "max_score": 5})
    checks = (judge, CheckSpec(type="similarity", name="like"))
    cell = (summary := summarise(record("a", checks=checks), [row(scores={"tone": 3.0, "like": 0.0})])).configs[0].overall
    assert cell.scores["tone"].mean == 3.0
    assert summary.best_score is not None
    assert (summary.best_score.value, summary.quality, summary.quality_by) == (0.25, {"a": 0.25}, "score")


@pytest.mark.parametrize(
    ("scores", "quality"),
    [
        pytest.param({"like": 0.5, "confidence": 99.0}, 0.5, id="beside a check's, it is left out"),
        pytest.param({"confidence": 0.9}, 0.9, id="alone, it is all there is"),
    ],
)
def test_what_a_target_says_of_itself_counts_only_where_nothing_else_does(scores: dict[str, float], quality: float) -> None:
    summary = summarise(record("a", checks=(CheckSpec(type="similarity", name="like"),)), [row(scores=scores)])
    assert summary.quality == {"a": quality}


def judged(cost_usd: float | None) -> CheckResult:
    usage = Usage(tokens_prompt=5, cost_usd=cost_usd, cost_source="unpriced" if cost_usd is None else "computed")
    return CheckResult(name="tone", type="judge", score=1.0, usage=usage)


@pytest.mark.parametrize(
    ("checks", "calls", "total"),
    [
        pytest.param([[judged(0.25)], [judged(0.5)]], 2, 0.75, id="judges add up"),
        pytest.param([[judged(0.25)], [judged(None)]], 2, None, id="one without a price leaves the sum unknown"),
        pytest.param([None, None], 0, 0.0, id="no judge costs nothing"),
    ],
)
def test_judges_are_counted_apart_from_the_target(checks: list[Any], calls: int, total: float | None) -> None:
    cell = overall(*(row(checks=one, cost_usd=0.1) for one in checks))
    assert (cell.judge_calls, cell.judge_cost_usd_total) == (calls, total)
    assert cell.cost_usd_total == pytest.approx(0.2)


def test_what_was_paid_for_a_run_is_its_target_and_its_judges_as_far_as_known() -> None:
    rows = [
        row(cost_usd=0.5, checks=[judged(0.25)]),
        row(cost_usd=0.5, checks=[judged(None)]),
        row(cost_usd=0.5, cached=1, checks=[judged(0.25)]),
        row(cost_usd=None),
    ]
    assert [one.paid_usd for one in rows] == [0.75, 0.5, 0.25, None]


def died(**columns: Any) -> Any:
    return failed("connection", cost_usd=None, cost_source="unpriced", tokens_prompt=0, tokens_completion=0, model="", **columns)


def test_a_run_that_died_before_it_reported_a_cost_does_not_make_the_model_unpriced() -> None:
    summary = summarise(record("a"), [row(cost_usd=0.1), row(cost_usd=0.3), row(cost_usd=0.2, passed=0), died()])
    cell = summary.configs[0].overall
    assert (cell.cost_source, cell.cost_unknown_runs, cell.cost_usd_total) == ("computed", 1, None)
    assert (cell.cost_usd_mean, cell.cost_usd_per_success) == pytest.approx((0.2, 0.4))
    assert any("the cost of 1 of 4 runs is unknown" in note for note in summary.notes)
    assert not any("no known price" in note for note in summary.notes)


def test_where_every_run_died_no_cost_is_known() -> None:
    cell = overall(died(), died())
    assert (cell.cost_usd_total, cell.cost_usd_mean, cell.cost_usd_per_success, cell.cost) == (None, None, None, None)
    assert (cell.cost_unknown_runs, cell.cost_source) == (2, "none")
