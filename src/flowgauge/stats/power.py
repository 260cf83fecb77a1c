"""How many runs does it take, and what can be found with those at hand?

Effects, spreads and rates in, numbers of runs a side or chances out. Also
calibration: any judge is tried on resampled data, once where nothing changed
and once for each size of effect. None where no number of runs would do.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from flowgauge.stats.intervals import Bounds, wilson
from flowgauge.stats.special import normal_quantile, normal_sf, student_quantile
from flowgauge.stats.two_samples import fisher_less

MOST_RUNS = 10_000_000
"""A side; what would need more is told as unknown."""
_MOST_EXACT_RUNS = 60
_NODES = 100


class _Wanted(NamedTuple):
    difference: float
    spread: float
    alpha: float
    power: float


def power_of_means(runs: int, difference: float, spread: float, *, alpha: float = 0.05) -> float:
    """The chance that a one-sided t test of two means, with so many runs a side, finds a difference. `spread` is that of a run.

    For a ratio of skewed values hand in logarithms: `math.log(ratio)`, and the spread from `log_spread`.
    """
    if runs < 2:
        return 0.0
    return _t_power(difference / spread * math.sqrt(runs / 2), 2 * runs - 2, alpha)


def power_of_cases(cases: int, difference: float, spread: float, *, alpha: float = 0.05) -> float:
    """The same for one difference a case; `spread` is that of these differences."""
    if cases < 2:
        return 0.0
    return _t_power(difference / spread * math.sqrt(cases), cases - 1, alpha)


def runs_for_means(difference: float, spread: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """How many runs a side find a difference of means with such a chance."""
    return _fewest(lambda runs: power_of_means(runs, difference, spread, alpha=alpha), _Wanted(difference, spread, alpha, power), 2)


def cases_for_means(difference: float, spread: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """How many cases find a mean difference of cases with such a chance."""
    return _fewest(lambda cases: power_of_cases(cases, difference, spread, alpha=alpha), _Wanted(difference, spread, alpha, power), 1)


def power_of_rates(runs: int, rate: float, lower_rate: float, *, alpha: float = 0.05) -> float:
    """The chance that Fisher's one-sided test finds a rate that fell, with so many runs a side.

    Exact up to 60 runs; beyond, by the arcsine approximation with a continuity correction (Walters 1979, The Statistician 28(2)).
    """
    if runs <= _MOST_EXACT_RUNS:
        chances, others = _binomial(runs, lower_rate), _binomial(runs, rate)
        most = _rejected(runs, alpha)
        return math.fsum(other * math.fsum(chances[: most[passes] + 1]) for passes, other in enumerate(others) if most[passes] >= 0)
    step = 1 / (2 * runs)
    high, low = max(0.0, rate - step), min(1.0, lower_rate + step)
    distance = 2 * (math.asin(math.sqrt(high)) - math.asin(math.sqrt(low)))
    return normal_sf(normal_quantile(1 - alpha) - distance * math.sqrt(runs / 2))


def runs_for_rates(rate: float, lower_rate: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """How many runs a side find such a fall of a rate with such a chance."""
    if not 0 <= lower_rate < rate <= 1:
        return None
    return _search(lambda runs: power_of_rates(runs, rate, lower_rate, alpha=alpha), power)


def log_spread(variation: float) -> float:
    """The spread of logarithms of log-normal values, from their coefficient of variation (spread by mean)."""
    return math.sqrt(math.log1p(variation * variation))


class Found(NamedTuple):
    """How often a judge raised the alarm."""

    effect: float
    """0.1: the candidate was made 10 % larger; 0: nothing changed."""
    alarms: int
    trials: int
    rate: float
    interval: Bounds
    """Wilson, 95 %."""


ByCase = Mapping[str, Sequence[float]]
Change = Callable[[float, float, random.Random], float]
"""A value as it would be under an effect."""


def calibrate(
    samples: ByCase,
    judge: Callable[[ByCase, ByCase], bool],
    *,
    runs: int,
    effects: Sequence[float] = (0.0, 0.1, 0.2, 0.5),
    pairs: int = 1000,
    seed: int = 0,
    change: Change = lambda value, effect, _: value * (1 + effect),
) -> list[Found]:
    """How often the judge (candidate, baseline → alarm?) is right: both sides are drawn from the same samples, with so many runs a case.

    Where an effect is not zero, the candidate's values are changed by it. The alarms at 0 are false, those beyond it are its power.
    """
    held = {case: list(values) for case, values in samples.items() if values}
    found = []
    for effect in effects:
        chance = random.Random(seed)
        alarms = 0
        for _ in range(pairs):
            candidate, baseline = ({case: chance.choices(values, k=runs) for case, values in held.items()} for _ in range(2))
            if effect:
                candidate = {case: [change(value, effect, chance) for value in values] for case, values in candidate.items()}
            alarms += judge(candidate, baseline)
        found.append(Found(effect, alarms, pairs, alarms / pairs, wilson(alarms, pairs)))
    return found


def _t_power(centre: float, degrees: int, alpha: float) -> float:
    """P(T > critical) of a non-central t: a normal tail, averaged over the chi distribution of the spread (midpoints of its quantiles)."""
    critical = student_quantile(1 - alpha, degrees)
    return math.fsum(normal_sf(critical * spread - centre) for spread in _spreads(degrees)) / _NODES


@lru_cache(maxsize=512)
def _spreads(degrees: int) -> tuple[float, ...]:
    """Evenly likely values of √(χ²/ν), by the cube root of Wilson & Hilferty (1931), PNAS 17(12)."""
    step = 2 / (9 * degrees)
    cubes = (1 - step + normal_quantile((place + 0.5) / _NODES) * math.sqrt(step) for place in range(_NODES))
    return tuple(max(0.0, cube) ** 1.5 for cube in cubes)


def _fewest(power_of: Callable[[int], float], wanted: _Wanted, units_a_side: int) -> int | None:
    """From what the normal distribution would need, up or down."""
    if wanted.difference <= 0:
        return None
    if wanted.spread <= 0:
        return 2
    reach = (normal_quantile(1 - wanted.alpha) + normal_quantile(wanted.power)) * wanted.spread / wanted.difference
    if reach > math.sqrt(MOST_RUNS / units_a_side):
        return None
    runs = max(2, math.ceil(units_a_side * reach * reach))
    while power_of(runs) < wanted.power:
        runs += 1
    while runs > 2 and power_of(runs - 1) >= wanted.power:
        runs -= 1
    return runs


def _search(power_of: Callable[[int], float], power: float) -> int | None:
    """By doubling, then by halves. Exact powers of rates are not quite monotone; the answer is right to a run or two."""
    short, enough = 1, 2
    while power_of(enough) < power:
        short, enough = enough, 2 * enough
        if enough > MOST_RUNS:
            return None
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (short, middle) if power_of(middle) >= power else (middle, enough)
    return enough


@lru_cache(maxsize=128)
def _rejected(runs: int, alpha: float) -> tuple[int, ...]:
    """By passes of the baseline: the most passes of the candidate at which Fisher finds a fall; -1: none."""
    most, found = -1, []
    for passes in range(runs + 1):
        while most + 1 <= passes and fisher_less(most + 1, runs, passes, runs) <= alpha:
            most += 1
        found.append(most)
    return tuple(found)


def _binomial(runs: int, rate: float) -> list[float]:
    return [math.comb(runs, passes) * rate**passes * (1 - rate) ** (runs - passes) for passes in range(runs + 1)]
