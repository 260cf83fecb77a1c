"""Mann and Kendall's test: against its own definition, against scipy, and by what must hold of any series."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from flowgauge.stats.mann_kendall import mann_kendall

series = st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=40)


def by_definition(values: Sequence[float]) -> int:
    """Over all pairs."""
    pairs = ((values[i], values[j]) for j in range(len(values)) for i in range(j))
    return sum((later > earlier) - (later < earlier) for earlier, later in pairs)


@given(groups=st.lists(series, min_size=1, max_size=4))
def test_the_score_counts_pairs_inside_groups_only(groups: list[list[float]]) -> None:
    found = mann_kendall(groups)
    assert found is not None
    assert found.score == sum(map(by_definition, groups))
    assert found.pairs == sum(math.comb(len(group), 2) for group in groups)
    assert 0 <= found.p_value <= 1


@given(groups=st.lists(series, min_size=1, max_size=3))
def test_a_series_told_backwards_falls_as_much_as_it_rose(groups: list[list[float]]) -> None:
    forward, backward = mann_kendall(groups), mann_kendall([group[::-1] for group in groups])
    assert forward is not None
    assert backward is not None
    assert (forward.score, forward.p_value) == (-backward.score, backward.p_value)


@pytest.mark.parametrize("rise", [0.0, 0.02, 0.2])
def test_the_p_value_is_that_of_scipy_but_for_the_continuity_correction(rise: float) -> None:
    chance = random.Random(3)
    values = [chance.gauss(0, 1) + rise * index for index in range(60)]
    found = mann_kendall([values])
    assert found is not None
    variance = 60 * 59 * 125 / 18
    z = math.sqrt(2) * _inverse_erfc(float(kendalltau(range(60), values, method="asymptotic").pvalue))
    assert z == pytest.approx(abs(found.score) / math.sqrt(variance), rel=1e-6)
    assert found.p_value >= float(kendalltau(range(60), values, method="asymptotic").pvalue)


def _inverse_erfc(value: float) -> float:
    low, high = 0.0, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle) > value else (low, middle)
    return low


def test_chance_alone_is_rarely_called_a_trend() -> None:
    chance = random.Random(11)
    alarms = 0
    for _ in range(400):
        found = mann_kendall([[chance.random() for _ in range(30)] for _ in range(3)])
        assert found is not None
        alarms += found.p_value <= 0.05
    assert alarms <= 36


@pytest.mark.parametrize(
    ("groups", "p_value"),
    [pytest.param([[5.0] * 20], 1.0, id="a series that never changes"), pytest.param([[1.0, 1.0]], 1.0, id="two equal values")],
)
def test_what_does_not_vary_has_no_trend(groups: list[list[float]], p_value: float) -> None:
    found = mann_kendall(groups)
    assert found is not None
    assert (found.score, found.p_value) == (0, p_value)


@pytest.mark.parametrize("groups", [pytest.param([], id="no group"), pytest.param([[], [1.0]], id="groups without a pair")])
def test_nothing_says_nothing(groups: list[list[float]]) -> None:
    assert mann_kendall(groups) is None
