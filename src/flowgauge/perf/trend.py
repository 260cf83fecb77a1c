"""A long run judged by the slice, not by fixed totals.

Pure. Success may not fall off from what a slice must have (or from the run that
it is held against, where that had failures), artifacts may not grow, and the
tail may not get longer than that of the run's own first warm episodes. Where
the run is too short to say, the value is None and nothing is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from flowgauge.perf.files import Judgement, SeriesRow, Summary
from flowgauge.report import words
from flowgauge.stats.describe import quantile
from flowgauge.stats.two_samples import fisher_less

SLICE = 24
"""Up to so many episodes a run is the everyday slice, held to fixed figures; a longer one is judged by its trend, too."""
CHANCE = 0.05
TAIL = 2.0
"""The 95th percentile of the rest may be so many times the slice's."""
TAIL_S = 0.05
"""Less than that is noise of the machine."""
SUCCESS_HOLDS = "success rate does not fall off"
GROWTH_IS_LINEAR = "artifact growth is linear"
TAIL_HOLDS = "tail does not get longer"


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A run, and the one that it is held against."""

    rows: Sequence[SeriesRow]
    summary: Summary
    reference: Summary | None = None


def judge_trend(sentence: str, run: Measured) -> Judgement:
    """One of SENTENCES."""
    return SENTENCES[sentence](run)


def had_failures(reference: Summary | None) -> bool:
    """Is there a run that says how often it may fail?"""
    return reference is not None and reference.failure_count > 0


def _success(run: Measured) -> Judgement:
    """Is this run's rate beyond what chance would make of the reference's, or of a slice without a failure?"""
    good, count, reference = run.summary.success_count, len(run.rows), run.reference
    if count <= SLICE:
        return _too_short(SUCCESS_HOLDS, SLICE)
    if reference is not None and had_failures(reference):
        theirs, of, whose = reference.success_count, reference.episodes, f"of {reference.stamp}"
    else:
        theirs, of, whose = SLICE, SLICE, "that a slice must have"
    p = float(fisher_less(good, count, theirs, of))
    told = f"{words.percent(good / count)} against the {theirs:,} of {of:,} {whose} ({_chance(p)})"
    return Judgement(threshold=SUCCESS_HOLDS, value=good / count, broken=p <= CHANCE, line=f"{SUCCESS_HOLDS}: {told}")


def _growth(run: Measured) -> Judgement:
    growth = next(finding for finding in run.summary.drift if finding.name == "artifact_growth")
    value = None if growth.state == "not_measured" else growth.state
    return Judgement(threshold=GROWTH_IS_LINEAR, value=value, broken=growth.state == "drifting", line=growth.line)


def _tail(run: Measured) -> Judgement:
    """The first episode of every worker is left out: it is slow because it is the first."""
    warm = run.rows[run.summary.summary.workers :]
    head, rest = warm[:SLICE], warm[SLICE:]
    if not rest:
        return _too_short(TAIL_HOLDS, SLICE + run.summary.summary.workers)
    first, later = (quantile(sorted(row.wall_clock_s for row in side), 0.95) for side in (head, rest))
    told = f"p95 {words.duration(later * 1000)} against {words.duration(first * 1000)} of the first {len(head)} on warm workers"
    broken = later > TAIL * first and later - first > TAIL_S
    return Judgement(threshold=TAIL_HOLDS, value=later, broken=broken, line=f"{TAIL_HOLDS}: {told}")


SENTENCES: dict[str, Callable[[Measured], Judgement]] = {SUCCESS_HOLDS: _success, GROWTH_IS_LINEAR: _growth, TAIL_HOLDS: _tail}


def _too_short(sentence: str, episodes: int) -> Judgement:
    return Judgement(threshold=sentence, value=None, broken=False, line=f"{sentence}: not measured, it takes more than {episodes} episodes")


def _chance(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p {p:.4f}"
