"""Resampled intervals are repeatable, cover what they should, and are not made of nothing."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy import stats

from flowgauge.stats.bootstrap import bca, bca_p_value, grouped_jackknife, ratio_of_means
from flowgauge.stats.describe import mean


def test_the_same_seed_gives_the_same_bounds() -> None:
    values = [1.0, 2.0, 4.0, 8.0, 16.0]
    assert bca(values, mean, seed=1) == bca(values, mean, seed=1)
    assert bca(values, mean, seed=1) != bca(values, mean, seed=2)


def test_bounds_of_a_skewed_mean_are_near_scipys() -> None:
    chance = random.Random(5)
    values = [chance.expovariate(1) for _ in range(60)]
    theirs = stats.bootstrap((values,), np.mean, n_resamples=9999, rng=np.random.default_rng(1)).confidence_interval
    assert bca(values, mean, resamples=9999) == pytest.approx((theirs.low, theirs.high), rel=0.03)


def test_a_ratio_is_covered_about_95_times_in_100() -> None:
    chance = random.Random(11)
    hits = 0
    for seed in range(200):
        pairs = [(chance.gauss(2, 0.5), chance.gauss(1, 0.2)) for _ in range(40)]
        bounds = bca(pairs, ratio_of_means, resamples=400, seed=seed)
        assert bounds is not None
        hits += bounds[0] <= 2 <= bounds[1]
    assert 180 <= hits <= 198


def test_leaving_groups_out_covers_a_mean_about_95_times_in_100() -> None:
    chance = random.Random(13)
    hits = 0
    for _ in range(400):
        bounds = grouped_jackknife([chance.expovariate(1) for _ in range(400)], mean)
        assert bounds is not None
        hits += bounds[0] <= 1 <= bounds[1]
    assert 368 <= hits <= 392


def test_fewer_cases_than_groups_have_no_bounds() -> None:
    assert grouped_jackknife([1.0] * 19, mean) is None


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param([], id="no case"),
        pytest.param([(1.0, 2.0)], id="one case"),
        pytest.param([(1.0, 0.0), (2.0, 0.0)], id="an undefined ratio"),
        pytest.param([(1.0, 0.0), (2.0, 1.0)], id="undefined in too many resamples"),
    ],
)
def test_no_bounds_without_something_to_resample(cases: list[tuple[float, float]]) -> None:
    assert bca(cases, ratio_of_means) is None


def test_what_never_changes_has_bounds_without_width() -> None:
    assert bca([3.0, 3.0, 3.0], mean) == (3.0, 3.0)


def test_equal_ratios_differ_by_chance_about_5_times_in_100() -> None:
    chance = random.Random(19)
    alarms = 0
    for seed in range(200):
        first, second = ([(chance.lognormvariate(0, 0.5), float(chance.random() < 0.7)) for _ in range(40)] for _ in range(2))
        p = bca_p_value(first, second, ratio_of_means, resamples=400, seed=seed)
        assert p is not None
        alarms += p < 0.05
    assert 2 <= alarms <= 20


def test_a_difference_is_as_sure_from_either_side() -> None:
    first, second = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    one, other = bca_p_value(first, second, mean), bca_p_value(second, first, mean)
    assert one == pytest.approx(other, abs=0.01)
    assert one is not None
    assert one < 0.05


def test_one_value_a_side_has_no_p() -> None:
    assert bca_p_value([1.0], [2.0, 3.0], mean) is None
