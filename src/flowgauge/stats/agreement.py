"""How far two raters agree beyond chance.

Pairs of ratings in, a coefficient out: 1 is full agreement, 0 is chance. None
where it is undefined: no pair, or ratings that never differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]

_WEIGHT: dict[Weights, Callable[[int, int], float]] = {
    "none": lambda i, j: float(i != j),
    "linear": lambda i, j: float(abs(i - j)),
    "quadratic": lambda i, j: float((i - j) ** 2),
}


def cohen_kappa(pairs: Sequence[tuple[Any, Any]], *, weights: Weights = "none", categories: Sequence[Any] | None = None) -> float | None:
    """Cohen (1960), Educ. Psychol. Meas. 20(1); weighted: Cohen (1968), Psychol. Bull. 70(4).

    Categories are the ratings that occur, in ascending order, unless given; weights go by their places in it.
    """
    if not pairs:
        return None
    order = sorted({rating for pair in pairs for rating in pair}) if categories is None else categories
    place = {category: i for i, category in enumerate(order)}
    weight = _WEIGHT[weights]
    firsts = Counter(first for first, _ in pairs)
    seconds = Counter(second for _, second in pairs)
    seen = math.fsum(count * weight(place[a], place[b]) for (a, b), count in Counter(pairs).items())
    chance = math.fsum(n * m * weight(place[a], place[b]) for a, n in firsts.items() for b, m in seconds.items())
    return 1 - seen * len(pairs) / chance if chance else None


def krippendorff_alpha(units: Sequence[Sequence[Any]], *, level: Level = "nominal") -> float | None:
    """Krippendorff (2011), "Computing Krippendorff's alpha-reliability", with any number of raters a unit.

    A unit holds the ratings of one thing; a missing rating is left out of it, and units with fewer than two do not count.
    """
    usable = [unit for unit in units if len(unit) > 1]
    totals: Counter[Hashable] = Counter(rating for unit in usable for rating in unit)
    n = sum(totals.values())
    if level == "interval":
        return _interval_alpha(usable, n)
    unlike = _unlike_by(_ordinal(totals)) if level == "ordinal" else _different
    seen = math.fsum(unlike(Counter(unit)) / (len(unit) - 1) for unit in usable)
    chance = unlike(totals)
    return 1 - (n - 1) * seen / chance if chance else None


def _interval_alpha(units: Sequence[Sequence[float]], n: int) -> float | None:
    """For squared differences the sums over all pairs are variances: no table of pairs, so any number of values."""
    seen = math.fsum(2 * len(unit) / (len(unit) - 1) * _squares(unit) for unit in units)
    chance = 2 * n * _squares([rating for unit in units for rating in unit]) if n else 0.0
    return 1 - (n - 1) * seen / chance if chance else None


def _squares(values: Sequence[float]) -> float:
    centre = math.fsum(values) / len(values)
    return math.fsum((value - centre) ** 2 for value in values)


def _different(counts: Counter[Hashable]) -> float:
    """How many ordered pairs of ratings differ."""
    return float(counts.total() ** 2 - sum(n * n for n in counts.values()))


def _unlike_by(distance: Callable[[Any, Any], float]) -> Callable[[Counter[Hashable]], float]:
    """The same, each pair by its squared distance."""
    return lambda counts: math.fsum(n * m * distance(a, b) for a, n in counts.items() for b, m in counts.items() if a != b)


def _ordinal(totals: Counter[Hashable]) -> Callable[[Any, Any], float]:
    """Squared count of ratings between two values, each end counted half."""
    middle: dict[Any, float] = {}
    below = 0
    for value in sorted(totals):  # type: ignore[type-var]
        middle[value] = below + totals[value] / 2
        below += totals[value]
    return lambda first, second: float((middle[first] - middle[second]) ** 2)
