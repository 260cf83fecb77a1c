"""Tests of difference agree with exact enumeration and with scipy."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from flowgauge.stats import two_samples
from flowgauge.stats.two_samples import fisher_greater, fisher_less, fisher_two_sided, mann_whitney, welch

SIDE = st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
WHOLE = st.integers(-20, 20).map(float)


@pytest.mark.parametrize(
    ("table", "p"),
    [
        pytest.param((3, 3, 0, 3), Fraction(1, 20), id="three of three against none"),
        pytest.param((3, 3, 1, 3), Fraction(1, 5), id="three of three against one"),
        pytest.param((0, 0, 0, 0), Fraction(1), id="nothing"),
        pytest.param((0, 3, 3, 3), Fraction(1), id="the other way"),
    ],
)
def test_fisher_is_exact(table: tuple[int, int, int, int], p: Fraction) -> None:
    assert fisher_greater(*table) == p


@given(SIDE, SIDE)
def test_fisher_is_scipys(first: tuple[int, int], second: tuple[int, int]) -> None:
    (a, n), (b, m) = first, second
    table = [[a, n - a], [b, m - b]]
    assert float(fisher_greater(a, n, b, m)) == pytest.approx(stats.fisher_exact(table, "greater").pvalue, rel=1e-9)
    assert float(fisher_less(a, n, b, m)) == pytest.approx(stats.fisher_exact(table, "less").pvalue, rel=1e-9)


@given(SIDE, SIDE)
def test_fisher_in_floats_is_fisher_in_rationals(first: tuple[int, int], second: tuple[int, int]) -> None:
    table = (*first, *second)
    assert two_samples._greater_in_floats(*table) == pytest.approx(float(fisher_greater(*table)), rel=1e-11)


def test_fisher_of_half_a_million_trials_is_scipys() -> None:
    theirs = stats.fisher_exact([[250_000, 250_000], [249_000, 251_000]], "greater").pvalue
    assert fisher_two_sided(250_000, 500_000, 249_000, 500_000) == pytest.approx(2 * theirs, rel=1e-6)


def test_an_impossible_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no table"):
        fisher_greater(4, 3, 0, 3)


@given(st.lists(WHOLE, min_size=1, max_size=25), st.lists(WHOLE, min_size=1, max_size=25))
def test_mann_whitney_with_ties_is_scipys(first: list[float], second: list[float]) -> None:
    found = mann_whitney(first, second)
    assert found is not None
    if found.exact:
        theirs = stats.mannwhitneyu(first, second, method="exact")
    elif len(set(first + second)) == 1:
        assert found.p_value == 1
        return
    else:
        theirs = stats.mannwhitneyu(first, second, method="asymptotic")
    assert (found.u, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


def test_mann_whitney_of_few_values_counts_every_arrangement() -> None:
    first, second = [1.0, 2.0, 5.0], [3.0, 4.0, 6.0, 7.0]
    found = mann_whitney(first, second)
    assert found is not None
    arrangements = list(combinations(range(7), 3))
    u_of = [sum(place - i for i, place in enumerate(places)) for places in arrangements]
    extreme = sum(u <= found.u for u in u_of) / len(arrangements)
    assert found.exact
    assert found.p_value == pytest.approx(2 * extreme)


@given(st.lists(WHOLE, min_size=1, max_size=12), st.lists(WHOLE, min_size=1, max_size=12))
def test_swapping_the_sides_changes_only_the_direction(first: list[float], second: list[float]) -> None:
    one, other = mann_whitney(first, second), mann_whitney(second, first)
    assert one is not None
    assert other is not None
    assert one.p_value == pytest.approx(other.p_value)
    assert one.superiority == pytest.approx(1 - other.superiority)


def test_an_empty_side_cannot_be_compared() -> None:
    assert mann_whitney([], [1.0]) is None
    assert welch([1.0], [1.0, 2.0]) is None


def test_the_normal_form_takes_over_smoothly() -> None:
    chance = random.Random(3)
    first, second = [chance.gauss(0, 1) for _ in range(40)], [chance.gauss(0.5, 1) for _ in range(40)]
    exact, normal = mann_whitney(first, second), mann_whitney([*first, 9.0], second)
    assert exact is not None
    assert normal is not None
    assert exact.exact
    assert not normal.exact
    assert exact.p_value == pytest.approx(stats.mannwhitneyu(first, second, method="asymptotic").pvalue, rel=0.05)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # scipy, of a side without spread
@given(st.lists(WHOLE, min_size=2, max_size=20), st.lists(WHOLE, min_size=2, max_size=20))
def test_welch_is_scipys(first: list[float], second: list[float]) -> None:
    found = welch(first, second)
    assert found is not None
    if len(set(first)) == len(set(second)) == 1:
        assert found.p_value == (1.0 if first[0] == second[0] else 0.0)
        return
    theirs = stats.ttest_ind(first, second, equal_var=False)
    assert (found.t, found.p_value) == pytest.approx((float(theirs.statistic), float(theirs.pvalue)), rel=1e-8, abs=1e-12)
