"""Judges against human gold: how close, and how sure that is.

A pair is what a judge gave for a case and what a person says is right. Gold may
be a number, a truth value or a word for one (yes, no, pass, fail, …); anything
else cannot be held against a score and is counted as skipped, not guessed at.
Several runs of one case are not several cases: resampling draws whole cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from flowgauge.aggregate.tally import Tally
from flowgauge.model.bench import Bench
from flowgauge.model.workflow import Json
from flowgauge.stats.agreement import cohen_kappa, krippendorff_alpha
from flowgauge.stats.bootstrap import bca
from flowgauge.stats.ranks import kendall, spearman

Gold = Mapping[str, Mapping[str, Json]]
"""By check or score: what is right, by case."""

_MOST_CATEGORIES = 20
_RESAMPLES = 1000
_WORDS = {"true": 1.0, "yes": 1.0, "pass": 1.0, "passed": 1.0, "false": 0.0, "no": 0.0, "fail": 0.0, "failed": 0.0}
_JUDGING = frozenset({"judge", "python", "command"})
"""Checks that have a mind of their own; all others were told what is right."""

_Rated = tuple[float, float]


class Pair(NamedTuple):
    """What a judge gave and what is right, for one run of one case."""

    case: str
    judge: float | None
    gold: Json


def agreement(pairs: Iterable[Pair], *, seed: int = 0) -> dict[str, Json]:
    """Coefficients with 95 % intervals; None for what is undefined, intervals too where there are too few cases."""
    by_case: dict[str, list[_Rated]] = {}
    skipped = 0
    for pair in pairs:
        gold = gold_number(pair.gold)
        if pair.judge is None or gold is None:
            skipped += 1
        else:
            by_case.setdefault(pair.case, []).append((float(pair.judge), gold))
    cases = list(by_case.values())
    rated = _flat(cases)
    found: dict[str, Json] = {"pairs": len(rated), "cases": len(cases), "skipped": skipped}
    if rated:
        found["same"] = sum(judge == gold for judge, gold in rated) / len(rated)
        found["mean_difference"] = math.fsum(judge - gold for judge, gold in rated) / len(rated)
    for name, coefficient in _coefficients(rated).items():
        found[name] = None if coefficient is None else coefficient(rated)
        found[f"{name}_interval"] = None if coefficient is None else _interval(cases, coefficient, seed)
    return found


def gold_number(value: Json) -> float | None:
    """A gold value as a number; None where it is none. Data sets hold text as often as numbers."""
    if isinstance(value, bool | int | float):
        number = float(value)
    elif isinstance(value, str):
        word = value.strip().lower()
        try:
            number = _WORDS[word] if word in _WORDS else float(word)
        except ValueError:
            return None
    else:
        return None
    return number if math.isfinite(number) else None


def gold_of(bench: Bench) -> Gold:
    """The `expected.*` columns that judges can be held against: those named like a check that judges, or like no check at all."""
    specs = chain(bench.checks, *(case.checks for case in bench.cases))
    told = {spec.name for spec in specs if spec.type not in _JUDGING}
    columns: dict[str, dict[str, Json]] = {}
    for case in bench.cases:
        for name, value in case.expected.items():
            if name not in told:
                columns.setdefault(name, {})[case.name] = value
    return columns


def agreements(tallies: Mapping[str, Mapping[str, Tally]], gold: Gold, *, seed: int = 0) -> dict[str, dict[str, Json]]:
    """By configuration and check, from the tallies of its cases; only what was scored and has gold."""
    found: dict[str, dict[str, Json]] = {}
    for config, cases in tallies.items():
        for name, right in gold.items():
            pairs = list(_pairs(name, cases, right))
            if any(gold_number(pair.gold) is not None for pair in pairs):
                found.setdefault(config, {})[name] = agreement(pairs, seed=seed)
    return found


def _pairs(name: str, cases: Mapping[str, Tally], right: Mapping[str, Json]) -> Iterator[Pair]:
    """Decisions where gold is a decision and the check makes them, else scores."""
    decides = all(gold_number(value) in (0.0, 1.0) for value in right.values()) and any(name in tally.checks for tally in cases.values())
    for case, gold in right.items():
        tally = cases.get(case)
        if tally is None:
            continue
        if decides:
            passed, decided = tally.checks.get(name, (0, 0))
            yield from [Pair(case, 1.0, gold)] * passed + [Pair(case, 0.0, gold)] * (decided - passed)
        else:
            yield from (Pair(case, score, gold) for score in tally.scores.get(name, ()))


def _coefficients(rated: Sequence[_Rated]) -> dict[str, Callable[[Sequence[_Rated]], float | None] | None]:
    values = sorted({value for pair in rated for value in pair})
    few = len(values) <= _MOST_CATEGORIES
    binary = set(values) <= {0.0, 1.0}
    return {
        "kappa": (lambda pairs: cohen_kappa(pairs)) if few else None,
        "kappa_weighted": (lambda pairs: cohen_kappa(pairs, weights="quadratic", categories=values)) if few else None,
        "alpha": lambda pairs: krippendorff_alpha(pairs, level="nominal" if binary else "interval"),
        "spearman": spearman,
        "kendall": kendall,
    }


def _interval(cases: Sequence[Sequence[_Rated]], coefficient: Callable[[Sequence[_Rated]], float | None], seed: int) -> Json:
    bounds = bca(cases, lambda drawn: coefficient(_flat(drawn)), seed=seed, resamples=_RESAMPLES)
    return None if bounds is None else {"low": bounds[0], "high": bounds[1]}


def _flat(cases: Sequence[Sequence[_Rated]]) -> list[_Rated]:
    return [pair for case in cases for pair in case]
