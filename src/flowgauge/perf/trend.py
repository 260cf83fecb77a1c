"""A long run judged by the slice, not by fixed totals.

Pure. Success may not fall off from what a slice must have, artifacts may not
grow, and the tail may not get longer than that of the run's own first episodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowgauge.perf.files import Finding, Judgement, SeriesRow
from flowgauge.perf.thresholds import SLICE
from flowgauge.report import words
from flowgauge.stats.describe import quantile
from flowgauge.stats.two_samples import fisher_less

CHANCE = 0.05
TAIL = 2.0
"""The 95th percentile of the rest may be so many times the slice's."""
TAIL_S = 0.05
"""Less than that is noise of the machine."""


def judge_trend(rows: Sequence[SeriesRow], drift: Sequence[Finding]) -> tuple[Judgement, ...]:
    """For runs that are longer than the slice."""
    head, rest = rows[:SLICE], rows[SLICE:]
    if not rest:
        return ()
    growth = next(finding for finding in drift if finding.name == "artifact_growth")
    return (
        _success(rows),
        Judgement(threshold="artifact growth is linear", value=growth.state, broken=growth.state == "drifting", line=growth.line),
        _tail(head, rest),
    )


def _success(rows: Sequence[SeriesRow]) -> Judgement:
    """A slice may have no failure; is this run's rate beyond what chance would make of such a one?"""
    good = sum(row.success for row in rows)
    p = float(fisher_less(good, len(rows), SLICE, SLICE))
    told = f"{words.percent(good / len(rows))} against the {SLICE} of {SLICE} that a slice must have (p {p:.4f})"
    threshold = "success rate does not fall off"
    return Judgement(threshold=threshold, value=good / len(rows), broken=p <= CHANCE, line=f"{threshold}: {told}")


def _tail(head: Sequence[SeriesRow], rest: Sequence[SeriesRow]) -> Judgement:
    first, later = (quantile(sorted(row.wall_clock_s for row in side), 0.95) for side in (head, rest))
    threshold = "tail does not get longer"
    told = f"p95 {words.duration(later * 1000)} against {words.duration(first * 1000)} of the first {len(head)}"
    broken = later > TAIL * first and later - first > TAIL_S
    return Judgement(threshold=threshold, value=later, broken=broken, line=f"{threshold}: {told}")
