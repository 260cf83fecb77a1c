"""Looking while the data grow: the gate's schedule, looking without one, and other ways to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from benchmarks.verdicts.data import PASSES, Kind
from benchmarks.verdicts.judges import rate_gate, verdict
from scipy import stats

from flowgauge.stats.sequential import alpha_at, looks

FIRST, MOST, BASELINE = 3, 100, 30
ALPHA, TOLERANCE = 0.05, 0.05
Answer = str
"""harm, harmless or open."""


class Stopped(NamedTuple):
    """Over all pairs."""

    harm: float
    harmless: float
    runs: float
    peeking: float
    """How often somebody who looks as often, and takes 5 % each time, would have seen harm."""


def until_decided(kind: Kind, pairs: int, effect: float, tolerance: float, seed: int) -> Stopped:
    """A baseline of 30 runs; the candidate grows from 3 to 100 until its gate is decided."""
    chance = np.random.default_rng(seed)
    candidates, _ = kind.draw(chance, pairs, MOST, effect)
    _, baselines = kind.draw(np.random.default_rng(seed), pairs, MOST, 0.0)
    schedule = looks(FIRST, MOST)
    found = [
        _follow(kind, ours, theirs[:BASELINE], tolerance, schedule)
        for ours, theirs in zip(candidates.tolist(), baselines.tolist(), strict=True)
    ]
    answers = [answer for answer, _, _ in found]
    runs = [runs for _, runs, _ in found]
    return Stopped(
        answers.count("harm") / pairs, answers.count("harmless") / pairs, sum(runs) / pairs, sum(peeked for *_, peeked in found) / pairs
    )


def _follow(kind: Kind, ours: list[float], theirs: list[float], tolerance: float, schedule: tuple[int, ...]) -> tuple[Answer, int, bool]:
    answer, stopped, peeked = "open", schedule[-1], False
    for number, runs in enumerate(schedule, start=1):
        found, naive = _look(kind, ours[:runs], theirs, tolerance, alpha_at(number, len(schedule), ALPHA))
        peeked = peeked or naive
        if answer == "open" and found != "open":
            answer, stopped = found, runs
        if answer != "open" and peeked:
            break
    return answer, stopped, peeked


def _look(kind: Kind, ours: list[float], theirs: list[float], tolerance: float, alpha: float) -> tuple[Answer, bool]:
    """What the gate says at this look, and whether one that takes 5 % would see harm."""
    if kind is PASSES:
        tables = [rate_gate(int(sum(ours)), len(ours), int(sum(theirs)), len(theirs), tolerance, level) for level in (alpha, ALPHA)]
        failed = [table.status == "failed" for table in tables]
        decided = all(line.verdict != "inconclusive" for line in tables[0].lines)
        return "harm" if failed[0] else "harmless" if decided else "open", failed[1]
    found = verdict(kind, ours, theirs, tolerance, alpha)
    answer = {"regressed": "harm", "improved": "harmless", "unchanged": "harmless"}.get(found.verdict, "open")
    return answer, found.p_harm is not None and found.p_harm <= ALPHA


Boundary = Callable[[int], float]


def stopping_rules(pairs: int, effect: float) -> Iterator[tuple[str, float, float]]:
    """Harm found and mean runs, by way of stopping: logarithms with a spread of 0.3, 200 runs at most, a baseline of 100."""
    most, baseline = 200, 100
    for factor in (1.3, 1.5, 2.0):
        schedule = looks(FIRST, most, factor=factor)
        count = len(schedule)
        yield (
            f"looks × {factor}, rising shares",
            *_stop(pairs, effect, schedule, partial(alpha_at, of=count, alpha=ALPHA), baseline),
        )
        yield f"looks × {factor}, equal shares", *_stop(pairs, effect, schedule, _level(ALPHA / count), baseline)
    yield (
        "group sequential (Pocock), looks × 1.5",
        *_stop(pairs, effect, looks(FIRST, most), _pocock(looks(FIRST, most), baseline), baseline),
    )
    yield "confidence sequence, after every run", *_confidence_sequence(pairs, effect, most, baseline)


def _draw(pairs: int, effect: float, most: int, baseline: int) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(3)
    return chance.normal(math.log1p(effect), 0.3, (pairs, most)), chance.normal(0, 0.3, (pairs, baseline))


def _stop(pairs: int, effect: float, schedule: tuple[int, ...], alpha_of: Boundary, baseline: int) -> tuple[float, float]:
    ours, theirs = _draw(pairs, effect, schedule[-1], baseline)
    runs, harm = np.full(pairs, schedule[-1]), np.zeros(pairs, dtype=bool)
    still = np.ones(pairs, dtype=bool)
    for number, look in enumerate(schedule, start=1):
        test = stats.ttest_ind(ours[:, :look] - math.log1p(TOLERANCE), theirs, axis=1)
        above = stats.t.sf(test.statistic, test.df)
        decided = still & (np.minimum(above, 1 - above) <= alpha_of(number))
        runs[decided], harm[decided] = look, above[decided] < 0.5
        still &= ~decided
    return float(harm.mean()), float(runs.mean())


def _pocock(schedule: tuple[int, ...], baseline: int) -> Boundary:
    """One level for all looks, from the joint normal distribution of their statistics."""
    information = np.array([look * baseline / (look + baseline) for look in schedule])
    steps = np.random.default_rng(1).normal(size=(200_000, len(schedule))) * np.sqrt(np.diff(information, prepend=0.0))
    largest = (np.cumsum(steps, axis=1) / np.sqrt(information)).max(axis=1)
    return _level(float(stats.norm.sf(np.quantile(largest, 1 - ALPHA))))


def _level(level: float) -> Boundary:
    return lambda _: level


def _confidence_sequence(pairs: int, effect: float, most: int, baseline: int) -> tuple[float, float]:
    """Waudby-Smith et al. 2024, for the candidate, at 3/4 of alpha; an interval of the baseline's mean at the rest."""
    ours, theirs = _draw(pairs, effect, most, baseline)
    slack = stats.t.ppf(1 - ALPHA / 4, baseline - 1) * theirs.std(axis=1, ddof=1) / math.sqrt(baseline)
    runs, harm, still = np.full(pairs, most), np.zeros(pairs, dtype=bool), np.ones(pairs, dtype=bool)
    for n in range(5, most + 1):
        tuned = n * 0.3**2
        radius = np.sqrt(2 * (tuned + 1) / (n * tuned) * math.log(1 + math.sqrt(tuned + 1) / (2 * ALPHA * 3 / 4)))
        gap = ours[:, :n].mean(axis=1) - theirs.mean(axis=1) - math.log1p(TOLERANCE)
        decided = still & (np.abs(gap) > ours[:, :n].std(axis=1, ddof=1) * radius + slack)
        runs[decided], harm[decided] = n, gap[decided] > 0
        still &= ~decided
    return float(harm.mean()), float(runs.mean())
