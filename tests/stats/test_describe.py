"""A sample is described as R and numpy would, and one value has no spread."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.stats import describe as subject
from flowgauge.stats.describe import ascending, describe, mean, quantile, stdev

FLOATS = st.floats(min_value=-1e9, max_value=1e9, allow_subnormal=False)


@given(st.lists(FLOATS, min_size=1, max_size=40), st.floats(min_value=0, max_value=1))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    assert quantile(sorted(values), share) == pytest.approx(float(np.quantile(values, share)), rel=1e-9, abs=1e-6)


@given(st.lists(FLOATS, min_size=1, max_size=40))
def test_the_mean_is_the_exact_one_rounded(values: list[float]) -> None:
    exact = sum(map(Fraction, values), Fraction()) / len(values)
    assert mean(values) == pytest.approx(float(exact), rel=1e-15, abs=1e-300)
    assert min(values) <= mean(values) <= max(values)


@given(st.lists(FLOATS, min_size=2, max_size=40))
def test_the_spread_divides_by_n_less_one(values: list[float]) -> None:
    centre = sum(map(Fraction, values), Fraction()) / len(values)
    exact = sum(((Fraction(value) - centre) ** 2 for value in values), Fraction()) / (len(values) - 1)
    assert stdev(values) == pytest.approx(math.sqrt(exact), rel=1e-9, abs=1e-6)


def test_one_value_has_a_mean_and_no_spread() -> None:
    told, ordered = describe([3.0], (0.5, 0.99))
    assert told == (1, 3.0, 3.0, 3.0, None, (3.0, 3.0))
    assert list(ordered) == [3.0]


def test_equal_values_have_a_spread_of_zero() -> None:
    told, _ = describe([0.1] * 3)
    assert (told.stdev, told.mean) == (0.0, 0.1)


@pytest.mark.parametrize("of", [mean, lambda values: quantile(values, 0.5)], ids=["mean", "quantile"])
def test_nothing_has_no_middle(of: object) -> None:
    with pytest.raises(ValueError, match="unknown"):
        of([])  # type: ignore[operator]


def test_numpy_sorts_large_samples_to_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [3.5, -1.0, 2.0, 2.0]
    monkeypatch.setattr(subject, "_WORTH_NUMPY", 4)
    assert list(ascending(values)) == sorted(values)
    assert all(type(value) is float for value in ascending(values))
