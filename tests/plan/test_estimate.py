"""A dry run says what is known, from what, and what is not."""

from __future__ import annotations

import pytest
from tests.plan.plans import bench

from flowgauge.model.bench import Case, Configuration
from flowgauge.plan.estimate import MOST_CASES_ASKED, PerTrial, estimate

KNOWN = {"c0": PerTrial(0.01, 100.0), "c1": PerTrial(0.02, 300.0), "c2": PerTrial(0.0, 200.0)}


def test_earlier_trials_give_cost_and_duration() -> None:
    told = estimate(bench(max_concurrent_runs=5), earlier=KNOWN)
    assert (told.trials, told.basis) == (30, "earlier trials")
    assert told.cost_usd == pytest.approx(0.3)
    assert told.duration_s == pytest.approx(10 * (100 + 300 + 200) / 5 / 1000)


def test_nothing_known_is_unknown_and_not_zero() -> None:
    told = estimate(bench())
    assert (told.trials, told.cost_usd, told.duration_s, told.basis) == (30, None, None, "unknown")
    assert told.unknown_cost == told.unknown_duration == ("c0", "c1", "c2")


def test_one_unknown_price_makes_the_sum_unknown_and_is_named() -> None:
    told = estimate(bench(), earlier={**KNOWN, "c1": PerTrial(None, 300.0)})
    assert (told.cost_usd, told.unknown_cost) == (None, ("c1",))
    assert told.duration_s is not None


def test_a_guess_fills_what_earlier_trials_do_not_know() -> None:
    told = estimate(bench(configs=2), earlier={"c0": PerTrial(0.01, 100.0)}, guess=lambda _config, _case: PerTrial(0.5, None))
    assert told.cost_usd == pytest.approx(10 * 0.01 + 10 * 0.5)
    assert (told.duration_s, told.unknown_duration) == (None, ("c1",))
    assert told.basis == "earlier trials and estimated calls"


def test_a_guess_counts_each_case_as_often_as_it_is_run() -> None:
    cases = (Case(name="cheap", inputs={"usd": 1}, runs=3), Case(name="dear", inputs={"usd": 5}))
    told = estimate(bench(configs=1, cases=cases, runs=1), guess=lambda _config, case: PerTrial(case.inputs["usd"], 10.0))
    assert told.cost_usd == pytest.approx(3 * 1 + 5)
    assert told.basis == "estimated calls"


def test_of_many_cases_some_are_asked() -> None:
    asked: list[str] = []

    def guess(config: Configuration, case: Case) -> PerTrial:
        asked.append(f"{config.name} {case.name}")
        return PerTrial(1.0, 1.0)

    told = estimate(bench(configs=1, cases=1234, runs=1), guess=guess)
    assert told.cost_usd == pytest.approx(1234)
    assert 0 < len(asked) <= MOST_CASES_ASKED


def test_what_is_done_costs_nothing_more() -> None:
    told = estimate(bench(), earlier=KNOWN, done={"c0": 10, "c1": 4})
    assert told.trials == 16
    assert told.cost_usd == pytest.approx(6 * 0.02)
    unpriced = estimate(bench(configs=2), earlier={"c1": PerTrial(1.0, 1.0)}, done={"c0": 10})
    assert unpriced.cost_usd == pytest.approx(10)


def test_a_bench_is_no_shorter_than_its_longest_trial() -> None:
    told = estimate(bench(configs=1, cases=1, runs=2, max_concurrent_runs=50), earlier={"c0": PerTrial(0.0, 4000.0)})
    assert told.duration_s == pytest.approx(4.0)
