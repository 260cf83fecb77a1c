"""Several cases that break at once prove more than one of them."""

from __future__ import annotations

import random

import pytest
from tests.compare.sides import counts, side

from flowgauge.compare.comparison import compare
from flowgauge.compare.family import chance_of_several
from flowgauge.compare.gate import judge
from flowgauge.compare.rates import compare_rates
from flowgauge.model.gate import Policy
from flowgauge.model.metric import CaseCounts
from flowgauge.model.verdict import GateResult, Tier

HARD: frozenset[Tier] = frozenset({"hard_regression"})
ONLY_CASES = Policy(rates="tiers")


def gate(ours: dict[str, CaseCounts], theirs: dict[str, CaseCounts]) -> GateResult:
    candidate = side("new", ours)
    return judge(compare(candidate, side("old", theirs), policy=ONLY_CASES), candidate, ONLY_CASES)


@pytest.mark.parametrize(
    ("broken", "status"),
    [
        pytest.param(1, "passed", id="one of ten flaky cases proves nothing"),
        pytest.param(4, "failed", id="four of them at once do"),
    ],
)
def test_a_gate_counts_how_many_cases_broke(broken: int, status: str) -> None:
    flaky = {f"flaky {place}": counts(1, 3) for place in range(9 - broken)}
    other = {f"flaky {place}": counts(2, 3) for place in range(9 - broken)}
    ours = {**flaky, **{f"broken {place}": counts(0, 3) for place in range(broken)}}
    theirs = {**other, **{f"broken {place}": counts(3, 3) for place in range(broken)}}
    assert gate(ours, theirs).status == status


def test_the_chance_of_several_is_that_of_a_binomial() -> None:
    cases = {str(place): counts(0, 3) for place in range(5)}
    found = compare_rates(cases, {str(place): counts(3, 3) for place in range(5)})
    assert chance_of_several(found.cases, HARD, 0.05, 2) == pytest.approx(1 - 0.95**5 - 5 * 0.05 * 0.95**4)
    assert chance_of_several(found.cases, HARD, 0.05, 1) == pytest.approx(1 - 0.95**5)


def test_flaky_benches_alarm_no_more_than_one_time_in_twenty_all_told() -> None:
    chance = random.Random(7)
    alarms = 0
    for _ in range(400):
        sides: tuple[dict[str, CaseCounts], dict[str, CaseCounts]] = ({}, {})
        for case in range(20):
            p, runs = chance.choice((0.4, 0.6, 0.8, 0.9)), chance.choice((3, 5, 10))
            for held in sides:
                held[str(case)] = counts(sum(chance.random() < p for _ in range(runs)), runs)
        alarms += gate(*sides).status == "failed"
    assert alarms <= 20
