"""Fisher, Wilson, pass@k and pass^k against rational arithmetic, on thousands of random tables."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import pytest

from flowgauge.stats.intervals import wilson
from flowgauge.stats.pass_k import pass_at_k, pass_hat_k, pass_hat_k_plug_in
from flowgauge.stats.two_samples import fisher_greater, fisher_less, fisher_tail

TABLES = 3000


def _tables(most: int, seed: int) -> list[tuple[int, int, int, int]]:
    chance = random.Random(seed)
    totals = [(chance.randint(0, most), chance.randint(0, most)) for _ in range(TABLES)]
    return [(chance.randint(0, n), n, chance.randint(0, m), m) for n, m in totals]


def _hypergeometric(k: int, total: int, other_total: int, passes: int) -> Fraction:
    """By the product of draws without replacement: no binomial coefficient in it."""
    p = Fraction(1)
    passed, left = passes, total + other_total
    for _ in range(k):
        p *= Fraction(passed, left)
        passed, left = passed - 1, left - 1
    failed = total + other_total - passes
    for _ in range(total - k):
        p *= Fraction(failed, left)
        failed, left = failed - 1, left - 1
    orders = Fraction(1)
    for place in range(k):
        orders *= Fraction(total - place, place + 1)
    return p * orders


def test_fisher_is_the_sum_of_its_tables() -> None:
    for count, total, other, other_total in _tables(16, 1):
        passes = count + other
        held = range(max(0, passes - other_total), min(total, passes) + 1)
        weights = {k: _hypergeometric(k, total, other_total, passes) for k in held}
        assert sum(weights.values()) == 1
        assert fisher_greater(count, total, other, other_total) == sum(p for k, p in weights.items() if k >= count)
        assert fisher_less(count, total, other, other_total) == sum(p for k, p in weights.items() if k <= count)


def test_both_tails_hold_the_table_itself_once_too_often() -> None:
    for count, total, other, other_total in _tables(400, 2):
        table = Fraction(math.comb(total, count) * math.comb(other_total, other), math.comb(total + other_total, count + other))
        both = fisher_greater(count, total, other, other_total) + fisher_less(count, total, other, other_total)
        assert both == 1 + table


def test_beyond_two_thousand_trials_floats_agree_with_fractions() -> None:
    chance = random.Random(3)
    for _ in range(40):
        n, m = chance.randint(1001, 1500), chance.randint(1001, 1500)
        count, other = chance.randint(n // 2, n), chance.randint(m // 2, m)
        found = fisher_tail(count, n, other, m)
        assert isinstance(found, float)
        assert found == pytest.approx(float(fisher_greater(count, n, other, m)), rel=1e-9, abs=1e-25)


def test_wilson_bounds_are_the_roots_of_its_equation() -> None:
    """(p̂ - p)² n = z² p (1 - p): in fractions, the signs of the two sides change within a hair of each bound."""
    z_square, hair = Fraction(196, 100) ** 2, Fraction(1, 10**12)

    def beyond(p: Fraction, count: int, total: int) -> Fraction:
        return (Fraction(count, total) - p) ** 2 * total - z_square * p * (1 - p)

    for count, total, _, _ in _tables(500, 5):
        if not total:
            assert wilson(count, total) == (0.0, 1.0)
            continue
        low, high = (Fraction(bound) for bound in wilson(count, total))
        assert 0 <= low <= Fraction(count, total) <= high <= 1
        if count:
            assert beyond(low - hair, count, total) > 0 > beyond(low + hair, count, total)
        if count < total:
            assert beyond(high + hair, count, total) > 0 > beyond(high - hair, count, total)


def test_pass_at_k_and_pass_hat_k_are_draws_without_replacement() -> None:
    chance = random.Random(6)
    for _ in range(TABLES):
        n = chance.randint(1, 60)
        c, k = chance.randint(0, n), chance.randint(1, n)
        all_fail = math.prod((Fraction(n - c - i, n - i) for i in range(k)), start=Fraction(1)) if k <= n - c else Fraction(0)
        all_pass = math.prod((Fraction(c - i, n - i) for i in range(k)), start=Fraction(1)) if k <= c else Fraction(0)
        assert pass_at_k(n, c, k) == float(1 - all_fail)
        assert pass_hat_k(n, c, k) == float(all_pass)
        assert pass_hat_k_plug_in(n, c, k) == pytest.approx(float(Fraction(c, n) ** k), rel=1e-12)


def test_more_tries_help_one_success_and_hurt_success_every_time() -> None:
    chance = random.Random(7)
    for _ in range(200):
        n = chance.randint(2, 40)
        c = chance.randint(0, n)
        once, always = [pass_at_k(n, c, k) for k in range(1, n + 1)], [pass_hat_k(n, c, k) for k in range(1, n + 1)]
        assert all(a is not None and b is not None and a <= b for a, b in pairwise(once))
        assert all(a is not None and b is not None and a >= b for a, b in pairwise(always))
