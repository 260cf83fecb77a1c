"""Which of several candidates no other beats in everything at once.

A value that is unknown (None) never beats anything: a candidate with an unknown
is beaten by one that is as good in all that is known of it and better in some
of it, and itself beats none. What nobody knows is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Direction = Literal["higher", "lower"]
_SIGN: dict[Direction, float] = {"higher": 1.0, "lower": -1.0}


def pareto_front(candidates: Sequence[Sequence[float | None]], directions: Sequence[Direction]) -> list[int]:
    """Indexes of the candidates that stay, in order. Equal candidates stay together."""
    columns = [i for i in range(len(directions)) if any(candidate[i] is not None for candidate in candidates)]
    points = [tuple(_signed(candidate[i], directions[i]) for i in columns) for candidate in candidates]
    return [i for i, point in enumerate(points) if not any(dominates(other, point) for other in points)]


def dominates(first: Sequence[float | None], second: Sequence[float | None]) -> bool:
    """Is the first known whole, at least as good in all that is known of the second, and better in some of it? Higher is better."""
    better = False
    for mine, theirs in zip(first, second, strict=True):
        if mine is None:
            return False
        if theirs is None:
            continue
        if mine < theirs:
            return False
        better = better or mine > theirs
    return better


def _signed(value: float | None, direction: Direction) -> float | None:
    return None if value is None else value * _SIGN[direction]
