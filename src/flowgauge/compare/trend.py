"""One metric of one subject over all its benchmarks.

Points in, oldest first; a trend out: improving, declining, stable, or too few
to say. The rule is the first value against the last, ±10 %. Where the level
changed is found by whoever is handed in, so a trend itself needs no extra
package. A point without a value stays in the list and is judged nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal, Protocol

from flowgauge.model.metric import Direction
from flowgauge.model.verdict import ChangePoint, Trend, Trending, TrendPoint

_NOTABLE = Fraction(1, 10)


class Change(Protocol):
    """A change as a detector tells it, in places of the list of values that it was given."""

    @property
    def index(self) -> int:
        """Of the first value after it."""

    @property
    def kind(self) -> Literal["step", "drift"]:
        """At once, or little by little."""

    @property
    def before(self) -> float:
        """The level before it, or where a drift starts."""

    @property
    def after(self) -> float:
        """The level after it, or where a drift ends."""

    @property
    def until_index(self) -> int | None:
        """Of the last value of a drift."""

    @property
    def p_value(self) -> float | None:
        """That chance alone makes it."""


Detect = Callable[[Sequence[float]], Sequence[Change]]


def trend(subject: str, metric: str, direction: Direction, unit: str, points: Sequence[TrendPoint], detect: Detect | None = None) -> Trend:
    """What the points say; `detect` None: change points are not looked for."""
    known = [(place, point.value) for place, point in enumerate(points) if point.value is not None]
    values = [value for _, value in known]
    places = [place for place, _ in known]
    found = detect(values) if detect else ()
    unknown = len(points) - len(known)
    return Trend(
        subject=subject,
        metric=metric,
        direction=direction,
        unit=unit,
        trend=_trending(values, direction),
        change=_relative(values[0], values[-1]) if len(values) > 1 else None,
        points=tuple(points),
        changes=tuple(_change_point(change, places, points, direction) for change in found),
        notes=(f"{unknown} of {len(points)} benchmarks have no value of {metric}.",) if unknown else (),
    )


def _trending(values: Sequence[float], direction: Direction) -> Trending:
    if len(values) < 2:
        return "insufficient_data"
    first, last = Fraction(values[0]), Fraction(values[-1])
    if abs(last - first) <= abs(first) * _NOTABLE:
        return "stable"
    return "improving" if (last > first) is (direction == "higher") else "declining"


def _relative(before: float, after: float) -> float | None:
    """After by before, less one; None where that is not a number."""
    return (after - before) / abs(before) if before else None


def _change_point(change: Change, places: Sequence[int], points: Sequence[TrendPoint], direction: Direction) -> ChangePoint:
    """In places of the points: those without a value count again."""
    place = places[change.index]
    return ChangePoint(
        index=place,
        label=points[place].label,
        commit=points[place].commit,
        kind=change.kind,
        before=change.before,
        after=change.after,
        change=_relative(change.before, change.after),
        until_index=None if change.until_index is None else places[change.until_index],
        harmful=(change.after > change.before) is (direction == "lower") and change.after != change.before,
        p_value=change.p_value,
    )
