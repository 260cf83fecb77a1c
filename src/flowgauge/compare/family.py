"""Many cases at once: how likely is it that chance alone makes one of them look so bad?

Tables of passes and runs in, a chance out. With its margins fixed, a table can
only show a few p-values (Tarone 1990, Biometrics 46(2)): of a case that always
passed on both sides none is small, so it adds nothing, and a data set of a
thousand cases costs little where few of them ever fail.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

from flowgauge.compare.tiers import tier_of
from flowgauge.model.verdict import RateVerdict, Tier


def chance_of_any(verdicts: Iterable[RateVerdict], tiers: frozenset[Tier], p_value: float) -> float:
    """An upper bound (the sum over cases): at least one case in one of the tiers with a p of at most this, were nothing changed."""
    return min(1.0, math.fsum(_chances(verdicts, tiers, p_value)))


def chance_of_several(verdicts: Iterable[RateVerdict], tiers: frozenset[Tier], p_value: float, count: int) -> float:
    """At least `count` cases so bad, were nothing changed: cases fail independently, each with its own chance."""
    fewer = [1.0, *[0.0] * (count - 1)]
    for chance in _chances(verdicts, tiers, p_value):
        if chance:
            fewer = [now * (1 - chance) + before * chance for now, before in zip(fewer, (0.0, *fewer), strict=False)]
    return max(0.0, 1.0 - math.fsum(fewer))


def _chances(verdicts: Iterable[RateVerdict], tiers: frozenset[Tier], p_value: float) -> Iterator[float]:
    for one in verdicts:
        passes = one.candidate.count + one.baseline.count
        yield _chance(one.candidate.total, one.baseline.total, passes, tiers, p_value)


@lru_cache(maxsize=8192)
def _chance(total: int, other_total: int, passes: int, tiers: frozenset[Tier], p_value: float) -> float:
    """Of one case, given how many passed on both sides together: its largest p-value that counts."""
    largest = 0.0
    for count in range(max(0, passes - other_total), min(total, passes) + 1):
        found = tier_of(count, total, passes - count, other_total)
        if found.p is None or float(found.p) > p_value:
            break
        if found.tier in tiers:
            largest = float(found.p)
    return largest
