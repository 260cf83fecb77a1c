"""Intervals hold what they promise, and none is made of too little."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from flowgauge.stats.intervals import mean_interval, quantile_interval, wilson


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(table: tuple[int, int]) -> None:
    count, total = table
    theirs = stats.binomtest(count, total).proportion_ci(method="wilson")
    low, high = wilson(count, total, z=1.959963984540054)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= low <= count / total <= high <= 1


def test_a_rate_of_no_trial_may_be_anything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_wilson_by_hand() -> None:
    assert wilson(9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-4)


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)


@given(st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=2, max_size=30))
def test_the_interval_of_a_mean_is_scipys(values: list[float]) -> None:
    spread = float(stats.sem(values))
    if spread < 1e-9:
        return
    theirs = stats.t.interval(0.95, len(values) - 1, loc=sum(values) / len(values), scale=spread)
    assert mean_interval(values) == pytest.approx(tuple(map(float, theirs)), rel=1e-6, abs=1e-6)


def test_one_value_says_nothing_about_its_mean() -> None:
    assert mean_interval([5.0]) is None


@pytest.mark.parametrize(("share", "needed"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368)])
def test_a_quantile_needs_so_many_values(share: float, needed: int) -> None:
    assert quantile_interval([float(i) for i in range(needed - 1)], share) is None
    assert quantile_interval([float(i) for i in range(needed)], share) is not None


def test_the_median_of_six_lies_between_the_ends() -> None:
    assert quantile_interval([1.0, 2.0, 3.0, 4.0, 5.0, 9.0], 0.5) == (1.0, 9.0)


@pytest.mark.parametrize(("share", "n"), [(0.5, 25), (0.9, 60), (0.95, 120)])
def test_the_true_quantile_is_inside_in_95_of_100_samples(share: float, n: int) -> None:
    chance = random.Random(7)
    hits = 0
    for _ in range(2000):
        found = quantile_interval(sorted(chance.random() for _ in range(n)), share)
        assert found is not None
        hits += found[0] <= share <= found[1]
    assert hits >= 2000 * 0.94
