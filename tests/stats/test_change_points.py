"""Steps are found where they are, drifts where they begin, and noise shows nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from flowgauge.errors import MissingExtra
from flowgauge.stats.change_points import FEWEST, MOST, Change, change_points

PLACES = np.arange(30)
TOLD = 100 * np.where(PLACES < 12, 1.0, 1.2) * np.where(PLACES >= 20, 1.02 ** (PLACES - 19.0), 1.0)
"""20 % more from 12 on, and 2 % a version from 20 on."""


def noisy(level: np.ndarray, spread: float, seed: int) -> list[float]:
    found: list[float] = (level * (1 + np.random.default_rng(seed).normal(0, spread, len(level)))).tolist()
    return found


def kinds(found: list[Change]) -> list[tuple[str, int]]:
    return [(change.kind, change.index) for change in found]


def test_a_step_and_a_drift_are_both_found() -> None:
    step, drift = change_points(noisy(TOLD, 0.01, 1))
    assert (step.kind, step.index, step.until_index) == ("step", 12, None)
    assert (step.before, step.after) == pytest.approx((100, 120), rel=0.02)
    assert drift.kind == "drift"
    assert drift.index == pytest.approx(20, abs=2)
    assert drift.until_index == pytest.approx(29, abs=2)
    assert (drift.before, drift.after) == pytest.approx((120, 146), rel=0.04)
    assert max(step.p_value, drift.p_value) < 0.01


def test_both_are_found_in_nearly_every_such_series() -> None:
    steps = drifts = 0
    for seed in range(60):
        found = change_points(noisy(TOLD, 0.02, seed))
        steps += ("step", 12) in kinds(found)
        drifts += any(change.kind == "drift" and abs(change.index - 20) <= 2 for change in found)
    assert steps >= 59
    assert drifts >= 52


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda chance: chance.normal(100, 2, 30), id="normal"),
        pytest.param(lambda chance: chance.lognormal(0, 0.5, 30), id="log-normal"),
        pytest.param(lambda chance: 100 + chance.standard_t(3, 30), id="heavy-tailed"),
        pytest.param(lambda chance: chance.normal(100, 2, 8), id="of few points"),
    ],
)
def test_noise_rarely_shows_a_change(draw: Callable[[np.random.Generator], np.ndarray]) -> None:
    chance = np.random.default_rng(6)
    assert sum(bool(change_points(draw(chance).tolist())) for _ in range(100)) <= 7


@pytest.mark.parametrize(
    ("level", "found"),
    [
        pytest.param(np.where(PLACES < 20, 100.0, 80.0), [("step", 20)], id="a step down"),
        pytest.param(np.where((PLACES >= 10) & (PLACES < 20), 120.0, 100.0), [("step", 10), ("step", 20)], id="up and down again"),
        pytest.param(np.where(PLACES < 28, 100.0, 140.0), [("step", 28)], id="the last two versions"),
    ],
)
def test_steps_are_found_where_they_are(level: np.ndarray, found: list[tuple[str, int]]) -> None:
    assert kinds(change_points(noisy(level, 0.02, 3))) == found


def test_a_slope_from_end_to_end_is_one_drift() -> None:
    (found,) = change_points(noisy(100.0 + 2 * PLACES, 0.01, 2))
    assert found.kind == "drift"
    assert found.index <= 3
    assert found.until_index == pytest.approx(29, abs=3)


def test_a_drift_ends_where_the_new_level_begins() -> None:
    (found,) = change_points(noisy(100.0 + 3 * np.clip(PLACES - 8, 0, 10), 0.01, 4))
    assert found.kind == "drift"
    assert (found.index, found.until_index) == pytest.approx((9, 18), abs=2)
    assert (found.before, found.after) == pytest.approx((100, 130), rel=0.02)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([], id="nothing"),
        pytest.param([1.0, 1.0, 9.0, 9.0, 9.0][: FEWEST - 1], id="too few"),
        pytest.param([5.0] * 30, id="always the same"),
        pytest.param([5.0] * 15 + [50.0] + [5.0] * 14, id="a single outlier"),
    ],
)
def test_where_there_is_nothing_to_find(values: list[float]) -> None:
    assert change_points(values) == []


def test_a_step_without_any_noise() -> None:
    (found,) = change_points([10.0] * 8 + [12.0] * 8)
    assert (found.kind, found.index, found.before, found.after) == ("step", 8, 10.0, 12.0)
    assert found.p_value <= 0.002


def test_the_unit_does_not_matter() -> None:
    values = noisy(TOLD, 0.02, 5)
    assert kinds(change_points(values)) == kinds(change_points([1e6 * value for value in values]))


def test_the_same_series_gives_the_same_answer() -> None:
    values = noisy(TOLD, 0.02, 5)
    assert change_points(values) == change_points(values)


def test_of_a_long_series_the_end_is_looked_at() -> None:
    level = np.where(np.arange(MOST + 100) < 50, 1.0, 100.0)
    level[MOST:] = 130.0
    (found,) = change_points(noisy(level, 0.02, 7))
    assert (found.kind, found.index) == ("step", MOST)


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ruptures", None)
    with pytest.raises(MissingExtra, match=r"flowgauge\[stats\]"):
        change_points([])
