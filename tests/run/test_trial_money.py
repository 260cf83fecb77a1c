"""What a bench may spend, and what it need not ask again."""

from __future__ import annotations

import msgspec
import pytest
from tests.run.trial_parts import Kept, Verdict, bench, hang, nap, run

from flowgauge.errors import Failed
from flowgauge.model.bench import Answer, Case, CheckResult, Configuration, PlannedTrial, Target
from flowgauge.model.play import Failure, Usage
from flowgauge.run.trial_budget import TrialBudget
from flowgauge.run.trial_cache import AnswerCache, cache_key
from flowgauge.run.trial_job import Score


def judging(cost_usd: float | None) -> Score:
    """A judge that costs so much each time."""
    usage = Usage(tokens_prompt=1, cost_usd=cost_usd, cost_source="unpriced" if cost_usd is None else "computed")
    return lambda *_: Verdict(checks=(CheckResult(name="tone", type="judge", passed=True, usage=usage),))


# ── money ───────────────────────────────────────────────────────────────────


def test_no_trial_starts_that_would_go_past_the_budget() -> None:
    stored = run(nap, 1000, budget=TrialBudget(0.1, estimate=lambda _: 0.01))
    assert stored.outcome.status == "budget_exceeded"
    assert stored.outcome.recorded == 10
    assert stored.outcome.spent_usd == pytest.approx(0.1)


def test_without_an_estimate_trials_are_expected_to_cost_what_others_did() -> None:
    stored = run(nap, 1000, most=1, budget=TrialBudget(0.055))
    assert stored.outcome.recorded == 5


def test_what_was_spent_before_counts() -> None:
    assert run(nap, 10, budget=TrialBudget(0.1, spent_usd=0.1)).outcome.recorded == 0


def test_trials_without_a_price_are_counted_and_not_bounded() -> None:
    async def priceless(*_: object) -> Answer:
        return Answer(status="success", cost_usd=None, cost_source="unpriced")

    outcome = run(priceless, 7, budget=TrialBudget(0.01)).outcome
    assert (outcome.status, outcome.recorded, outcome.unpriced) == ("finished", 7, 7)


def test_judges_are_paid_from_the_same_budget() -> None:
    budget = TrialBudget(0.1)
    outcome = run(nap, 1000, most=1, budget=budget, score=judging(0.04)).outcome
    assert (outcome.status, outcome.recorded) == ("budget_exceeded", 2)
    assert budget.spent_usd == pytest.approx(0.1)


def test_a_judge_without_a_price_is_counted_and_the_target_still_paid() -> None:
    budget = TrialBudget(1.0)
    run(nap, 3, budget=budget, score=judging(None))
    assert budget.unpriced == 3
    assert budget.spent_usd == pytest.approx(0.03)


# ── the cache ───────────────────────────────────────────────────────────────


def test_an_answer_from_the_cache_is_marked_and_costs_nothing() -> None:
    kept = Kept()
    first = run(count=3, cache=AnswerCache(kept.get, kept.put))
    again = run(hang, 3, cache=AnswerCache(kept.get, kept.put), budget=TrialBudget(0.001, estimate=lambda _: 0.0))
    assert [trial.answer.cached for trial in first.trials] == [False] * 3
    assert [trial.answer.cached for trial in again.trials] == [True] * 3
    assert again.trials[0].answer.duration_ms == first.trials[0].answer.duration_ms
    assert again.outcome.spent_usd == 0.0


def test_the_judge_of_an_answer_from_the_cache_is_paid() -> None:
    kept, budget = Kept(), TrialBudget(1.0)
    run(count=3, cache=AnswerCache(kept.get, kept.put))
    run(hang, 3, cache=AnswerCache(kept.get, kept.put), budget=budget, score=judging(0.04))
    assert budget.spent_usd == pytest.approx(0.12)


def test_a_failed_answer_is_not_kept() -> None:
    async def refuse(*_: object) -> Answer:
        raise Failed(Failure(kind="connection", message="gone"))

    kept = Kept()
    run(refuse, cache=AnswerCache(kept.get, kept.put))
    assert kept.answers == {}


def test_a_cache_key_names_all_that_the_answer_depends_on() -> None:
    first = bench()
    config, other = first.configs
    case = first.cases[0]
    planned = PlannedTrial("r", 0, "c", "k", 0)
    target = Target(kind="python", reference="m:f", name="f", content="def f(): pass")
    keys = [
        cache_key(first, config, case, planned),
        cache_key(first, other, case, planned),
        cache_key(first, config, Case(name="k", inputs={"a": 2}), planned),
        cache_key(first, config, case, PlannedTrial("r", 0, "c", "k", 1)),
        cache_key(bench(seed=1), config, case, planned),
        cache_key(msgspec.structs.replace(first, target=target), config, case, planned),
    ]
    assert len(set(keys)) == len(keys)
    elsewhere = PlannedTrial("other run", 9, "renamed", "renamed", 0)
    assert cache_key(first, Configuration(name="renamed"), Case(name="renamed", inputs={"a": 1}), elsewhere) == keys[0]
