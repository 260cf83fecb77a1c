"""Judges against human gold: how close, and how sure that is.

A pair is what a judge gave for a case and what a person says is right: numbers,
truth values or words for them (yes, no, pass, fail, …), or labels where the
judge itself gives labels. A pair that cannot be compared is counted as skipped,
not guessed at.
Several runs of one case are not several cases: resampling draws whole cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from flowgauge.aggregate.tally import Tally
from flowgauge.model.bench import Bench
from flowgauge.model.workflow import Json
from flowgauge.stats.agreement import cohen_kappa, krippendorff_alpha
from flowgauge.stats.bootstrap import bca, grouped_jackknife
from flowgauge.stats.ranks import kendall, spearman

Gold = Mapping[str, Mapping[str, Json]]
"""By check or score: what is right, by case."""

_MOST_CATEGORIES = 20
_RESAMPLES = 1000
_MOST_RESAMPLED = 1000
"""Cases. Of more, intervals are made by leaving groups out: as good there, and fifty times faster."""
_WORDS = {"true": 1.0, "yes": 1.0, "pass": 1.0, "passed": 1.0, "false": 0.0, "no": 0.0, "fail": 0.0, "failed": 0.0}
_JUDGING = frozenset({"judge", "python", "command"})
"""Checks that have a mind of their own; all others were told what is right."""

_Rated = tuple[Any, Any]
"""Two numbers, or two labels in lower case."""
_Coefficient = Callable[[Sequence[_Rated]], float | None]


class Pair(NamedTuple):
    """What a judge gave and what is right, for one run of one case."""

    case: str
    judge: Json
    gold: Json


def agreement(pairs: Iterable[Pair], *, seed: int = 0) -> dict[str, Json]:
    """Coefficients with 95 % intervals; None for what is undefined, intervals too where there are too few cases."""
    given = list(pairs)
    labels = any(isinstance(pair.judge, str) and gold_number(pair.judge) is None for pair in given)
    read = _label if labels else gold_number
    by_case: dict[str, list[_Rated]] = {}
    for pair in given:
        judge, gold = read(pair.judge), read(pair.gold)
        if judge is not None and gold is not None:
            by_case.setdefault(pair.case, []).append((judge, gold))
    cases = list(by_case.values())
    rated = _flat(cases)
    found: dict[str, Json] = {"pairs": len(rated), "cases": len(cases), "skipped": len(given) - len(rated)}
    if rated:
        found["same"] = sum(judge == gold for judge, gold in rated) / len(rated)
    if rated and not labels:
        found["mean_difference"] = math.fsum(judge - gold for judge, gold in rated) / len(rated)
    for name, coefficient in (_OF_LABELS if labels else _of_numbers(rated)).items():
        found[name] = None if coefficient is None else coefficient(rated)
        found[f"{name}_interval"] = None if coefficient is None else _interval(cases, coefficient, seed)
    return found


def _label(value: Json) -> str | None:
    return str(value).strip().casefold() if isinstance(value, str | bool | int | float) else None


def gold_number(value: Json) -> float | None:
    """A rating as a number; None where it is none. Data sets hold text as often as numbers."""
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
        compared = {name: list(_pairs(name, cases, right)) for name, right in gold.items()}
        compared = {name: pairs for name, pairs in compared.items() if any(gold_number(pair.gold) is not None for pair in pairs)}
        for name, pairs in (compared | _told(cases)).items():
            found.setdefault(config, {})[name] = agreement(pairs, seed=seed)
    return found


def _told(cases: Mapping[str, Tally]) -> dict[str, list[Pair]]:
    """The pairs that `gold` checks kept, by check."""
    found: dict[str, list[Pair]] = {}
    for case, tally in cases.items():
        for name, counts in tally.pairs.items():
            for (label, gold), count in counts.items():
                found.setdefault(name, []).extend([Pair(case, label, gold)] * count)
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


_OF_LABELS: dict[str, _Coefficient | None] = {"kappa": cohen_kappa, "alpha": krippendorff_alpha}


def _of_numbers(rated: Sequence[_Rated]) -> dict[str, _Coefficient | None]:
    values = sorted({value for pair in rated for value in pair})
    few = len(values) <= _MOST_CATEGORIES
    binary = set(values) <= {0.0, 1.0}
    return {
        "kappa": cohen_kappa if few else None,
        "kappa_weighted": (lambda pairs: cohen_kappa(pairs, weights="quadratic", categories=values)) if few else None,
        "alpha": lambda pairs: krippendorff_alpha(pairs, level="nominal" if binary else "interval"),
        "spearman": spearman,
        "kendall": kendall,
    }


def _interval(cases: Sequence[Sequence[_Rated]], coefficient: _Coefficient, seed: int) -> Json:
    def statistic(drawn: Sequence[Sequence[_Rated]]) -> float | None:
        return coefficient(_flat(drawn))

    many = len(cases) > _MOST_RESAMPLED
    bounds = grouped_jackknife(cases, statistic) if many else bca(cases, statistic, seed=seed, resamples=_RESAMPLES)
    return None if bounds is None else {"low": max(-1.0, bounds[0]), "high": min(1.0, bounds[1])}


def _flat(cases: Sequence[Sequence[_Rated]]) -> list[_Rated]:
    return [pair for case in cases for pair in case]
