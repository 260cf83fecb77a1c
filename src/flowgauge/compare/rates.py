"""Pass rates of two sides, case by case and over all.

Counts by case in; verdicts in the order in which lists show them, the
micro-average, and the names that only one side has out. Two rates each: as
judged (infrastructure failures taken out of both sides, unless all failures
count) and with every failure counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, get_args

from flowgauge.compare.tiers import Tiered, tier_of
from flowgauge.model.benchmark import Interval, Rate
from flowgauge.model.metric import CaseCounts
from flowgauge.model.verdict import AggregateRates, RateVerdict, Tier
from flowgauge.stats.intervals import wilson

Cases = Mapping[str, CaseCounts]
Counting = Callable[[CaseCounts], tuple[int, int]]
"""Passes, of how many."""

_RANK: dict[Tier, int] = {tier: rank for rank, tier in enumerate(get_args(Tier))}


class Rates(NamedTuple):
    """What the pass rates of two sides say."""

    cases: tuple[RateVerdict, ...]
    aggregate: AggregateRates | None
    """None where no case is on both sides."""
    only_candidate: tuple[str, ...]
    only_baseline: tuple[str, ...]


@lru_cache(maxsize=8192)
def rate_of(count: int, total: int) -> Rate:
    """With Wilson's interval."""
    low, high = wilson(count, total)
    return Rate(count, total, count / total if total else None, Interval(low, high))


def all_of(counts: CaseCounts) -> tuple[int, int]:
    """Every failure counted."""
    return counts.passed, counts.runs


def measured_of(counts: CaseCounts) -> tuple[int, int]:
    """Without failures that say nothing about the target."""
    return counts.passed, counts.runs - counts.infrastructure


def counting(*, count_all_failures: bool) -> Counting:
    """How trials are counted where they are judged."""
    return all_of if count_all_failures else measured_of


def total_rate(cases: Iterable[CaseCounts], count: Counting) -> Rate:
    """The micro-average: each trial weighs the same."""
    passed = total = 0
    for counts in cases:
        more_passed, more = count(counts)
        passed, total = passed + more_passed, total + more
    return rate_of(passed, total)


def compare_rates(candidate: Cases, baseline: Cases, *, count_all_failures: bool = False) -> Rates:
    """By case; the aggregate is over the cases that both sides have."""
    judged = counting(count_all_failures=count_all_failures)
    both = [key for key in candidate if key in baseline]
    verdicts = [_verdict(key, candidate[key], baseline[key], judged) for key in both]
    return Rates(
        tuple(sorted(verdicts, key=_place)),
        _aggregate([(candidate[key], baseline[key]) for key in both], judged) if both else None,
        tuple(sorted(candidate.keys() - baseline.keys(), key=_by_file)),
        tuple(sorted(baseline.keys() - candidate.keys(), key=_by_file)),
    )


def _verdict(key: str, candidate: CaseCounts, baseline: CaseCounts, judged: Counting) -> RateVerdict:
    ours, theirs = judged(candidate), judged(baseline)
    found = tier_of(*ours, *theirs)
    return RateVerdict(
        key=key,
        tier=found.tier,
        candidate=rate_of(*ours),
        baseline=rate_of(*theirs),
        candidate_all=rate_of(*all_of(candidate)),
        baseline_all=rate_of(*all_of(baseline)),
        failed_runs=candidate.failed_runs,
        failures=dict(sorted(candidate.failures.items())),
        **_numbers(found),
    )


def _aggregate(pairs: list[tuple[CaseCounts, CaseCounts]], judged: Counting) -> AggregateRates:
    """A case without a trial on one side would shift the mix of cases, so it is left out of both."""
    candidate, baseline = _summed(pairs, judged)
    candidate_all, baseline_all = _summed(pairs, all_of)
    found = tier_of(candidate.count, candidate.total, baseline.count, baseline.total)
    return AggregateRates(
        tier=found.tier,
        candidate=candidate,
        baseline=baseline,
        candidate_all=candidate_all,
        baseline_all=baseline_all,
        **_numbers(found),
    )


def _summed(pairs: list[tuple[CaseCounts, CaseCounts]], count: Counting) -> tuple[Rate, Rate]:
    held = [pair for pair in pairs if count(pair[0])[1] and count(pair[1])[1]]
    return total_rate((pair[0] for pair in held), count), total_rate((pair[1] for pair in held), count)


def _numbers(found: Tiered) -> dict[str, float | None]:
    return {
        "delta": None if found.delta is None else float(found.delta),
        "p_value": None if found.p is None else float(found.p),
    }


def _place(verdict: RateVerdict) -> tuple[int, str, str]:
    return (_RANK[verdict.tier], *_by_file(verdict.key))


def _by_file(key: str) -> tuple[str, str]:
    """`<case file>/<scenario>` by file, then name."""
    file, _, name = key.rpartition("/")
    return file, name
