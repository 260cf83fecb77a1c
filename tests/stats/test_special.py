"""Our distribution functions are scipy's, to about thirteen digits."""

from __future__ import annotations

from fractions import Fraction
from math import asin, comb, pi, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from flowgauge.stats.special import beta_inc, binomial_bounds, normal_quantile, normal_sf, student_quantile, student_sf


@pytest.mark.parametrize("p", [1e-12, 0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.999999])
def test_normal_quantiles(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(float(stats.norm.ppf(p)), rel=1e-12, abs=1e-15)
    assert normal_sf(normal_quantile(p)) == pytest.approx(1 - p, rel=1e-9)


@pytest.mark.parametrize(
    ("degrees", "known"),
    [(1, 12.706204736174694), (2, 4.302652729749462), (4, 2.7764451051977934), (10, 2.2281388519862735), (30, 2.0422724563012378)],
)
def test_students_t_as_the_tables_have_it(degrees: int, known: float) -> None:
    assert student_quantile(0.975, degrees) == pytest.approx(known, rel=1e-12)
    assert student_quantile(0.025, degrees) == pytest.approx(-known, rel=1e-12)


@given(st.floats(min_value=0.5, max_value=0.9999), st.one_of(st.integers(1, 200), st.sampled_from([1000, 10**5, 10**6])))
def test_students_t_as_scipy_has_it(p: float, degrees: int) -> None:
    assert student_quantile(p, degrees) == pytest.approx(float(stats.t.ppf(p, degrees)), rel=1e-8, abs=1e-9)


@given(st.floats(min_value=-50, max_value=50), st.floats(min_value=0.5, max_value=1e4))
def test_the_tail_of_students_t(t: float, degrees: float) -> None:
    assert student_sf(t, degrees) == pytest.approx(float(stats.t.sf(t, degrees)), rel=1e-9, abs=1e-12)


@given(st.floats(min_value=0.1, max_value=500), st.floats(min_value=0.1, max_value=500), st.floats(min_value=0, max_value=1))
def test_the_incomplete_beta_function(a: float, b: float, x: float) -> None:
    """Next to 1, scipy keeps fewer digits than its own complement there (see the arcsine below), so that is asked."""
    known = special.betainc(a, b, x) if x < 0.5 else 1 - special.betainc(b, a, 1 - x)
    assert beta_inc(a, b, x) == pytest.approx(float(known), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rest", [2**-53, 2**-52, 1e-12, 1e-6, 0.25, 0.5])
def test_the_incomplete_beta_function_of_halves_is_an_arcsine(rest: float) -> None:
    assert beta_inc(0.5, 0.5, 1 - rest) == pytest.approx(1 - 2 / pi * asin(sqrt(1 - (1 - rest))), rel=1e-12)


def _exact_bounds(n: int, share: Fraction, tail: Fraction) -> tuple[int, int]:
    weights = [comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    low = max(k for k in range(n + 1) if sum(weights[:k]) <= tail)
    high = min(k for k in range(n + 2) if sum(weights[k:]) <= tail)
    return low, high


@given(st.integers(1, 60), st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(19, 20), Fraction(99, 100)]))
def test_binomial_bounds_are_those_of_exact_arithmetic(n: int, share: Fraction) -> None:
    assert binomial_bounds(n, float(share), 0.025) == _exact_bounds(n, share, Fraction(1, 40))


@pytest.mark.parametrize("n", [10_000, 1_000_000])
@pytest.mark.parametrize("share", [0.5, 0.99])
def test_binomial_bounds_of_large_samples_keep_to_their_tails(n: int, share: float) -> None:
    low, high = binomial_bounds(n, share, 0.025)
    below, above = stats.binom.cdf([low - 1, low], n, share), stats.binom.sf([high - 1, high - 2], n, share)
    assert below[0] <= 0.025 < below[1]
    assert above[0] <= 0.025 < above[1]
