"""Agreement and rank correlation are those of their papers, of brute force and of scipy."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from flowgauge.stats.agreement import Level, Weights, cohen_kappa, krippendorff_alpha
from flowgauge.stats.ranks import kendall, ranks, spearman

GRADES = st.lists(st.tuples(st.integers(1, 5).map(float), st.integers(1, 5).map(float)), min_size=2, max_size=25)

# Four raters, twelve units, None where a rating is missing: the example of Krippendorff (2011).
RELIABILITY: list[list[int | None]] = [
    [1, 1, None, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [None, 5, 5, 5], [None, None, 1, 1], [None, None, 3, None],
]  # fmt: skip


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_krippendorffs_own_example(level: Level, alpha: float) -> None:
    units = [[rating for rating in unit if rating is not None] for unit in RELIABILITY]
    assert krippendorff_alpha(units, level=level) == pytest.approx(alpha, abs=0.0006)


def test_kappa_by_hand() -> None:
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)


def _kappa_by_table(pairs: list[tuple[float, float]], power: int) -> float | None:
    n = len(pairs)
    order = sorted({rating for pair in pairs for rating in pair})
    weight = {(a, b): abs(i - j) ** power for i, a in enumerate(order) for j, b in enumerate(order)}
    seen = sum(weight[pair] for pair in pairs) / n
    chance = sum(weight[a, b] for a, _ in pairs for _, b in pairs) / n**2
    return 1 - seen / chance if chance else None


@pytest.mark.parametrize(("weights", "power"), [("linear", 1), ("quadratic", 2)])
@given(pairs=GRADES)
def test_weighted_kappa_is_that_of_the_full_table(weights: Weights, power: int, pairs: list[tuple[float, float]]) -> None:
    assert cohen_kappa(pairs, weights=weights) == pytest.approx(_kappa_by_table(pairs, power))


def _alpha_by_pairs(units: list[tuple[float, float]]) -> float | None:
    """One less the disagreement within units over that between all ratings, pair by pair."""
    everything = [rating for unit in units for rating in unit]
    seen = sum(2 * (a - b) ** 2 for a, b in units) / len(everything)
    chance = sum((a - b) ** 2 for a, b in permutations(everything, 2)) / (len(everything) * (len(everything) - 1))
    return 1 - seen / chance if chance else None


@given(GRADES)
def test_interval_alpha_is_that_of_all_pairs(units: list[tuple[float, float]]) -> None:
    assert krippendorff_alpha(units, level="interval") == pytest.approx(_alpha_by_pairs(units))


@given(GRADES)
def test_two_equal_raters_agree_fully_or_it_is_unknown(pairs: list[tuple[float, float]]) -> None:
    same = [(first, first) for first, _ in pairs]
    expected = None if len(set(same)) == 1 else pytest.approx(1.0)
    assert cohen_kappa(same) == expected
    for level in ("nominal", "ordinal", "interval"):
        assert krippendorff_alpha(same, level=level) == expected
    assert spearman(same) == expected
    assert kendall(same) == expected


@given(GRADES)
def test_rank_correlations_are_scipys(pairs: list[tuple[float, float]]) -> None:
    firsts, seconds = [list(column) for column in zip(*pairs, strict=True)]
    if len(set(firsts)) == 1 or len(set(seconds)) == 1:
        assert spearman(pairs) is None
        assert kendall(pairs) is None
        return
    assert spearman(pairs) == pytest.approx(float(stats.spearmanr(firsts, seconds).statistic), abs=1e-12)
    assert kendall(pairs) == pytest.approx(float(stats.kendalltau(firsts, seconds).statistic), abs=1e-12)


def test_equal_values_share_their_rank() -> None:
    assert ranks([10.0, 20.0, 10.0, 5.0]) == [2.5, 4.0, 2.5, 1.0]


def test_nothing_agrees_with_nothing() -> None:
    assert cohen_kappa([]) is None
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([], level="interval") is None
    assert krippendorff_alpha([[1.0]], level="interval") is None
    assert spearman([]) is None
    assert kendall([(1.0, 2.0)]) is None


def test_reversed_order_is_minus_one() -> None:
    pairs = [(float(i), -math.exp(i)) for i in range(6)]
    assert spearman(pairs) == pytest.approx(-1)
    assert kendall(pairs) == pytest.approx(-1)
