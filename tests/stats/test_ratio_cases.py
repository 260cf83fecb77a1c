"""One number a case, however many samples there are, and whatever they are kept in."""

from __future__ import annotations

import math
import random
from array import array
from itertools import product
from statistics import fmean, median, variance

import numpy as np
import pytest

from flowgauge.stats import ratio_cases, ratio_typical
from flowgauge.stats.ratio_cases import Cases, log_ratios


def cases(sizes: list[int], seed: int) -> Cases:
    chance = random.Random(seed)
    return Cases([array("d", [chance.lognormvariate(0, 0.5) for _ in range(size)]) for size in sizes])


SIZES = pytest.mark.parametrize(
    "sizes", [pytest.param([3] * 6, id="the same number each"), pytest.param([1, 2, 5, 4], id="different numbers")]
)


@SIZES
@pytest.mark.parametrize("packed", [False, True])
def test_a_case_has_its_mean_and_its_median(sizes: list[int], packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratio_cases, "_WORTH_NUMPY", 0 if packed else 10**9)
    side = cases(sizes, 1)
    assert side.means == pytest.approx([fmean(group) for group in side.groups])
    assert side.medians == pytest.approx([median(group) for group in side.groups])
    assert (side.low, side.high) == (min(map(min, side.groups)), max(map(max, side.groups)))


def test_few_long_cases_are_packed_as_many_short_ones() -> None:
    chance = np.random.default_rng(1)
    long = Cases([array("d", chance.normal(size=150_000).tobytes()) for _ in range(2)])
    assert long.means == pytest.approx([fmean(group) for group in long.groups], abs=1e-9)
    assert long.medians == pytest.approx([median(group) for group in long.groups])


@SIZES
def test_the_ratio_of_a_case_is_the_median_of_all_ratios(sizes: list[int]) -> None:
    first, second = cases(sizes, 1), cases(sizes, 2)
    expected = [median(math.log(x / y) for x, y in product(one, other)) for one, other in zip(first.groups, second.groups, strict=True)]
    assert log_ratios(first, second) == pytest.approx(expected)


def test_very_many_samples_go_by_medians(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratio_cases, "_WORTH_NUMPY", 1)
    first, second = cases([5, 7], 1), cases([4, 5], 2)
    assert log_ratios(first, second) == pytest.approx(
        [math.log(median(one) / median(other)) for one, other in zip(first.groups, second.groups, strict=True)]
    )


def test_the_noise_within_cases_is_known_where_a_case_ran_twice() -> None:
    side = Cases([[1.0, 3.0], [5.0], [2.0, 4.0, 9.0]])
    assert side.within_variance(logs=False) == pytest.approx((variance([1, 3]) / 2 + variance([2, 4, 9]) / 3) / 2)
    assert Cases([[1.0], [2.0]]).within_variance(logs=True) is None


@pytest.mark.parametrize(
    ("n", "test"),
    [pytest.param(4, "t test of logarithms", id="few runs"), pytest.param(5, "rank test (Mann-Whitney)", id="enough for ranks")],
)
def test_ranks_need_five_values_a_side(n: int, test: str) -> None:
    chance = random.Random(1)
    first, second = ([chance.lognormvariate(0, 0.2) for _ in range(size)] for size in (n, 9))
    found, told = ratio_typical.of_samples(first, second)
    bounds = found.interval()
    assert told == test
    assert bounds is not None
    assert bounds[0] < found.ratio < bounds[1]
    assert found.above(bounds[0]) == pytest.approx(0.025, abs=0.01)


@pytest.mark.parametrize(
    ("n", "tied", "test"),
    [(19, False, "t test over cases"), (20, False, "signed rank test (Wilcoxon)"), (20, True, "t test over cases")],
)
def test_signed_ranks_need_twenty_cases_that_differ(n: int, tied: bool, test: str) -> None:
    chance = random.Random(2)
    found, told = ratio_typical.of_log_ratios([chance.gauss(0.2, 0.1) for _ in range(n)], tied=tied)
    assert told == test
    assert found.above(1.05) < 0.001
    assert found.below(1.5) < 0.001
    assert found.ratio == pytest.approx(math.exp(0.2), rel=0.05)


def test_logarithms_without_spread_are_told_apart_exactly() -> None:
    found, _ = ratio_typical.of_log_ratios([math.log(1.1)] * 3, tied=False)
    assert (found.above(1.05), found.below(1.05)) == (0.0, 1.0)
