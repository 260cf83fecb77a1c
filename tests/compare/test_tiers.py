"""Tiers are decided by exact arithmetic, at their boundaries too."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.compare.tiers import tier_of

SIDE = st.integers(0, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("table", "tier"),
    [
        pytest.param((0, 0, 3, 3), "insufficient_data", id="the candidate has no trial"),
        pytest.param((3, 3, 0, 0), "insufficient_data", id="the baseline has no trial"),
        pytest.param((0, 0, 0, 0), "insufficient_data", id="neither has"),
        pytest.param((3, 3, 0, 3), "improvement", id="none to all of three: p is exactly 1/20"),
        pytest.param((3, 3, 1, 3), "watch", id="one to all of three: p is 1/5, better, so watched"),
        pytest.param((0, 3, 3, 3), "hard_regression", id="all to none of three: p is exactly 1/20"),
        pytest.param((1, 3, 3, 3), "soft_regression", id="all to one of three: p is exactly 1/5"),
        pytest.param((2, 3, 3, 3), "stable", id="all to two of three"),
        pytest.param((0, 2, 2, 2), "soft_regression", id="all to none of two: p is 1/6"),
        pytest.param((0, 1, 1, 1), "watch", id="one run proves nothing but is watched"),
        pytest.param((1, 1, 0, 1), "watch", id="a large change for the better is watched, too"),
        pytest.param((40, 100, 70, 100), "hard_regression", id="thirty points from a baseline of exactly .70"),
        pytest.param((39, 100, 69, 100), "unreliable_baseline", id="thirty points from a baseline just below .70"),
        pytest.param((41, 100, 70, 100), "soft_regression", id="twenty-nine points are not hard"),
        pytest.param((35, 100, 50, 100), "soft_regression", id="fifteen points from a baseline of exactly .50"),
        pytest.param((34, 100, 49, 100), "stable", id="fifteen points from a baseline below .50"),
        pytest.param((36, 100, 50, 100), "stable", id="fourteen points"),
        pytest.param((90, 100, 60, 100), "improvement", id="thirty points better"),
        pytest.param((89, 100, 60, 100), "stable", id="twenty-nine points better"),
        pytest.param((0, 20, 7, 20), "unreliable_baseline", id="to none from a rate of .35"),
        pytest.param((1, 20, 2, 5), "watch", id="thirty-five points exactly, from too low a baseline"),
        pytest.param((3, 4, 2, 5), "watch", id="thirty-five points exactly, for the better"),
        pytest.param((14, 19, 2, 5), "stable", id="a little less for the better"),
    ],
)
def test_boundaries(table: tuple[int, int, int, int], tier: str) -> None:
    assert tier_of(*table).tier == tier


def _reference(c: int, n: int, c0: int, n0: int) -> tuple[str, Fraction | None]:
    """The specification, written down a second time with binomial coefficients."""
    if n == 0 or n0 == 0:
        return "insufficient_data", None
    whole, passes = math.comb(n + n0, c + c0), c + c0
    weight = [math.comb(n, k) * math.comb(n0, passes - k) for k in range(passes + 1) if passes - k <= n0 and k <= n]
    first = max(0, passes - n0)
    better, worse = Fraction(sum(weight[c - first :]), whole), Fraction(sum(weight[: c - first + 1]), whole)
    delta, rate = Fraction(c, n) - Fraction(c0, n0), Fraction(c0, n0)
    rules = [
        ("improvement", better * 20 <= 1 and delta * 10 >= 3),
        ("hard_regression", worse * 20 <= 1 and delta * 10 <= -3 and rate * 10 >= 7),
        ("unreliable_baseline", worse * 20 <= 1 and delta * 10 <= -3),
        ("soft_regression", worse * 5 <= 1 and delta * 20 <= -3 and rate * 2 >= 1),
        ("watch", abs(delta) * 20 >= 7),
        ("stable", True),
    ]
    return next(name for name, holds in rules if holds), better if delta > 0 else worse


@given(SIDE, SIDE)
def test_a_tier_is_what_the_rules_say(candidate: tuple[int, int], baseline: tuple[int, int]) -> None:
    found = tier_of(*candidate, *baseline)
    tier, p = _reference(*candidate, *baseline)
    assert (found.tier, found.p) == (tier, p)


def test_every_table_up_to_ten_a_side_is_what_the_rules_say() -> None:
    sides = [(count, total) for total in range(11) for count in range(total + 1)]
    assert len(sides) ** 2 == 4356
    for candidate in sides:
        for baseline in sides:
            assert (tier_of(*candidate, *baseline).tier, tier_of(*candidate, *baseline).p) == _reference(*candidate, *baseline)


def test_five_thousand_random_tables_are_what_the_rules_say() -> None:
    chance = random.Random(4)
    for _ in range(5000):
        n, n0 = chance.randint(1, 120), chance.randint(1, 120)
        table = chance.randint(0, n), n, chance.randint(0, n0), n0
        assert (tier_of(*table).tier, tier_of(*table).p) == _reference(*table)


def test_a_million_trials_are_decided_at_once() -> None:
    found = tier_of(300_000, 500_000, 460_000, 500_000)
    assert found.tier == "hard_regression"
    assert isinstance(found.p, float)
    assert tier_of(460_000, 500_000, 460_010, 500_000).tier == "stable"
