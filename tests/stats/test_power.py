"""Numbers of runs are those of the non-central t and of the exact binomial; calibration counts what a judge says."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from flowgauge.stats.power import (
    calibrate,
    cases_for_means,
    log_spread,
    power_of_cases,
    power_of_means,
    power_of_rates,
    runs_for_means,
    runs_for_rates,
)


@given(st.integers(2, 200), st.floats(0.0, 3.0), st.sampled_from([0.05, 0.005]))
def test_the_power_of_a_t_test_is_that_of_the_non_central_t(runs: int, difference: float, alpha: float) -> None:
    degrees = 2 * runs - 2
    theirs = stats.nct.sf(stats.t.isf(alpha, degrees), degrees, difference * math.sqrt(runs / 2))
    assert power_of_means(runs, difference, 1.0, alpha=alpha) == pytest.approx(float(theirs), abs=0.01)


def test_the_power_over_cases_is_that_of_the_non_central_t() -> None:
    theirs = stats.nct.sf(stats.t.isf(0.05, 9), 9, 0.5 * math.sqrt(10))
    assert power_of_cases(10, 0.5, 1.0) == pytest.approx(float(theirs), abs=0.001)


@pytest.mark.parametrize("power_of", [power_of_means, power_of_cases])
def test_one_run_finds_nothing(power_of: object) -> None:
    assert callable(power_of)
    assert power_of(1, 5.0, 1.0) == 0.0


@pytest.mark.parametrize(
    ("difference", "runs"),
    [
        pytest.param(1.0, 14, id="one spread apart, as the tables have it"),
        pytest.param(0.5, 51, id="half a spread"),
        pytest.param(0.05, 4947, id="a twentieth"),
    ],
)
def test_the_runs_for_80_percent(difference: float, runs: int) -> None:
    assert runs_for_means(difference, 1.0) == pytest.approx(runs, abs=1)


@given(st.floats(0.05, 3.0), st.floats(0.1, 2.0), st.sampled_from([0.5, 0.8, 0.95]))
def test_the_runs_are_the_fewest_that_reach_the_power(difference: float, spread: float, power: float) -> None:
    for fewest, power_of in ((runs_for_means, power_of_means), (cases_for_means, power_of_cases)):
        runs = fewest(difference, spread, power=power)
        assert runs is not None
        assert power_of(runs, difference, spread) >= power
        assert runs == 2 or power_of(runs - 1, difference, spread) < power


@pytest.mark.parametrize(
    ("difference", "spread", "runs"),
    [
        pytest.param(0.0, 1.0, None, id="no difference is never found"),
        pytest.param(1e-9, 1.0, None, id="nor is one beyond all means"),
        pytest.param(0.1, 0.0, 2, id="without spread two will do"),
    ],
)
def test_the_ends_of_the_scale(difference: float, spread: float, runs: int | None) -> None:
    assert runs_for_means(difference, spread) == runs


@pytest.mark.parametrize(("runs", "rate", "lower"), [(5, 1.0, 0.4), (12, 0.9, 0.5), (30, 0.9, 0.7)])
def test_the_power_of_fisher_is_the_sum_over_all_tables(runs: int, rate: float, lower: float) -> None:
    total = 0.0
    for ours in range(runs + 1):
        for theirs in range(runs + 1):
            if stats.fisher_exact([[ours, runs - ours], [theirs, runs - theirs]], "less").pvalue <= 0.05 + 1e-12:
                total += float(stats.binom.pmf(ours, runs, lower) * stats.binom.pmf(theirs, runs, rate))
    assert power_of_rates(runs, rate, lower) == pytest.approx(total, rel=1e-6)


def test_beyond_sixty_runs_the_approximation_takes_over_smoothly() -> None:
    assert power_of_rates(60, 0.9, 0.7) == pytest.approx(power_of_rates(61, 0.9, 0.7), abs=0.02)


def test_runs_for_rates() -> None:
    assert runs_for_rates(0.9, 0.7) == pytest.approx(57, abs=3)
    assert runs_for_rates(0.7, 0.9) is None
    assert runs_for_rates(0.7, 0.7) is None


def test_the_spread_of_logarithms_is_that_of_log_normal_values() -> None:
    chance = random.Random(1)
    values = [chance.lognormvariate(0, log_spread(0.5)) for _ in range(20_000)]
    mean = sum(values) / len(values)
    assert math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)) / mean == pytest.approx(0.5, rel=0.03)


ByCase = Mapping[str, Sequence[float]]


def _larger_mean(candidate: ByCase, baseline: ByCase) -> bool:
    ours, theirs = (sum(map(sum, side.values())) for side in (candidate, baseline))
    return ours > 1.1 * theirs


def test_a_judge_is_tried_where_nothing_changed_and_on_every_effect() -> None:
    chance = random.Random(2)
    samples = {case: [chance.lognormvariate(0, 0.2) for _ in range(30)] for case in "ab"}
    found = calibrate(samples, _larger_mean, runs=5, effects=(0.0, 0.1, 0.5), pairs=300, seed=1)
    assert [one.effect for one in found] == [0.0, 0.1, 0.5]
    assert found[0].rate < found[1].rate < found[2].rate
    assert found[1].rate == pytest.approx(0.5, abs=0.1)
    for one in found:
        assert one.rate == one.alarms / one.trials
        assert one.interval[0] <= one.rate <= one.interval[1]
    assert found == calibrate(samples, _larger_mean, runs=5, effects=(0.0, 0.1, 0.5), pairs=300, seed=1)


def test_a_judge_sees_as_many_runs_of_every_case_as_asked_and_cases_without_any_are_left_out() -> None:
    seen = []

    def judge(candidate: ByCase, baseline: ByCase) -> bool:
        seen.append({case: (len(values), len(baseline[case])) for case, values in candidate.items()})
        return False

    calibrate({"a": [1.0, 2.0], "b": [3.0], "none": []}, judge, runs=4, effects=(0.0,), pairs=2)
    assert seen == [{"a": (4, 4), "b": (4, 4)}] * 2


def test_an_effect_can_be_anything() -> None:
    def flip(value: float, effect: float, chance: random.Random) -> float:
        return 0.0 if chance.random() < effect else value

    found = calibrate({"": [1.0]}, lambda ours, theirs: sum(ours[""]) < sum(theirs[""]), runs=10, effects=(0.0, 0.5), pairs=50, change=flip)
    assert found[0].alarms == 0
    assert found[1].alarms >= 48
