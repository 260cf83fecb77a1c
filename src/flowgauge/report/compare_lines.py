"""Questions and answers of a comparison, one line each: the gate's own, or what the verdicts amount to where there is no gate."""

from __future__ import annotations

from collections.abc import Iterator

from flowgauge.model.verdict import Comparison, GateLine, GateStatus, RateVerdict, Tier, Verdict
from flowgauge.report.compare_sentences import metric_sentence, why_not
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.compare_words import STATUSES, in_words, p_value, points, share

_RANKS = {status: rank for rank, status in enumerate(STATUSES)}
_METRICS: dict[Verdict, GateStatus] = {"regressed": "failed", "vanished": "failed"}
_TIERS: dict[Tier, GateStatus] = {"hard_regression": "failed", "insufficient_data": "not_measured"}


def ranked_lines(source: CompareSource) -> tuple[GateLine, ...]:
    """The failing first, then what was not measured, then the rest; within these as given."""
    lines = source.gate.lines if source.gate is not None else tuple(_of(source.comparison))
    return tuple(sorted(lines, key=lambda line: _RANKS[line.status]))


def _of(comparison: Comparison) -> Iterator[GateLine]:
    if comparison.attempt != "ok":
        told = f"Not compared: {why_not(comparison)}."
        yield GateLine(subject="comparison", status="not_measured", rule="compare", verdict=comparison.attempt, words=told)
    for one in comparison.metrics:
        status = _METRICS.get(one.verdict, "passed")
        yield GateLine(subject=one.metric, status=status, rule="compare", verdict=one.verdict, words=metric_sentence(one))
    for rate in comparison.rates:
        yield _of_rate(rate)


def _of_rate(one: RateVerdict) -> GateLine:
    sides = f"{share(one.candidate)} against {share(one.baseline)}, {points(one.delta)}, p = {p_value(one.p_value)}"
    status = _TIERS.get(one.tier, "passed")
    told = f"{in_words(one.tier)}: {sides}."
    return GateLine(subject=f"pass rate of {one.key}", status=status, rule="compare", verdict=one.tier, words=told)
