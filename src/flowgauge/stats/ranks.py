"""Do two measures put things in the same order?

Pairs of numbers in, a correlation from -1 to 1 out. None where it is
undefined: fewer than two pairs, or one side that never changes.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Sequence

Pairs = Sequence[tuple[float, float]]


def ranks(values: Sequence[float]) -> list[float]:
    """From 1, equal values share the mean of their places."""
    order = sorted(range(len(values)), key=values.__getitem__)
    placed = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for index in order[start:end]:
            placed[index] = (start + 1 + end) / 2
        start = end
    return placed


def pearson(firsts: Sequence[float], seconds: Sequence[float]) -> float | None:
    """Correlation of two columns."""
    n = len(firsts)
    if n < 2:
        return None
    a, b = math.fsum(firsts) / n, math.fsum(seconds) / n
    squares = math.fsum((x - a) ** 2 for x in firsts) * math.fsum((y - b) ** 2 for y in seconds)
    if squares <= 0:
        return None
    together = math.fsum((x - a) * (y - b) for x, y in zip(firsts, seconds, strict=True))
    return max(-1.0, min(1.0, together / math.sqrt(squares)))


def spearman(pairs: Pairs) -> float | None:
    """Correlation of ranks: Spearman (1904), Am. J. Psychol. 15(1)."""
    return pearson(ranks([first for first, _ in pairs]), ranks([second for _, second in pairs]))


def kendall(pairs: Pairs) -> float | None:
    """τ-b, corrected for ties: Kendall (1945), Biometrika 33(3); discordant pairs counted by insertion (Knight 1966)."""
    n = len(pairs)
    everything = n * (n - 1) // 2
    tied_first = _pairs_in(Counter(first for first, _ in pairs))
    tied_second = _pairs_in(Counter(second for _, second in pairs))
    if n < 2 or tied_first == everything or tied_second == everything:
        return None
    discordant, seen = 0, list[float]()
    # Within one value of the first column the second ascends, so pairs tied there never count as discordant.
    for _, second in sorted(pairs, key=lambda pair: (pair[0], pair[1])):
        discordant += len(seen) - bisect_right(seen, second)
        insort(seen, second)
    tied_both = _pairs_in(Counter(pairs))
    concordant = everything - tied_first - tied_second + tied_both - discordant
    return (concordant - discordant) / math.sqrt((everything - tied_first) * (everything - tied_second))


def _pairs_in(counts: Counter[float] | Counter[tuple[float, float]]) -> int:
    return sum(count * (count - 1) // 2 for count in counts.values())
