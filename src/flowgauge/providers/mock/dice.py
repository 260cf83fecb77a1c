"""Chance that repeats itself: the same seed gives the same throws on every machine and Python.

Takes bytes, gives numbers and picks. Not for secrets.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

Item = TypeVar("Item")
_SPAN = float(1 << 53)


class Dice:
    """Throws derived from a seed by hashing, one 64-byte digest at a time."""

    __slots__ = ("_at", "_page", "_seed", "_throws")

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._page = 0
        self._throws = b""
        self._at = 64

    def word(self) -> int:
        """64 bits."""
        if self._at >= 64:
            self._throws = blake2b(self._page.to_bytes(4, "big"), key=self._seed[:64]).digest()
            self._page += 1
            self._at = 0
        value = int.from_bytes(self._throws[self._at : self._at + 8], "big")
        self._at += 8
        return value

    def unit(self) -> float:
        """At least 0, below 1."""
        return (self.word() >> 11) / _SPAN

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + self.word() % (high - low + 1)

    def pick(self, items: Sequence[Item]) -> Item:
        """One of them."""
        return items[self.word() % len(items)]
