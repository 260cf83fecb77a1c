"""How likely k further tries are to succeed, once or every time, from c successes of n."""

from __future__ import annotations

import math
from fractions import Fraction


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """At least one of k succeeds: 1 - C(n-c, k) / C(n, k), unbiased (Chen et al. 2021, arXiv:2107.03374). None where k > n."""
    if _unknown(n, c, k):
        return None
    return float(1 - Fraction(math.comb(n - c, k), math.comb(n, k)))


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """All of k succeed: C(c, k) / C(n, k), unbiased (Yao et al. 2024, τ-bench, arXiv:2406.12045). None where k > n."""
    if _unknown(n, c, k):
        return None
    return float(Fraction(math.comb(c, k), math.comb(n, k)))


def pass_hat_k_plug_in(n: int, c: int, k: int) -> float | None:
    """All of k succeed, as (c / n)^k: defined for any k, too high on average. None without a trial."""
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"{c} of {n} with k = {k} cannot be.")
    return (c / n) ** k if n else None


def _unknown(n: int, c: int, k: int) -> bool:
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"{c} of {n} with k = {k} cannot be.")
    return k > n
