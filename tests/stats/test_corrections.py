"""Several tests at once raise fewer alarms, never more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from flowgauge.stats.corrections import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(min_value=0, max_value=1), max_size=20)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P_VALUES.filter(bool))
def test_benjamini_hochberg_is_scipys(p_values: list[float]) -> None:
    assert benjamini_hochberg(p_values) == pytest.approx(list(stats.false_discovery_control(p_values)))


@given(P_VALUES)
def test_no_adjusted_p_is_smaller(p_values: list[float]) -> None:
    for raw, false_discovery, any_false in zip(p_values, benjamini_hochberg(p_values), holm(p_values), strict=True):
        assert raw * (1 - 1e-12) <= false_discovery <= any_false * (1 + 1e-12) <= 1 + 1e-9


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_one_test_needs_no_correction(adjust: object) -> None:
    assert adjust([0.03]) == [0.03]  # type: ignore[operator]
    assert adjust([]) == []  # type: ignore[operator]
