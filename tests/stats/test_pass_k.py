"""pass@k and pass^k are averages over all ways to draw k runs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.stats.pass_k import pass_at_k, pass_hat_k, pass_hat_k_plug_in

TABLES = st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


@given(TABLES)
def test_they_are_what_drawing_k_of_n_gives(table: tuple[int, int, int]) -> None:
    n, c, k = table
    draws = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_more_tries_than_runs_are_unknown() -> None:
    assert pass_at_k(3, 3, 4) is None
    assert pass_hat_k(3, 3, 4) is None
    assert pass_hat_k_plug_in(3, 3, 4) == 1.0
    assert pass_hat_k_plug_in(0, 0, 1) is None


def test_the_plug_in_form_is_the_rate_to_the_k() -> None:
    assert pass_hat_k_plug_in(4, 2, 3) == 0.125


@pytest.mark.parametrize("of", [pass_at_k, pass_hat_k, pass_hat_k_plug_in])
@pytest.mark.parametrize("table", [(3, 4, 1), (3, 1, 0), (3, -1, 1)])
def test_impossible_counts_are_refused(of: object, table: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        of(*table)  # type: ignore[operator]
