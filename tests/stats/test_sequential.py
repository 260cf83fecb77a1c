"""Looks are few, and together they spend no more than one may."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.stats.sequential import alpha_at, looks
from flowgauge.stats.two_samples import welch


@pytest.mark.parametrize(
    ("first", "at_most", "schedule"),
    [
        pytest.param(3, 100, (3, 5, 8, 12, 18, 27, 41, 62, 100), id="by half as much again"),
        pytest.param(3, 3, (3,), id="one look"),
        pytest.param(5, 2, (2,), id="less than the first is all there is"),
        pytest.param(10, 16, (10, 16), id="the last is not soon after the one before"),
        pytest.param(10, 12, (12,), id="nor is the first"),
    ],
)
def test_the_schedule(first: int, at_most: int, schedule: tuple[int, ...]) -> None:
    assert looks(first, at_most) == schedule


@given(st.integers(1, 50), st.integers(1, 5000), st.floats(1.05, 4.0))
def test_a_schedule_rises_to_the_most_that_is_asked_for(first: int, at_most: int, factor: float) -> None:
    schedule = looks(first, at_most, factor=factor)
    assert schedule[-1] == at_most
    assert list(schedule) == sorted(set(schedule))
    assert len(schedule) <= 2 + max(0.0, math.log(max(1.0, at_most / first)) / math.log(factor))


@given(st.integers(1, 100), st.floats(0.001, 0.4))
def test_all_looks_together_spend_alpha(of: int, alpha: float) -> None:
    spent = [alpha_at(look, of, alpha) for look in range(1, of + 1)]
    assert math.fsum(spent) == pytest.approx(alpha, rel=1e-12)
    assert spent == sorted(spent)


@pytest.mark.parametrize(("look", "of"), [(0, 3), (4, 3)])
def test_there_is_no_look_beyond_the_schedule(look: int, of: int) -> None:
    with pytest.raises(ValueError, match="no look"):
        alpha_at(look, of)


@pytest.mark.parametrize(("first", "at_most", "factor"), [(0, 10, 1.5), (1, 0, 1.5), (1, 10, 1.0)])
def test_a_schedule_that_never_ends_is_refused(first: int, at_most: int, factor: float) -> None:
    with pytest.raises(ValueError, match="no schedule"):
        looks(first, at_most, factor=factor)


def test_looking_often_raises_false_alarms_and_the_schedule_does_not() -> None:
    chance = random.Random(1)
    schedule = looks(5, 100)
    careless = careful = 0
    for _ in range(400):
        candidate, baseline = ([chance.gauss(0, 1) for _ in range(100)] for _ in range(2))
        tests = [welch(candidate[:runs], baseline[:30]) for runs in schedule]
        p_values = [test.p_value / 2 if test.difference > 0 else 1.0 for test in tests if test]
        careless += min(p_values) <= 0.05
        careful += any(p <= alpha_at(look, len(schedule)) for look, p in enumerate(p_values, start=1))
    assert careless > 0.09 * 400
    assert careful <= 0.05 * 400
