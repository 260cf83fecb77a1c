"""Series of 30 versions, with and without changes: what is found in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from flowgauge.stats.change_points import Change, change_points

POINTS = 30
_PLACES = np.arange(POINTS)
_RISING = 100 * np.where(_PLACES < 12, 1.0, 1.2) * np.where(_PLACES >= 20, 1.02 ** (_PLACES - 19.0), 1.0)


def rates(series: int) -> Iterator[tuple[str, float]]:
    """What is in the series, and how often it is found."""
    for name, noise in _NOISE.items():
        yield f"{name}: any change (false)", _share(series, noise, bool)
    for name, (level, spread, right) in _CHANGED.items():
        yield name, _share(series, partial(_around, level, spread), right)


def _around(level: np.ndarray, spread: float) -> np.ndarray:
    found: np.ndarray = level * (1 + spread * _CHANCE.normal(size=POINTS))
    return found


def _share(series: int, draw: Callable[[], np.ndarray], right: Callable[[list[Change]], bool]) -> float:
    return sum(right(change_points(draw().tolist())) for _ in range(series)) / series


def _step_at(place: int) -> Callable[[list[Change]], bool]:
    return lambda found: any(change.kind == "step" and change.index == place for change in found)


def _drift_from(place: int) -> Callable[[list[Change]], bool]:
    return lambda found: any(change.kind == "drift" and abs(change.index - place) <= 2 for change in found)


_CHANCE = np.random.default_rng(4)
_NOISE: dict[str, Callable[[], np.ndarray]] = {
    "normal noise": lambda: _CHANCE.normal(100, 2, POINTS),
    "log-normal noise": lambda: _CHANCE.lognormal(0, 0.5, POINTS),
    "heavy-tailed noise (t, 3 degrees)": lambda: 100 + _CHANCE.standard_t(3, POINTS),
    "10 points of normal noise": lambda: _CHANCE.normal(100, 2, 10),
}
_CHANGED: dict[str, tuple[np.ndarray, float, Callable[[list[Change]], bool]]] = {
    "+20 % at 12, +2 % a version from 20, noise 2 %: the step, at 12": (_RISING, 0.02, _step_at(12)),
    "the same: the drift, from 20 ± 2": (_RISING, 0.02, _drift_from(20)),
    "+10 % at 12, noise 5 %: a step within one version": (
        100 * np.where(_PLACES < 12, 1.0, 1.1), 0.05, lambda found: any(one.kind == "step" and abs(one.index - 12) <= 1 for one in found),
    ),
    "+20 % from 10 to 19, noise 5 %: both steps": (
        100 * np.where((_PLACES >= 10) & (_PLACES < 20), 1.2, 1.0), 0.05, lambda found: {10, 20} <= {change.index for change in found},
    ),
}  # fmt: skip
