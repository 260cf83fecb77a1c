"""A ratio of means is tested as scipy would test the difference, and never with less care than either t test asks for."""

from __future__ import annotations

import math
import random
from array import array

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from flowgauge.stats import ratio_means

WHOLE = st.integers(-20, 20).map(float)
SIDE = st.lists(WHOLE, min_size=2, max_size=15)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # scipy, of a side without spread
@given(SIDE, SIDE, st.sampled_from([1.0, 1.05, 0.95]))
def test_the_larger_p_of_welch_and_student_counts(first: list[float], second: list[float], bound: float) -> None:
    assume(len(set(first)) > 1 or len(set(second)) > 1)
    moved = [bound * value for value in second]
    found = ratio_means.of_samples(first, second)
    for mine, side in ((found.above, "greater"), (found.below, "less")):
        theirs = [stats.ttest_ind(first, moved, equal_var=equal, alternative=side).pvalue for equal in (True, False)]
        assert mine(bound) == pytest.approx(float(max(theirs)), rel=1e-6, abs=1e-9)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
@given(st.lists(st.tuples(WHOLE, WHOLE), min_size=2, max_size=15))
def test_of_cases_the_paired_test_counts(pairs: list[tuple[float, float]]) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    assume(len({one - other for one, other in pairs}) > 1)
    theirs = stats.ttest_rel(first, second, alternative="greater").pvalue
    assert ratio_means.of_cases(first, second).above(1.0) == pytest.approx(float(theirs), rel=1e-6, abs=1e-9)


def test_the_interval_is_all_ratios_that_the_test_does_not_reject() -> None:
    chance = random.Random(4)
    first, second = [chance.gauss(12, 2) for _ in range(9)], [chance.gauss(10, 3) for _ in range(14)]
    found = ratio_means.of_samples(first, second)
    bounds = found.interval()
    assert bounds is not None
    assert found.ratio is not None
    assert bounds[0] < found.ratio < bounds[1]
    # Welch's degrees of freedom depend on the ratio a little, so its bounds are good to three digits.
    assert found.above(bounds[0]) == pytest.approx(0.025, rel=0.02)
    assert found.below(bounds[1]) == pytest.approx(0.025, rel=0.02)


def test_the_interval_of_cases_is_fiellers() -> None:
    chance = random.Random(5)
    second = [chance.gauss(10, 1) for _ in range(12)]
    first = [1.2 * value + chance.gauss(0, 0.3) for value in second]
    found = ratio_means.of_cases(first, second)
    bounds = found.interval()
    assert bounds is not None
    assert (found.above(bounds[0]), found.below(bounds[1])) == pytest.approx((0.025, 0.025), rel=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "ratio", "has_interval"),
    [
        pytest.param([1.0, 2.0], [-1.0, -2.0], None, False, id="a negative mean has no ratio"),
        pytest.param([1.0, 2.0], [-1.0, 1.0], None, False, id="nor has one of zero"),
        pytest.param([1.0, 2.0, 1.5], [-1.0, 2.0, 0.5], 3.0, False, id="a mean near zero has a ratio without an interval"),
        pytest.param([2.0, 2.1, 2.2], [1.0, 1.1, 1.2], 2.1 / 1.1, True, id="clear means have both"),
    ],
)
def test_what_cannot_be_known_is_none(first: list[float], second: list[float], ratio: float | None, has_interval: bool) -> None:
    found = ratio_means.of_samples(first, second)
    assert found.ratio == (None if ratio is None else pytest.approx(ratio))
    assert (found.interval() is not None) is has_interval
    assert (found.error() is None) is (ratio is None)


def test_sides_without_spread_are_told_apart_exactly() -> None:
    found = ratio_means.of_samples([2.0, 2.0], [1.0, 1.0])
    assert (found.above(1.5), found.below(1.5), found.above(2.0)) == (0.0, 1.0, 1.0)


def test_a_million_values_have_the_moments_that_a_few_have() -> None:
    values = array("d", np.random.default_rng(1).lognormal(0, 0.5, 300_000).tobytes())
    n, mean, variance = ratio_means.moments(values)
    slow = math.fsum(values) / n
    assert mean == pytest.approx(slow, rel=1e-12)
    assert variance == pytest.approx(math.fsum((value - slow) ** 2 for value in values) / (n - 1), rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [pytest.param(5, 30, id="a small candidate"), pytest.param(30, 5, id="a small baseline")])
@pytest.mark.parametrize("side", ["above", "below"])
def test_unequal_sides_of_skewed_values_raise_no_false_alarms(n: int, m: int, side: str) -> None:
    """Welch alone calls up to 31 % of these different."""
    chance = random.Random(9)
    alarms = 0
    for _ in range(600):
        first, second = ([float(chance.random() < 0.8) for _ in range(size)] for size in (n, m))
        alarms += getattr(ratio_means.of_samples(first, second), side)(1.0) <= 0.05
    assert alarms <= 0.065 * 600
