"""Does a series rise or fall as it goes on?

Lists of floats in the order they were measured in, a test out. It asks for
ranks only: neither a spike nor the scale decides. None where too few values say anything.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flowgauge.stats.special import normal_sf


class Trend(NamedTuple):
    """`score`: pairs that rise less pairs that fall. `p_value` is two-sided."""

    score: int
    pairs: int
    p_value: float


def mann_kendall(groups: Iterable[Sequence[float]]) -> Trend | None:
    """The trend that all groups share: Mann (1945), Kendall (1975); groups as seasons by Hirsch, Slack & Smith (1982).

    Normal with the tie correction and the continuity correction. Values are
    compared inside their group only, so groups may lie on different levels.
    """
    score, pairs, variance = 0, 0, 0.0
    for values in groups:
        n = len(values)
        score += _score(values)
        pairs += n * (n - 1) // 2
        ties = sum(count * (count - 1) * (2 * count + 5) for count in Counter(values).values())
        variance += (n * (n - 1) * (2 * n + 5) - ties) / 18
    if variance <= 0:
        return Trend(score, pairs, 1.0) if pairs else None
    z = max(0.0, abs(score) - 1) / math.sqrt(variance)
    return Trend(score, pairs, min(1.0, 2 * normal_sf(z)))


def _score(values: Sequence[float]) -> int:
    """Every value against all before it."""
    score, seen = 0, list[float]()
    for value in values:
        below, upto = bisect_left(seen, value), bisect_right(seen, value)
        score += below - (len(seen) - upto)
        seen.insert(upto, value)
    return score
