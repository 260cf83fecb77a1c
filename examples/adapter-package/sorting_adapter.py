"""A Flowgauge adapter. It needs nothing of Flowgauge to be imported, so it runs in an environment of its own too."""

from __future__ import annotations

import random
import statistics
import time
from itertools import pairwise
from typing import Any


class SortingAdapter:
    """Sorts the same numbers several times. Options come from the settings file, as keyword arguments."""

    name = "sorting"
    tier = "fast"
    requires: dict[str, Any] = {}

    def __init__(self, numbers: int = 20_000, rounds: int = 5) -> None:
        self.numbers = numbers
        self.rounds = rounds

    def run(self) -> dict[str, dict[str, Any]]:
        """Metrics by name: value, which way is better, unit."""
        dice = random.Random(7)
        numbers = [dice.random() for _ in range(self.numbers)]
        times_ms, right = [], True
        for _ in range(self.rounds):
            start = time.perf_counter()
            done = sorted(numbers)
            times_ms.append((time.perf_counter() - start) * 1000)
            right = right and all(a <= b for a, b in pairwise(done))
        return {
            "sorting_ms": {"value": statistics.median(times_ms), "direction": "lower", "unit": "ms"},
            "sorting_right": {"value": right, "direction": "higher", "unit": "bool"},
        }
