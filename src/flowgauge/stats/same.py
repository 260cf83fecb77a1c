"""When two numbers are the same: they differ by less than one in 10⁹.

What is equal on paper (a run that is slower by just the tolerance) differs in
its last digits once it is computed, and by how much depends on the unit. No
measurement is as exact as that, so such a difference decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

SAME = 1e-9
"""As a share of the value, or as a difference of logarithms."""


def tie_ends(logs: Sequence[float]) -> list[float]:
    """The last of each group of same values, of logarithms in ascending order."""
    return [*(one for one, following in pairwise(logs) if following - one > SAME), *logs[-1:]]


def tie_sizes(logs: Sequence[float]) -> list[int]:
    """How many each group holds, of logarithms in ascending order."""
    starts = [0, *(place for place, (one, following) in enumerate(pairwise(logs), start=1) if following - one > SAME)]
    return [end - start for start, end in pairwise([*starts, len(logs)])] if logs else []
