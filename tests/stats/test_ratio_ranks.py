"""Rank tests of a shift are scipy's; centres and bounds are those of the definition; a large sample is as good as a small one."""

from __future__ import annotations

import math
import random
from itertools import combinations, product
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from flowgauge.stats import ratio_ranks
from flowgauge.stats.ratio_ranks import Ranks, SignedRanks, thinned
from flowgauge.stats.two_samples import u_depth

POSITIVE = st.lists(st.integers(1, 1000).map(float), min_size=2, max_size=20)


def positive(n: int, seed: int, centre: float = 0.0) -> list[float]:
    chance = random.Random(seed)
    return [chance.lognormvariate(centre, 0.3) for _ in range(n)]


@pytest.mark.parametrize(("n", "m"), [(5, 5), (10, 30), (40, 40), (60, 50)])
@pytest.mark.parametrize("bound", [1.0, 1.05, 0.9])
def test_p_values_are_scipys_of_moved_samples(n: int, m: int, bound: float) -> None:
    first, second = positive(n, 1, 0.1), positive(m, 2)
    moved = [bound * value for value in second]
    method = "exact" if n * m <= 1600 else "asymptotic"
    found = Ranks(first, second)
    for mine, side in ((found.above, "greater"), (found.below, "less")):
        theirs = stats.mannwhitneyu(first, moved, alternative=side, method=method).pvalue
        assert mine(math.log(bound)) == pytest.approx(float(theirs), rel=1e-9)


@given(POSITIVE, POSITIVE)
def test_ties_are_corrected_as_scipy_does(first: list[float], second: list[float]) -> None:
    found = Ranks(first, second).above(0.0)
    if len(set(first + second)) == 1:
        assert found == 1.0
        return
    method = "exact" if len(set(first + second)) == len(first + second) else "asymptotic"
    assert found == pytest.approx(float(stats.mannwhitneyu(first, second, alternative="greater", method=method).pvalue), rel=1e-9)


@pytest.mark.parametrize("n", [20, 45, 100])
def test_signed_ranks_are_scipys(n: int) -> None:
    chance = random.Random(n)
    values = [chance.gauss(0.1, 0.4) for _ in range(n)]
    method = "exact" if n <= 60 else "asymptotic"
    found = SignedRanks(values)
    for bound in (0.0, 0.05):
        moved = [value - bound for value in values]
        for mine, side in ((found.above, "greater"), (found.below, "less")):
            theirs = stats.wilcoxon(moved, alternative=side, method=method, correction=True).pvalue
            assert mine(bound) == pytest.approx(float(theirs), rel=1e-9)


@given(st.lists(st.integers(-5, 5).map(float), min_size=20, max_size=40))
def test_signed_ranks_with_ties_and_zeros_are_those_of_every_pair(values: list[float]) -> None:
    """The sum of ranks is the number of means of two values above zero; ties count half."""
    found = SignedRanks(values)
    means = [(one + other) / 2 for place, one in enumerate(values) for other in values[place:]]
    assert found.centre == pytest.approx(median(means))
    assert 0.0 <= found.above(0.0) <= 1.0
    if sum(mean > 0 for mean in means) > sum(mean < 0 for mean in means):
        assert found.above(0.0) <= found.below(0.0)


def test_signed_ranks_of_nothing_but_zeros_prove_nothing() -> None:
    assert SignedRanks([0.0] * 25).above(0.0) == 1.0


def test_the_centre_is_the_median_of_all_differences() -> None:
    first, second = positive(7, 3, 0.2), positive(8, 4)
    expected = median(math.log(one / other) for one, other in product(first, second))
    assert Ranks(first, second).centre == pytest.approx(expected, abs=1e-12)


def test_the_bounds_are_those_at_which_the_test_turns() -> None:
    found = Ranks(positive(12, 5, 0.2), positive(15, 6))
    bounds = found.interval()
    assert bounds is not None
    low, high = bounds
    assert found.above(low - 1e-9) <= 0.025 < found.above(low + 1e-9)
    assert found.below(high + 1e-9) <= 0.025 < found.below(high - 1e-9)


def test_the_bounds_of_cases_are_those_at_which_the_test_turns() -> None:
    chance = random.Random(8)
    found = SignedRanks([chance.gauss(0.1, 0.3) for _ in range(25)])
    bounds = found.interval()
    assert bounds is not None
    low, high = bounds
    assert found.above(low - 1e-9) <= 0.025 < found.above(low + 1e-9)
    assert found.below(high + 1e-9) <= 0.025 < found.below(high - 1e-9)


@pytest.mark.parametrize(("n", "known"), [(3, False), (4, True)])
def test_too_few_values_carry_no_interval(n: int, known: bool) -> None:
    found = Ranks(positive(n, 1), positive(n, 2))
    assert (found.interval() is not None) is known
    assert (found.error() is not None) is known


@pytest.mark.parametrize(("n", "m", "tail"), [(5, 5, 0.025), (4, 9, 0.05), (6, 7, 0.01), (2, 2, 0.025)])
def test_the_depth_is_the_last_place_in_the_tail(n: int, m: int, tail: float) -> None:
    of_every_order = [sum(place - rank for rank, place in enumerate(places)) for places in combinations(range(n + m), n)]
    depth = u_depth(n, m, tail)
    assert sum(u < depth for u in of_every_order) <= tail * len(of_every_order) < sum(u <= depth for u in of_every_order)


@pytest.mark.parametrize("n", [120, 900])
def test_the_search_finds_what_the_list_has(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = positive(n, 1, 0.1), positive(n // 2, 2)
    searched = Ranks(first, second)
    monkeypatch.setattr(ratio_ranks, "_MOST_ENUMERATED", 10**7)
    listed = Ranks(first, second)
    assert searched.centre == pytest.approx(listed.centre, abs=1e-9)
    assert searched.interval() == pytest.approx(listed.interval(), abs=1e-9)


def test_a_large_sample_is_stood_for_by_its_quantiles() -> None:
    chance = np.random.default_rng(3)
    first, second = chance.lognormal(0.01, 0.3, 40_000), chance.lognormal(0, 0.3, 30_000)
    theirs = float(stats.mannwhitneyu(first, second, alternative="less").pvalue)
    found = Ranks(first.tolist(), second.tolist())
    assert stats.norm.isf(found.below(0.0)) == pytest.approx(stats.norm.isf(theirs), abs=0.1)
    assert found.centre == pytest.approx(float(np.median(np.log(first)) - np.median(np.log(second))), abs=0.005)
    cases = SignedRanks(np.log(first).tolist())
    assert stats.norm.isf(cases.above(0.0)) == pytest.approx(
        float(stats.norm.isf(stats.wilcoxon(np.log(first), alternative="greater").pvalue)), abs=0.1
    )


@pytest.mark.parametrize("n", [2500, 250_000])
def test_quantiles_are_the_same_with_and_without_numpy(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n).tolist()
    ordered = sorted(values)
    assert thinned(values, 10) == [ordered[(2 * place + 1) * n // 20] for place in range(10)]
    assert thinned(values[:5], 10) == sorted(values[:5])
