"""Harm of a pass rate beyond the tolerance is found or excluded no more often than it may be, and cases do not add up to an alarm."""

from __future__ import annotations

import math
import random
from functools import cache

import pytest
from tests.compare.sides import counts

from flowgauge.compare.family import chance_of_any
from flowgauge.compare.rate_harm import Harm, rate_harm, runs_to_decide
from flowgauge.compare.rates import compare_rates, rate_of
from flowgauge.model.metric import CaseCounts
from flowgauge.model.verdict import Tier

ALPHA, TOLERANCE = 0.05, 0.05


@cache
def _harm(count: int, total: int, other: int, other_total: int) -> Harm:
    return rate_harm(rate_of(count, total), rate_of(other, other_total), tolerance=TOLERANCE, alpha=ALPHA)


@pytest.mark.parametrize(
    ("table", "harm"),
    [
        pytest.param((0, 3, 3, 3), Harm(found=True, excluded=False), id="all to none of three"),
        pytest.param((1, 3, 3, 3), Harm(found=False, excluded=False), id="all to one of three is open"),
        pytest.param(
            (400, 500, 450, 500), Harm(found=True, excluded=False), id="ten points of five hundred runs: stable by tier, harm all the same"
        ),
        pytest.param((3, 3, 3, 3), Harm(found=False, excluded=False), id="three of three prove nothing"),
        pytest.param((51, 51, 51, 51), Harm(found=False, excluded=False), id="fifty-one of fifty-one are one too few"),
        pytest.param((52, 52, 52, 52), Harm(found=False, excluded=True), id="fifty-two of fifty-two exclude five percent"),
        pytest.param((9, 9, 0, 9), Harm(found=False, excluded=False), id="fewer than ten runs exclude nothing"),
        pytest.param((10, 10, 0, 10), Harm(found=False, excluded=True), id="much better"),
        pytest.param((0, 0, 3, 3), Harm(found=False, excluded=False), id="no run"),
        pytest.param((4980, 5000, 5000, 5000), Harm(found=False, excluded=True), id="sure harm within the tolerance is none"),
    ],
)
def test_harm(table: tuple[int, int, int, int], harm: Harm) -> None:
    assert _harm(*table) == harm


def _binomial(n: int, p: float) -> list[float]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize("n", [3, 5, 10, 30])
@pytest.mark.parametrize("rate", [0.5, 0.7, 0.8, 0.9, 0.99])
def test_errors_are_no_more_than_one_in_twenty(n: int, rate: float) -> None:
    """Enumerated, not simulated: equal rates are called harm, and harm of exactly the tolerance is called excluded."""
    same, worse = _binomial(n, rate), _binomial(n, rate * (1 - TOLERANCE))
    alarm = sum(same[i] * same[j] for i in range(n + 1) for j in range(n + 1) if _harm(i, n, j, n).found)
    missed = sum(worse[i] * same[j] for i in range(n + 1) for j in range(n + 1) if _harm(i, n, j, n).excluded)
    assert alarm <= 0.05
    assert missed <= 0.056


@pytest.mark.parametrize(
    ("candidate", "baseline"),
    [
        pytest.param((10, 10), (10, 10), id="all pass"),
        pytest.param((18, 20), (19, 20), id="slightly worse"),
        pytest.param((15, 20), (18, 20), id="worse"),
    ],
)
def test_the_runs_that_would_decide_do(candidate: tuple[int, int], baseline: tuple[int, int]) -> None:
    rates = rate_of(*candidate), rate_of(*baseline)
    runs = runs_to_decide(*rates, tolerance=TOLERANCE, alpha=ALPHA)
    assert runs is not None
    scaled = [rate_of(round(rate.count / rate.total * runs), runs) for rate in rates]
    assert any(rate_harm(*scaled, tolerance=TOLERANCE, alpha=ALPHA))
    assert not any(rate_harm(*rates, tolerance=TOLERANCE, alpha=ALPHA))


def test_no_number_of_runs_tells_a_rate_at_the_very_tolerance() -> None:
    assert runs_to_decide(rate_of(95, 100), rate_of(100, 100), tolerance=TOLERANCE, alpha=ALPHA) is None
    assert runs_to_decide(rate_of(0, 0), rate_of(1, 1), tolerance=TOLERANCE, alpha=ALPHA) is None


def test_cases_that_cannot_look_bad_do_not_weaken_one_that_does() -> None:
    steady = {f"steady {place}": counts(3, 3) for place in range(1000)}
    found = compare_rates({**steady, "broken": counts(0, 3)}, {**steady, "broken": counts(3, 3)})
    assert found.cases[0].key == "broken"
    assert chance_of_any(found.cases, frozenset({"hard_regression"}), 0.05) == pytest.approx(0.05)


def test_among_flaky_cases_one_that_looks_broken_is_likely() -> None:
    """Of 3 passes in 6 runs, all on the one side, each of 20 cases had a chance of 1/20."""
    flaky = {f"flaky {place}": counts(1, 3) for place in range(19)}
    other = {f"flaky {place}": counts(2, 3) for place in range(19)}
    found = compare_rates({**flaky, "broken": counts(0, 3)}, {**other, "broken": counts(3, 3)})
    assert chance_of_any(found.cases, frozenset({"hard_regression"}), 0.05) == pytest.approx(1.0)


def test_a_bench_of_flaky_cases_alarms_no_more_than_one_time_in_twenty() -> None:
    """30 cases of 3 to 5 runs and any pass rate, both sides alike, 400 times."""
    chance = random.Random(11)
    tier: frozenset[Tier] = frozenset({"hard_regression"})
    alarms = uncorrected = 0
    for _ in range(400):
        sides: tuple[dict[str, CaseCounts], dict[str, CaseCounts]] = ({}, {})
        for case in range(30):
            p, runs = chance.choice((0.5, 0.7, 0.8, 0.9)), chance.choice((3, 5))
            for held in sides:
                held[str(case)] = counts(sum(chance.random() < p for _ in range(runs)), runs)
        found = compare_rates(*sides)
        hard = [one for one in found.cases if one.tier == "hard_regression"]
        uncorrected += bool(hard)
        alarms += any(chance_of_any(found.cases, tier, one.p_value or 0.0) <= 0.05 + 1e-12 for one in hard)
    assert uncorrected > 30
    assert alarms <= 20
