"""Who leads, and whether that is more than chance."""

from __future__ import annotations

import random

import pytest
from tests.aggregate.bench_rows import failed, record, row

from flowgauge.aggregate.rows import TrialRow
from flowgauge.aggregate.summary import summarise
from flowgauge.model.benchmark import BenchSummary


def times(config: str, *durations: float) -> list[TrialRow]:
    return [row(config, duration_ms=duration) for duration in durations]


def of(*rows: TrialRow) -> BenchSummary:
    return summarise(record("a", "b", "c"), rows)


def test_a_clear_lead_is_significant() -> None:
    lead = of(*times("b", *range(10, 20)), *times("a", *range(100, 110))).fastest
    assert lead is not None
    assert (lead.config, lead.runner_up, lead.significant) == ("b", "a", True)
    assert lead.p_value == pytest.approx(2 / 184756)


def test_one_sample_proves_nothing() -> None:
    lead = of(*times("b", 1.0), *times("a", *range(100, 140))).fastest
    assert lead is not None
    assert (lead.config, lead.significant, lead.p_value) == ("b", False, None)


def test_a_tie_goes_by_name_and_is_no_lead() -> None:
    lead = of(*times("b", *[5.0] * 30), *times("a", *[5.0] * 30)).fastest
    assert lead is not None
    assert (lead.config, lead.runner_up, lead.significant) == ("a", "b", False)


def test_a_median_ahead_of_ranks_that_say_the_opposite_is_no_evidence() -> None:
    lead = of(*times("a", *[10.0] * 11, *[100.0] * 10), *times("b", *[11.0] * 11, *[1.0] * 10)).fastest
    assert lead is not None
    assert (lead.config, lead.significant, lead.p_value) == ("a", False, 1.0)


def test_the_only_one_leads_nobody() -> None:
    lead = of(*times("c", 1.0, 2.0)).fastest
    assert lead is not None
    assert (lead.config, lead.runner_up, lead.runner_up_value, lead.significant) == ("c", "", None, False)


def test_an_unpriced_configuration_is_never_the_cheapest() -> None:
    summary = of(row("a", cost_usd=None, cost_source="unpriced"), row("a", cost_usd=0.0), row("b", cost_usd=5.0))
    assert summary.cheapest is not None
    assert (summary.cheapest.config, summary.cheapest.runner_up) == ("b", "")


def test_what_never_succeeds_is_neither_cheap_nor_fast_nor_on_the_front() -> None:
    summary = of(failed("code_error", config="a", cost_usd=0.0, duration_ms=1.0), row("b", cost_usd=5.0))
    assert summary.cheapest is not None
    assert summary.fastest is not None
    assert (summary.cheapest.config, summary.fastest.config, summary.pareto) == ("b", "b", ("b",))


def test_nothing_leads_where_nothing_ran() -> None:
    summary = of()
    assert (summary.cheapest, summary.fastest, summary.most_reliable, summary.best_score, summary.pareto) == (None, None, None, None, ())


@pytest.mark.parametrize(
    ("failures", "significant"), [pytest.param(2, False, id="8 of 10 against 10"), pytest.param(6, True, id="4 of 10 against 10")]
)
def test_reliability_goes_by_fisher(failures: int, significant: bool) -> None:
    rows = [row("a")] * (10 - failures) + [failed("code_error", config="a")] * failures + [row("b")] * 10
    lead = of(*rows).most_reliable
    assert lead is not None
    assert (lead.config, lead.value, lead.significant) == ("b", 1.0, significant)


@pytest.mark.parametrize("configs", ["a", "ab"], ids=["alone", "with another"])
def test_who_never_succeeds_is_not_the_most_reliable(configs: str) -> None:
    assert of(*[failed("code_error", config=config) for config in configs for _ in range(5)]).most_reliable is None


def test_who_never_succeeds_is_still_the_next_of_who_does() -> None:
    lead = of(*[failed("code_error", config="a")] * 10, *[row("b")] * 10).most_reliable
    assert lead is not None
    assert (lead.config, lead.runner_up, lead.runner_up_value, lead.significant) == ("b", "a", 0.0, True)


def test_where_no_check_passes_nothing_is_best() -> None:
    assert of(*[row("a", passed=0)] * 5, *[row("b", passed=0)] * 5).best_score is None


def test_without_scores_the_best_is_who_passes_most() -> None:
    lead = of(*[row("a", passed=1)] * 9, *[row("b", passed=0)] * 9, row("c")).best_score
    assert lead is not None
    assert (lead.config, lead.value, lead.runner_up, lead.significant) == ("a", 1.0, "b", True)


def test_with_scores_the_best_has_the_highest_mean() -> None:
    rows = [row("a", passed=1, scores={"q": i / 10}) for i in range(5)] + [row("b", passed=0, scores={"q": 1 + i}) for i in range(5)]
    lead = of(*rows).best_score
    assert lead is not None
    assert (lead.config, lead.value, lead.significant) == ("b", 3.0, True)


def test_without_checks_and_scores_nothing_is_best() -> None:
    assert of(row("a"), row("b")).best_score is None


def test_the_front_weighs_quality_cost_and_latency() -> None:
    rows = [
        row("a", passed=1, cost_usd=1.0, duration_ms=100.0),
        row("b", passed=0, cost_usd=0.1, duration_ms=50.0),
        row("b", passed=1, cost_usd=0.1, duration_ms=50.0),
        row("c", passed=1, cost_usd=2.0, duration_ms=100.0),
    ]
    assert of(*rows).pareto == ("a", "b")


def test_equal_configurations_lead_by_chance_in_about_five_of_a_hundred_benches_at_most() -> None:
    chance = random.Random(17)
    alarms = 0
    for _ in range(300):
        rows = [row(config, duration_ms=chance.lognormvariate(4, 0.5)) for config in "abc" for _ in range(12)]
        lead = of(*rows).fastest
        assert lead is not None
        alarms += lead.significant
    assert alarms <= 300 * 0.05 + 8


def runs_of(config: str, *, ok: int, bad: int, usd: float) -> list[TrialRow]:
    """Costs differ a little: every run of another configuration is dearer or cheaper than each of these."""
    costs = [usd * (1 + 0.001 * number) for number in range(ok + bad)]
    return [row(config, cost_usd=cost) for cost in costs[:ok]] + [
        failed("wrong_answer", config=config, cost_usd=cost) for cost in costs[ok:]
    ]


def test_cheap_runs_that_often_fail_are_no_significant_lead_a_success() -> None:
    """Each run of a costs less than any of b, by ranks beyond doubt; a success of a costs nearly the same."""
    lead = of(*runs_of("a", ok=10, bad=10, usd=0.49), *runs_of("b", ok=20, bad=0, usd=1.0)).cheapest
    assert lead is not None
    assert (lead.config, lead.significant) == ("a", False)
    assert lead.p_value is not None
    assert lead.p_value > 0.5


def test_a_clear_lead_in_cost_a_success_is_significant_though_runs_failed() -> None:
    lead = of(*runs_of("a", ok=16, bad=4, usd=0.1), *runs_of("b", ok=15, bad=5, usd=1.0)).cheapest
    assert lead is not None
    assert (lead.config, lead.significant) == ("a", True)


def test_so_few_successes_that_resamples_have_none_prove_nothing() -> None:
    lead = of(*runs_of("a", ok=1, bad=3, usd=0.01), *runs_of("b", ok=4, bad=0, usd=1.0)).cheapest
    assert lead is not None
    assert (lead.config, lead.significant, lead.p_value) == ("a", False, None)


def test_a_lead_whose_cost_is_partly_unknown_is_never_significant() -> None:
    died = failed("timeout", config="a", cost_usd=None, cost_source="unpriced", tokens_prompt=0, tokens_completion=0)
    lead = of(*runs_of("a", ok=20, bad=0, usd=0.1), died, *runs_of("b", ok=20, bad=0, usd=1.0)).cheapest
    assert lead is not None
    assert (lead.config, lead.significant, lead.p_value) == ("a", False, None)


def test_thousands_of_runs_are_told_apart_too() -> None:
    lead = of(*runs_of("a", ok=1800, bad=300, usd=0.1), *runs_of("b", ok=1500, bad=600, usd=1.0)).cheapest
    assert lead is not None
    assert (lead.config, lead.significant) == ("a", True)
