"""Several tests at once: p-values in, adjusted p-values out, in the same order."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Keeps the chance of even one false alarm: Holm (1979), Scand. J. Statist. 6(2)."""
    n, worst = len(p_values), 0.0
    adjusted = [0.0] * n
    for rank, index in enumerate(_by_size(p_values)):
        worst = max(worst, min(1.0, (n - rank) * p_values[index]))
        adjusted[index] = worst
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Keeps the expected share of false alarms among alarms: Benjamini & Hochberg (1995), JRSS B 57(1)."""
    n, best = len(p_values), 1.0
    adjusted = [0.0] * n
    for rank, index in reversed(list(enumerate(_by_size(p_values), start=1))):
        best = min(best, p_values[index] * n / rank)
        adjusted[index] = best
    return adjusted


def _by_size(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=p_values.__getitem__)
