"""The longest common subsequence of two sequences, by its length.

Bit-parallel (Hyyrö 2004): one big integer holds a row of the table, so that a
row costs a few machine words for each 64 items. Large work yields now and then.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

ROWS_AT_ONCE = 2000


def common_length(first: Sequence[Hashable], second: Sequence[Hashable]) -> Iterator[int]:
    """Steps of the work; the last one is the length."""
    if len(first) > len(second):
        first, second = second, first
    places: dict[Hashable, int] = {}
    for index, item in enumerate(first):
        places[item] = places.get(item, 0) | (1 << index)
    whole = (1 << len(first)) - 1
    row = whole
    for number, item in enumerate(second, 1):
        matched = row & places.get(item, 0)
        row = ((row + matched) | (row - matched)) & whole
        if number % ROWS_AT_ONCE == 0:
            yield 0
    yield len(first) - row.bit_count()
