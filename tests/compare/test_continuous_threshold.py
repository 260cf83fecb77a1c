"""The bare threshold: exact at its boundary, on any figure, with or without samples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compare.sides import samples

from flowgauge.compare.continuous import compare_metrics
from flowgauge.compare.threshold import beyond, threshold_verdict
from flowgauge.model.figure import Direction

CENTS = st.integers(-(10**6), 10**6)


@pytest.mark.parametrize(
    ("new", "old", "direction", "verdict"),
    [
        pytest.param(95.0, 100.0, "higher", "unchanged", id="95 of 100 is no regression"),
        pytest.param(94.999, 100.0, "higher", "regressed", id="a little less is"),
        pytest.param(0.095, 0.1, "higher", "unchanged", id="nor is 0.095 of 0.1, whatever floats make of it"),
        pytest.param(105.0, 100.0, "lower", "unchanged", id="105 of 100 is no regression"),
        pytest.param(105.001, 100.0, "lower", "regressed", id="a little more is, where lower is better"),
        pytest.param(0.315, 0.3, "lower", "unchanged", id="0.315 is 5 % more than 0.3"),
        pytest.param(105.001, 100.0, "higher", "improved", id="beyond it the other way is better"),
        pytest.param(105.0, 100.0, "higher", "unchanged", id="at it is not"),
        pytest.param(0.0, 0.0, "higher", "unchanged", id="nothing and nothing"),
        pytest.param(0.001, 0.0, "lower", "regressed", id="from nothing any harm is beyond 5 %"),
        pytest.param(-0.001, 0.0, "higher", "regressed", id="from nothing down"),
        pytest.param(0.001, 0.0, "higher", "improved", id="from nothing up"),
        pytest.param(-105.0, -100.0, "higher", "unchanged", id="a negative figure may fall by 5 % of its size"),
        pytest.param(-105.001, -100.0, "higher", "regressed", id="and no further"),
        pytest.param(-95.0, -100.0, "lower", "unchanged", id="or rise by 5 %"),
        pytest.param(-94.999, -100.0, "lower", "regressed", id="and no further, where lower is better"),
    ],
)
def test_the_boundary_is_exact(new: float, old: float, direction: Direction, verdict: str) -> None:
    assert threshold_verdict(new, old, 0.05, direction) == verdict


@given(CENTS, CENTS, st.integers(0, 99), st.sampled_from(["higher", "lower"]))
def test_it_is_whole_number_arithmetic_on_cents(new: int, old: int, percent: int, direction: Direction) -> None:
    room = abs(old) * percent
    expected = 100 * new < 100 * old - room if direction == "higher" else 100 * new > 100 * old + room
    assert beyond(new / 100, old / 100, percent / 100, direction) is expected


@pytest.mark.parametrize(
    ("candidate", "baseline", "verdict", "ratio"),
    [
        pytest.param(samples({}, value=110.0), samples({}, value=100.0), "regressed", 1.1, id="figures without samples"),
        pytest.param(samples([110.0]), samples([100.0]), "regressed", 1.1, id="one sample a side"),
        pytest.param(samples([100.0, 120.0]), samples([100.0, 108.0]), "regressed", 110 / 104, id="means of samples"),
        pytest.param(
            samples([500.0], value=100.0), samples([100.0]), "unchanged", 1.0, id="a figure that was given counts before its samples"
        ),
        pytest.param(samples([1.0]), samples([0.0]), "regressed", None, id="no ratio from nothing"),
    ],
)
def test_the_rule_threshold_needs_no_samples(candidate: object, baseline: object, verdict: str, ratio: float | None) -> None:
    (found,) = compare_metrics({"m": candidate}, {"m": baseline}, rule="threshold")  # type: ignore[dict-item]
    assert (found.verdict, found.method) == (verdict, "bare threshold")
    assert found.ratio == (None if ratio is None else pytest.approx(ratio))
    assert (found.p_harm, found.interval, found.runs_needed) == (None, None, None)
