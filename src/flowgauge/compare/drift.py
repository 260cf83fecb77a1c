"""Failure categories that became more, or less, common.

Counts by case in, what is notable out: the rates differ by at least a twentieth,
and the count by at least 3 from what the baseline's rate would give. Taken over
the cases that both sides have, each failure by all their runs; in fractions, so
that a boundary is a boundary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from flowgauge.compare.rates import Cases, rate_of
from flowgauge.model.metric import CaseCounts
from flowgauge.model.verdict import CategoryDrift

_LEAST_RATE, _LEAST_COUNT = Fraction(1, 20), 3


def category_drift(candidate: Cases, baseline: Cases) -> tuple[CategoryDrift, ...]:
    """The largest change of rate first; nothing where a side has no run."""
    both = [key for key in candidate if key in baseline and candidate[key].runs and baseline[key].runs]
    ours, runs = _counted(candidate[key] for key in both)
    theirs, baseline_runs = _counted(baseline[key] for key in both)
    found: list[tuple[Fraction, CategoryDrift]] = []
    for category in sorted(ours.keys() | theirs.keys()):
        count, before = ours[category], theirs[category]
        moved = Fraction(count, runs) - Fraction(before, baseline_runs)
        expected = Fraction(before, baseline_runs) * runs
        if abs(moved) >= _LEAST_RATE and abs(count - expected) >= _LEAST_COUNT:
            drift = CategoryDrift(
                category=category, candidate=rate_of(count, runs), baseline=rate_of(before, baseline_runs), expected=float(expected)
            )
            found.append((moved, drift))
    return tuple(drift for _, drift in sorted(found, key=lambda pair: -abs(pair[0])))


def _counted(cases: Iterable[CaseCounts]) -> tuple[Counter[str], int]:
    failures: Counter[str] = Counter()
    runs = 0
    for counts in cases:
        failures.update(counts.failures)
        runs += counts.runs
    return failures, runs
