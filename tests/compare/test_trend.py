"""A trend is the first against the last; changes are put where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import pytest

from flowgauge.compare.trend import trend
from flowgauge.model.metric import Direction
from flowgauge.model.verdict import TrendPoint


class Found(msgspec.Struct, frozen=True):
    index: int
    kind: Literal["step", "drift"]
    before: float
    after: float
    until_index: int | None = None
    p_value: float | None = None


def points(*values: float | None) -> list[TrendPoint]:
    return [
        TrendPoint(benchmark_sid=f"bm_{place}", label=f"v{place}", created_at=place, value=value, commit=f"c{place}")
        for place, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "direction", "found"),
    [
        pytest.param([], "lower", "insufficient_data", id="nothing"),
        pytest.param([5.0], "lower", "insufficient_data", id="one benchmark"),
        pytest.param([None, 5.0, None], "lower", "insufficient_data", id="one that is known"),
        pytest.param([100.0, 110.0], "lower", "stable", id="ten percent more exactly"),
        pytest.param([100.0, 110.001], "lower", "declining", id="more than ten percent slower"),
        pytest.param([100.0, 89.999], "lower", "improving", id="more than ten percent faster"),
        pytest.param([100.0, 90.0], "lower", "stable", id="ten percent less exactly"),
        pytest.param([0.5, 0.9], "higher", "improving", id="a better score"),
        pytest.param([0.9, 0.5], "higher", "declining", id="a worse score"),
        pytest.param([1.0, 50.0, 1.05], "lower", "stable", id="what is between does not count"),
        pytest.param([None, 1.0, 2.0, None], "lower", "declining", id="the first and the last that are known"),
        pytest.param([0.0, 0.0], "lower", "stable", id="nothing stays nothing"),
        pytest.param([0.0, 1.0], "lower", "declining", id="from nothing"),
        pytest.param([-10.0, -5.0], "higher", "improving", id="below zero"),
    ],
)
def test_the_rule(values: list[float | None], direction: Direction, found: str) -> None:
    assert trend("s", "m", direction, "ms", points(*values)).trend == found


def test_the_change_is_last_by_first() -> None:
    assert trend("s", "m", "lower", "ms", points(100, 150)).change == pytest.approx(0.5)
    assert trend("s", "m", "lower", "ms", points(0, 150)).change is None
    assert trend("s", "m", "lower", "ms", points(100)).change is None


def test_changes_are_told_in_places_of_the_points_and_by_what_they_do() -> None:
    given: list[Sequence[float]] = []

    def detect(values: Sequence[float]) -> list[Found]:
        given.append(values)
        return [Found(2, "step", 1.0, 3.0, None, 0.01), Found(3, "drift", 3.0, 1.5, 4)]

    found = trend("s", "m", "lower", "ms", points(1, None, 1, 3, 2, None, 1.5), detect)
    assert given == [[1, 1, 3, 2, 1.5]]
    step, drift = found.changes
    assert (step.index, step.label, step.commit, step.kind, step.change, step.harmful, step.p_value) == (
        3,
        "v3",
        "c3",
        "step",
        2.0,
        True,
        0.01,
    )
    assert (drift.index, drift.until_index, drift.kind, drift.change, drift.harmful) == (4, 6, "drift", -0.5, False)
    assert found.notes == ("2 of 7 benchmarks have no value of m.",)
    assert len(found.points) == 7


@pytest.mark.parametrize(
    ("before", "after", "direction", "harmful"),
    [
        (1.0, 2.0, "lower", True),
        (1.0, 2.0, "higher", False),
        (2.0, 1.0, "higher", True),
        (2.0, 1.0, "lower", False),
        (1.0, 1.0, "lower", False),
    ],
)
def test_harm_goes_by_direction(before: float, after: float, direction: Direction, harmful: bool) -> None:
    found = trend("s", "m", direction, "", points(before, after), lambda _: [Found(1, "step", before, after)])
    assert found.changes[0].harmful is harmful


def test_a_step_from_nothing_has_no_size() -> None:
    assert trend("s", "m", "lower", "", points(0, 1), lambda _: [Found(1, "step", 0.0, 1.0)]).changes[0].change is None
