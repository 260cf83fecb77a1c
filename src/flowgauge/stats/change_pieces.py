"""A series cut into pieces that are flat, sloped, or go from one level to another.

Values in the order of time in, pieces out. PELT (Killick, Fearnhead & Eckley
2012, JASA 107), as ruptures has it, finds the best cut into flat and sloped
pieces; then neighbours that one ramp explains better become that ramp: a slow
rise is not a staircase, and it starts where its knee is. Needs numpy and ruptures.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np

SHORTEST, SHORTEST_RAMP = 2, 4
"""Values of a level, and of a ramp."""
_PIECE, _SLOPE, _KNEE = 3.5, 2.0, 1.0
"""What a further piece, a slope and a knee cost: so many times log n, in units of the noise (after Schwarz 1978, Ann. Statist. 6(2))."""
_MOST_KNOTS = 40
_KEPT, _KEPT_VARIANCE = 0.8, 0.4377
"""The least squared differences that make the noise, and what share of a normal variable's variance they have."""


class Piece(NamedTuple):
    """From `start` to before `end`; a ramp runs from `first` to `last` and is level around it."""

    kind: Literal["level", "slope", "ramp"]
    start: int
    end: int
    error: float
    """Squared, in units of the noise."""
    first: int = 0
    last: int = 0


def cut(series: np.ndarray) -> list[Piece]:
    """The pieces, in the order of time."""
    noise = _noise(series)
    return _with_ramps(series, _by_pelt(series / noise), noise)


def ramps(n: int) -> list[tuple[int, int]]:
    """All places where a ramp of n values may begin and end; every few of them in a long series."""
    step = max(1, math.ceil(n / _MOST_KNOTS))
    knots = [*range(0, n - 1, step), n - 1]
    return [(first, last) for first in knots for last in knots if last - first >= SHORTEST_RAMP - 1]


@lru_cache(maxsize=32)
def ramp_shapes(n: int) -> np.ndarray:
    """One row a ramp, of mean 0 and length 1: its product with a series, squared, is what it explains."""
    import numpy as np

    firsts, lasts = (np.array(places)[:, None] for places in zip(*ramps(n), strict=True))
    return unit_rows(np.clip((np.arange(n) - firsts) / (lasts - firsts), 0, 1))


def unit_rows(shapes: np.ndarray) -> np.ndarray:
    """Of mean 0 and length 1."""
    import numpy as np

    centred = shapes - shapes.mean(axis=1, keepdims=True)
    found: np.ndarray = centred / np.sqrt((centred * centred).sum(axis=1, keepdims=True))
    return found


def _noise(series: np.ndarray) -> float:
    """From the differences of neighbours (Rice 1984, Ann. Statist. 12(4)), without the largest, which may be steps."""
    import numpy as np

    differences = np.diff(series)
    squares = np.sort((differences - np.median(differences)) ** 2)[: math.ceil(_KEPT * (len(series) - 1))]
    return math.sqrt(float(squares.mean()) / (2 * _KEPT_VARIANCE)) or 1e-6 * float(np.ptp(series))


def _by_pelt(series: np.ndarray) -> list[Piece]:
    import ruptures

    costs = _costs()
    bounds = ruptures.Pelt(custom_cost=costs, min_size=SHORTEST, jump=1).fit(series).predict(pen=_PIECE * math.log(len(series)))
    return [costs.piece(start, end) for start, end in zip([0, *bounds], bounds, strict=False)]


def _costs() -> Any:
    """What a piece costs, as ruptures asks for it: the errors of its mean, or of its line and the price of a slope."""
    import numpy as np
    from ruptures.base import BaseCost

    class Costs(BaseCost):  # type: ignore[misc]
        model, min_size = "level or slope", SHORTEST

        def fit(self, signal: np.ndarray) -> Costs:
            self.signal = np.asarray(signal, dtype=np.float64).reshape(-1, 1)
            values, time = self.signal[:, 0] - self.signal.mean(), np.arange(len(signal), dtype=np.float64)
            columns = (values, values * values, time * values, time, time * time)
            self._sums = np.concatenate(([[0.0] * len(columns)], np.cumsum(columns, axis=1).T))
            return self

        def error(self, start: int, end: int) -> float:
            piece = self.piece(start, end)
            return piece.error + _slope_price(len(self.signal)) * (piece.kind == "slope")

        def piece(self, start: int, end: int) -> Piece:
            n = end - start
            y, yy, ty, t, tt = (self._sums[end] - self._sums[start]).tolist()
            level = max(0.0, yy - y * y / n)
            explained = (ty - t * y / n) ** 2 / (tt - t * t / n) if n >= SHORTEST_RAMP else 0.0
            if explained <= _slope_price(len(self.signal)):
                return Piece("level", start, end, level)
            return Piece("slope", start, end, max(0.0, level - explained))

    return Costs()


def _slope_price(n: int) -> float:
    return _SLOPE * math.log(n)


def _with_ramps(series: np.ndarray, pieces: list[Piece], noise: float) -> list[Piece]:
    """As long as a ramp in place of neighbours makes the whole cheaper, the best such ramp."""
    while True:
        found = [
            (saved, start, end, ramp)
            for start in range(len(pieces))
            for end in range(start + 1, len(pieces) + 1)
            if (ramp := _ramp(series, pieces[start:end], noise))
            and (saved := _price(pieces[start:end], series) - _price([ramp], series)) > 0
        ]
        if not found:
            return pieces
        _, start, end, ramp = max(found, key=lambda one: one[0])
        pieces = [*pieces[:start], ramp, *pieces[end:]]


def _ramp(series: np.ndarray, pieces: list[Piece], noise: float) -> Piece | None:
    """The best one in place of all of them; None where there is nothing to put together."""
    start, end = pieces[0].start, pieces[-1].end
    if end - start <= SHORTEST_RAMP or any(piece.kind == "ramp" for piece in pieces) or [piece.kind for piece in pieces] == ["level"]:
        return None
    values = (series[start:end] - series[start:end].mean()) / noise
    explained = (ramp_shapes(end - start) @ values) ** 2
    best = int(explained.argmax())
    first, last = ramps(end - start)[best]
    return Piece("ramp", start, end, max(0.0, float(values @ values - explained[best])), start + first, start + last)


def _price(pieces: list[Piece], series: np.ndarray) -> float:
    total = (len(pieces) - 1) * _PIECE
    for piece in pieces:
        total += _SLOPE if piece.kind != "level" else 0
        total += _KNEE * ((piece.first > piece.start) + (piece.last < piece.end - 1)) if piece.kind == "ramp" else 0
    return total * math.log(len(series)) + sum(piece.error for piece in pieces)
