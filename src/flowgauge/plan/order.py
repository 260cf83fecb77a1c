"""A bench becomes trials, in the order in which they start.

In: a bench, its id, the run ids that are done. Out: the trials that are left,
one by one; memory grows with the cases, not with the trials.

The order is a randomised block design. In each repetition the cases come in a
shuffled order, and each case is run by all configurations, in a shuffled order,
before the next one: after any number of trials, two configurations differ by
one at most. So a provider that grows slow in the course of a bench is slow for
all of them.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Container, Iterator
from typing import TypeVar

from flowgauge.model.bench import Bench, PlannedTrial
from flowgauge.plan.ids import run_id

T = TypeVar("T")
_UNUSED = random.Random(0)
"""One trial has one order; to seed a generator for it takes longer than all the rest."""


def total(bench: Bench) -> int:
    """How many trials the whole bench has."""
    return len(bench.configs) * runs_of_cases(bench)


def runs_of_cases(bench: Bench) -> int:
    """How many trials each configuration has."""
    return sum(case.runs or bench.runs for case in bench.cases)


def expand(bench: Bench, bench_id: str, done: Container[str] = ()) -> Iterator[PlannedTrial]:
    """The trials that are not done. Positions count from 0 over the whole plan, done or not; repetitions count from 0."""
    configs = [config.name for config in bench.configs]
    runs = [case.runs or bench.runs for case in bench.cases]
    position = 0
    for repetition in range(max(runs, default=0)):
        cases = [case.name for case, times in zip(bench.cases, runs, strict=True) if repetition < times]
        chance = _chance(bench.seed, repetition) if len(cases) > 1 or len(configs) > 1 else _UNUSED
        shuffle(cases, chance)
        for case in cases:
            shuffle(configs, chance)
            for config in configs:
                name = run_id(config, case, repetition, bench_id)
                if name not in done:
                    yield PlannedTrial(name, position, config, case, repetition)
                position += 1
        configs = [config.name for config in bench.configs]


def shuffle(items: list[T], chance: random.Random) -> None:
    """Fisher and Yates, in place, on `random()` alone: the one method whose sequence Python promises never to change."""
    for last in range(len(items) - 1, 0, -1):
        chosen = int(chance.random() * (last + 1))
        items[last], items[chosen] = items[chosen], items[last]


def _chance(seed: int, repetition: int) -> random.Random:
    """Every repetition has its own, so that more runs leave the order of the earlier ones as it was."""
    return random.Random(int.from_bytes(hashlib.sha256(f"{seed}/{repetition}".encode()).digest()[:8], "big"))
