from __future__ import annotations

from array import array
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.aggregate.bench_rows import record
from tests.store.store_nouns import add, begin, benchmark, keep, node_run, play, trial

from flowgauge.aggregate.measured import FAILED_RUNS_SHOWN, measured
from flowgauge.aggregate.rows import trial_row
from flowgauge.aggregate.summary import summarise
from flowgauge.model.bench import INFRASTRUCTURE, Trial
from flowgauge.model.figure import Metric
from flowgauge.model.metric import Measured
from flowgauge.store.store import Store

OF_BENCH = benchmark(bench_uid="bn_1", bench_id="b-1")


def row(case: str = "one", **columns: Any) -> tuple[Any, ...]:
    """A successful trial that took 100 ms and cost a tenth of a cent, but for what is said."""
    usual: dict[str, Any] = {
        "failure": None, "duration_ms": 100.0, "first_token_ms": None, "tokens_prompt": 10, "tokens_completion": 5, "cost_usd": 0.001,
        "scores": None,
    }  # fmt: skip
    return (case, *(usual | columns).values())


def of(*rows: tuple[Any, ...], nodes: Any = ()) -> Measured:
    """Each row a batch of its own: where a batch ends must not matter."""
    return measured(OF_BENCH, "b-1:mini", [[each] for each in rows], [[each] for each in nodes])


def by_case(found: Measured, name: str) -> dict[str, list[float]]:
    return {case: list(column) for case, column in found.metrics[name].by_case.items()}


def test_samples_stand_by_case_in_the_order_in_which_they_came() -> None:
    found = of(row(duration_ms=3.0), row("two", duration_ms=2.0), row(duration_ms=1.0))
    assert by_case(found, "duration_ms") == {"one": [3.0, 1.0], "two": [2.0]}
    assert found.metrics["duration_ms"].n == found.runs == 3
    assert (found.label, found.benchmark) == ("b-1:mini", OF_BENCH)
    assert isinstance(found.metrics["duration_ms"].by_case["one"], array)


def test_every_metric_says_which_way_is_better_and_its_unit() -> None:
    found = of(row(first_token_ms=20.0, scores='{"quality":0.5}'))
    assert {name: (each.direction, each.unit) for name, each in found.metrics.items()} == {
        "duration_ms": ("lower", "ms"),
        "first_token_ms": ("lower", "ms"),
        "cost_usd": ("lower", "USD"),
        "tokens_prompt": ("lower", "tokens"),
        "tokens_completion": ("lower", "tokens"),
        "score.quality": ("higher", ""),
    }


def test_a_metric_that_no_run_has_is_not_there() -> None:
    assert set(of(row(cost_usd=None)).metrics) == {"duration_ms", "tokens_prompt", "tokens_completion"}
    assert of().metrics == {}
    assert of().cases == {}


def test_times_are_of_successful_runs_and_costs_of_every_run_where_they_are_known() -> None:
    found = of(
        row(),
        row(failure="r1 wrong_answer", duration_ms=900.0, first_token_ms=9.0, cost_usd=0.003, tokens_prompt=7),
        row(failure="r2 rate_limited", cost_usd=None, tokens_prompt=0, tokens_completion=0),
        row(failure="r3 timeout", cost_usd=0.0, tokens_prompt=0, tokens_completion=0),
        row(failure="r4 invalid_output", cost_usd=None, tokens_prompt=4, tokens_completion=0),
    )
    assert by_case(found, "duration_ms") == {"one": [100.0]}
    assert "first_token_ms" not in found.metrics
    assert by_case(found, "cost_usd") == {"one": [0.001, 0.003, 0.0]}
    assert by_case(found, "tokens_prompt") == {"one": [10.0, 7.0, 0.0, 4.0]}
    assert by_case(found, "tokens_completion") == {"one": [5.0, 5.0, 0.0, 0.0]}


def test_a_score_counts_where_a_run_has_it() -> None:
    found = of(row(scores='{"a":0.5,"b":null}'), row(failure="r1 wrong_answer", scores='{"a":0}'), row(), row("two", scores='{"b":1}'))
    assert by_case(found, "score.a") == {"one": [0.5, 0.0]}
    assert by_case(found, "score.b") == {"two": [1.0]}


def test_failures_are_counted_by_case_and_category() -> None:
    wrong = [row(failure=f"r{number} wrong_answer") for number in range(FAILED_RUNS_SHOWN)]
    found = of(row(), *wrong, row(failure="r8 rate_limited"), row("two", failure="r9 "))
    one, two = found.cases["one"], found.cases["two"]
    assert (one.runs, one.passed, one.infrastructure) == (7, 1, 1)
    assert one.failures == {"rate_limited": 1, "wrong_answer": 5}
    assert one.failed_runs == tuple(f"r{number}" for number in range(5))
    assert (two.runs, two.passed, two.infrastructure, two.failures) == (1, 0, 0, {"failed": 1})
    assert (found.runs, found.infrastructure) == (8, 1)


def test_the_attempts_of_a_node_and_the_items_of_a_map_are_one_sample_a_trial() -> None:
    nodes = [
        ("pl_1", "one", "classify", 1.0),
        ("pl_1", "one", "classify", 2.0),
        ("pl_1", "one", "each[0]", 4.0),
        ("pl_1", "one", "each[1]", 8.0),
        ("pl_2", "two", "classify", 16.0),
        ("pl_3", "one", "classify", 32.0),
        ("pl_3", "one", "each[0]/inner", 64.0),
    ]
    found = of(nodes=nodes).nodes
    assert {name: {case: list(column) for case, column in each.by_case.items()} for name, each in found.items()} == {
        "classify": {"one": [3.0, 32.0], "two": [16.0]},
        "each[*]": {"one": [12.0]},
        "each[*]/inner": {"one": [64.0]},
    }
    assert {(each.direction, each.unit) for each in found.values()} == {("lower", "ms")}


@pytest.mark.parametrize(
    ("metric", "columns", "value"),
    [
        pytest.param(Metric(value=2.0, direction="lower", unit="s"), {}, 2.0, id="a bare figure"),
        pytest.param(Metric(value=None, direction="higher"), {}, None, id="not measured"),
        pytest.param(
            Metric(value=2.0, direction="lower", samples={"": [1.0, 3.0]}), {"": [1.0, 3.0]}, None, id="samples speak for themselves"
        ),
        pytest.param(Metric(value=2.0, direction="lower", samples={"": []}), {}, 2.0, id="an empty sample is none"),
    ],
)
def test_what_no_bench_made_brings_its_metrics_along(metric: Metric, columns: dict[str, list[float]], value: float | None) -> None:
    found = measured(benchmark(kind="ingested", subject="tool", metrics={"mean": metric}), "tool")
    assert by_case(found, "mean") == columns
    mean = found.metrics["mean"]
    assert (mean.value, mean.direction, mean.unit) == (value, metric.direction, metric.unit)
    assert (found.cases, found.runs) == ({}, 0)


CATEGORY = st.sampled_from(["", "", "", "wrong_answer", "timeout", *sorted(INFRASTRUCTURE)[:3]])
COST = st.none() | st.floats(0, 1)


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    category = draw(CATEGORY)
    answer = {
        "status": "failed" if category and category != "wrong_answer" else "success",
        "duration_ms": draw(st.floats(0, 1e6)),
        "first_token_ms": draw(st.none() | st.floats(0, 1e3)),
        "tokens_prompt": draw(st.integers(0, 3)),
        "tokens_completion": draw(st.integers(0, 3)),
        "cost_usd": draw(COST),
    }
    scores = draw(st.dictionaries(st.sampled_from("ab"), st.floats(0, 1)))
    passed = False if category == "wrong_answer" else draw(st.sampled_from([None, True]))
    number, case = draw(st.integers(0, 10**6)), draw(st.sampled_from("xyz"))
    return trial(number, answer=answer, case=case, passed=passed, failure_category=category, scores=scores)


@given(st.lists(trials(), max_size=30))
def test_it_says_the_same_as_the_report_of_the_bench(several: list[Trial]) -> None:
    rows = [
        (each.case, None if each.ok else f"{each.run_id} {each.failure_category}", each.answer.duration_ms, each.answer.first_token_ms,
         each.answer.tokens_prompt, each.answer.tokens_completion, each.answer.cost_usd, msgspec.json.encode(each.scores).decode())
        for each in several
    ]  # fmt: skip
    found = measured(OF_BENCH, "", [rows])
    [config] = summarise(record("mini"), map(trial_row, several)).configs
    assert found.cases.keys() == config.cases.keys()
    for name, cell in config.cases.items():
        counts = found.cases[name]
        assert (counts.runs, counts.passed, counts.failures) == (cell.runs, cell.success.count, cell.failures)
        assert counts.runs - counts.infrastructure == cell.measured.total
        spreads = {"duration_ms": cell.duration_ms, "first_token_ms": cell.first_token_ms, "cost_usd": cell.cost}
        for metric, spread in (spreads | {f"score.{score}": each for score, each in cell.scores.items()}).items():
            column = found.metrics[metric].by_case.get(name, ()) if metric in found.metrics else ()
            assert len(column) == (spread.n if spread else 0)
            if spread:
                assert sum(column) / len(column) == pytest.approx(spread.mean)


def test_a_stored_bench_is_measured(store: Store) -> None:
    uid = begin(store).uid
    for number in range(4):
        done = play(status="success")
        keep(store, done)
        store.journal.node_finished(done.sid, node_run(duration_ms=float(number)))
        failed = {"passed": False, "failure_category": "wrong_answer"} if number == 3 else {"passed": True}
        answer = {"play_sid": done.sid, "duration_ms": 10.0 + number}
        add(store, uid, trial(number, case=f"c{number % 2}", scores={"q": 0.5}, answer=answer, **failed))
    found = measured(OF_BENCH, "x", store.measured_columns(uid, "mini"), store.node_columns(uid, "mini"))
    assert by_case(found, "duration_ms") == {"c0": [10.0, 12.0], "c1": [11.0]}
    assert {case: list(column) for case, column in found.nodes["classify"].by_case.items()} == {"c0": [0.0, 2.0], "c1": [1.0]}
    assert found.cases["c1"].failed_runs == (trial(3).run_id,)
    assert found.metrics["score.q"].n == 4
