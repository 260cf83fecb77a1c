"""Where the level of a series changed at once, and where it crept.

Values in the order of time in; steps and drifts out, each with a p-value: how
often a shuffled series shows one as clearly. What chance shows in more than
one case of twenty is dropped. Noise is taken to be independent: a series that
wanders by itself shows changes. Fewer than six values show none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, NamedTuple

from flowgauge.errors import MissingExtra
from flowgauge.stats.change_pieces import SHORTEST, SHORTEST_RAMP, Piece, cut, ramp_shapes, ramps, unit_rows

if TYPE_CHECKING:
    import numpy as np

FEWEST, MOST = 6, 500
"""Values. Of a longer series the last are looked at."""
_ALPHA = 0.05
_SHUFFLES = 999
_Kind = Literal["step", "drift"]


@dataclass(frozen=True, slots=True)
class Change:
    """At the first value that moved."""

    index: int
    kind: _Kind
    before: float
    """The level before it."""
    after: float
    """The level after a step; where a drift ends."""
    until_index: int | None
    """The last value of a drift."""
    p_value: float


def change_points(values: Sequence[float]) -> list[Change]:
    """In the order of time; nothing where the series as a whole looks like chance. Without the package it needs, MissingExtra."""
    if find_spec("ruptures") is None:
        raise MissingExtra("Looking for change points", "stats")
    if len(values) < FEWEST:
        return []
    import numpy as np

    earlier = max(0, len(values) - MOST)
    series = np.asarray(values[earlier:], dtype=np.float64)
    if np.ptp(series) == 0 or _chance(series, ("step", "drift")) > _ALPHA:
        return []
    return [_later(change, earlier) for change in _changes(series, cut(series)) if change.p_value <= _ALPHA]


def _later(change: Change, by: int) -> Change:
    until = None if change.until_index is None else change.until_index + by
    return replace(change, index=change.index + by, until_index=until)


class _Fit(NamedTuple):
    """A piece with its fitted values."""

    piece: Piece
    values: np.ndarray


def _changes(series: np.ndarray, pieces: list[Piece]) -> Iterator[Change]:
    fits = [_Fit(piece, _fitted(series, piece)) for piece in pieces]
    for number, fit in enumerate(fits):
        if number:
            yield _step(series, fits[number - 1], fit)
        if fit.piece.kind != "level":
            yield _drift(series, fit)


def _step(series: np.ndarray, left: _Fit, right: _Fit) -> Change:
    """Judged with slopes taken out of both sides."""
    import numpy as np

    before, after = float(left.values[-1]), float(right.values[0])
    sides = [series[fit.piece.start : fit.piece.end] - fit.values + level for fit, level in ((left, before), (right, after))]
    return Change(right.piece.start, "step", before, after, None, _chance(np.concatenate(sides), ("step",)))


def _drift(series: np.ndarray, fit: _Fit) -> Change:
    piece, start = fit.piece, fit.piece.start
    first, last = (piece.first + 1, piece.last) if piece.kind == "ramp" else (max(start, 1), piece.end - 1)
    before = float(fit.values[max(0, first - 1 - start)])
    return Change(first, "drift", before, float(fit.values[last - start]), last, _chance(series[start : piece.end], ("drift",)))


def _fitted(series: np.ndarray, piece: Piece) -> np.ndarray:
    """Least squares: a level, or a level and the shape of the piece."""
    import numpy as np

    values, places = series[piece.start : piece.end], np.arange(piece.start, piece.end, dtype=np.float64)
    if piece.kind == "level":
        return np.full(len(values), values.mean())
    shape = np.clip(places, piece.first, piece.last) if piece.kind == "ramp" else places
    shape = shape - shape.mean()
    found: np.ndarray = values.mean() + shape * float(shape @ values) / float(shape @ shape)
    return found


def _chance(values: np.ndarray, kinds: tuple[_Kind, ...]) -> float:
    """How often the values in random order show a change of these kinds, anywhere, at least as clearly."""
    import numpy as np

    n = len(values)
    if n < FEWEST - SHORTEST or ("step" not in kinds and n < SHORTEST_RAMP):
        return 1.0
    shapes = _shapes(n, kinds)
    centred = values - values.mean()
    seen = np.abs(shapes @ centred).max()
    shuffled = np.abs(shapes @ centred[_orders(n)].T).max(axis=0)
    return float((1 + np.count_nonzero(shuffled >= seen * (1 - 1e-9))) / (_SHUFFLES + 1))


@lru_cache(maxsize=16)
def _orders(n: int) -> np.ndarray:
    """Random, but the same every time."""
    import numpy as np

    return np.argsort(np.random.default_rng(n).random((_SHUFFLES, n)), axis=1)


@lru_cache(maxsize=16)
def _shapes(n: int, kinds: tuple[_Kind, ...]) -> np.ndarray:
    """One row a change that there might be; a level that comes and goes is looked for only where any change would do."""
    import numpy as np

    made = []
    if "step" in kinds:
        made.append(unit_rows(np.arange(n) >= np.arange(SHORTEST, n - SHORTEST + 1)[:, None]))
    if "drift" in kinds:
        made.append(ramp_shapes(n))
    if len(kinds) > 1:
        firsts, lasts = (np.array(places)[:, None] for places in zip(*ramps(n), strict=True))
        inner = (firsts[:, 0] > 0) & (lasts[:, 0] < n - 1)
        made.append(unit_rows((np.arange(n) >= firsts[inner]) & (np.arange(n) <= lasts[inner])))
    return np.concatenate(made)
