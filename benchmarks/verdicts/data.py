"""Simulated sides: what a workflow's runs look like, as far as a gate is concerned.

A pair is two sides drawn from the same source, with the same drift; `effect`
makes the candidate worse by so much.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from flowgauge.model.figure import Direction

Pairs = tuple[np.ndarray, np.ndarray]
"""Candidates and baselines: one row a pair, one column a run."""
Draw = Callable[[np.random.Generator, int, int, float], Pairs]
DRIFT, OUTLIERS = 0.2, 0.05
PASS_RATE = 0.9


class Kind(NamedTuple):
    """One kind of metric: `draw(chance, pairs, runs, effect)`."""

    name: str
    direction: Direction
    draw: Draw
    cases: int | None = None
    """Runs are spread over so many cases at the most; None: one case."""


def latency(chance: np.random.Generator, pairs: int, runs: int, effect: float, drift: float = DRIFT) -> Pairs:
    """Log-normal, 30 % spread; drifts by a random ±20 % a side that both share; one run in twenty takes 3 to 10 times as long."""
    trend = np.exp(chance.normal(0, drift, (pairs, 1)) * np.linspace(0, 1, runs))
    made = []
    for _ in range(2):
        slow = np.where(chance.random((pairs, runs)) < OUTLIERS, chance.uniform(3, 10, (pairs, runs)), 1.0)
        made.append(1000 * trend * chance.lognormal(0, 0.3, (pairs, runs)) * slow)
    return made[0] * (1 + effect), made[1]


def latency_of_cases(chance: np.random.Generator, pairs: int, runs: int, effect: float) -> Pairs:
    """The same, where each case has a level of its own (a factor of three) and reacts to the change a little differently."""
    cases = min(runs, CASES)
    level = np.tile(chance.lognormal(0, 1, (pairs, cases)), runs // cases)
    reaction = np.tile(chance.lognormal(0, 0.1, (pairs, cases)), runs // cases) if effect else 1.0
    candidate, baseline = latency(chance, pairs, runs, effect)
    return candidate * level * reaction, baseline * level


def cost(chance: np.random.Generator, pairs: int, runs: int, effect: float) -> Pairs:
    """Log-normal, 25 % spread; one run in ten needs a second call."""
    made = [0.002 * chance.lognormal(0, 0.25, (pairs, runs)) * np.where(chance.random((pairs, runs)) < 0.1, 2, 1) for _ in range(2)]
    return made[0] * (1 + effect), made[1]


def score(chance: np.random.Generator, pairs: int, runs: int, effect: float) -> Pairs:
    """0 to 1 in steps of 0.1, mostly high; one in twenty is 0."""
    made = [np.round(chance.beta(8, 2, (pairs, runs)), 1) * (chance.random((pairs, runs)) >= 0.05) for _ in range(2)]
    return made[0] * (1 - effect), made[1]


def passes(chance: np.random.Generator, pairs: int, runs: int, effect: float) -> Pairs:
    """Nine of ten pass."""
    rates = PASS_RATE * (1 - effect), PASS_RATE
    return tuple((chance.random((pairs, runs)) < rate).astype(float) for rate in rates)  # type: ignore[return-value]


def yes_or_no(chance: np.random.Generator, pairs: int, runs: int, effect: float) -> Pairs:
    """A score of 0 or 1; four of five are 1."""
    made = [(chance.random((pairs, runs)) < 0.8).astype(float) for _ in range(2)]
    return made[0] * (1 - effect), made[1]


def waiting(chance: np.random.Generator, pairs: int, runs: int, effect: float) -> Pairs:
    """Exponential, with zeros: one in ten did not wait at all."""
    made = [chance.exponential(1, (pairs, runs)) * (chance.random((pairs, runs)) >= 0.1) for _ in range(2)]
    return made[0] * (1 + effect), made[1]


CASES = 10
LATENCY = Kind("latency", "lower", latency)
STEADY = Kind("latency without drift", "lower", partial(latency, drift=0.0))
"""A baseline that was measured before shares no drift with runs that come in one by one."""
PAIRED = Kind("latency, by case", "lower", latency_of_cases, CASES)
COST = Kind("cost", "lower", cost)
SCORE = Kind("score", "higher", score)
PASSES = Kind("pass rate", "higher", passes)
YES_OR_NO = Kind("score of 0 or 1", "higher", yes_or_no)
WAITING = Kind("waiting time with zeros", "lower", waiting)
KINDS = (PASSES, LATENCY, PAIRED, COST, SCORE)
