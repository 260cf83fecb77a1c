"""One side against another.

Two measured sides and a policy in, a Comparison out: pass rates by tier,
continuous metrics, failure categories, nodes where both sides brought theirs,
and in what the two are not alike. What cannot be compared says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import msgspec

from flowgauge.compare import words
from flowgauge.compare.asked import asked_of
from flowgauge.compare.comparability import differences
from flowgauge.compare.continuous import compare_metrics
from flowgauge.compare.drift import category_drift
from flowgauge.compare.nodes import node_shifts
from flowgauge.compare.rates import compare_rates, rate_of
from flowgauge.model.benchmark import Rate
from flowgauge.model.gate import Policy
from flowgauge.model.metric import Measured, Samples
from flowgauge.model.verdict import Attempt, Comparison, GateRule, MetricVerdict


def not_compared(candidate: Measured, attempt: Attempt, reason: str, *, baseline: str = "") -> Comparison:
    """An attempt without verdicts. Never a pass: a gate makes 3 of it."""
    return Comparison(
        attempt=attempt,
        candidate=candidate.label,
        candidate_sid=candidate.benchmark.sid,
        candidate_commit=candidate.benchmark.commit,
        candidate_infrastructure=_infrastructure(candidate),
        baseline=baseline,
        reason=reason,
    )


def compare(candidate: Measured, baseline: Measured | None, *, policy: Policy) -> Comparison:
    """The candidate against the baseline, as the policy counts."""
    if baseline is None:
        return not_compared(candidate, "no_baseline", "There is no baseline. Name one that can be read.")
    if candidate.benchmark.sid == baseline.benchmark.sid:
        return not_compared(candidate, "self_baseline", f"{baseline.label} is the candidate itself. Name another.", baseline=baseline.label)
    rates = compare_rates(candidate.cases, baseline.cases, count_all_failures=policy.count_all_failures)
    return msgspec.structs.replace(
        not_compared(candidate, "ok", "", baseline=baseline.label),
        baseline_sid=baseline.benchmark.sid,
        baseline_commit=baseline.benchmark.commit,
        baseline_infrastructure=_infrastructure(baseline),
        count_all_failures=policy.count_all_failures,
        aggregate=rates.aggregate,
        rates=rates.cases,
        only_candidate=rates.only_candidate,
        only_baseline=rates.only_baseline,
        drift=category_drift(candidate.cases, baseline.cases),
        metrics=_metrics(candidate.metrics, baseline.metrics, policy),
        nodes=node_shifts(candidate, baseline, lambda ours, theirs: compare_metrics(ours, theirs, tolerance=0.0, alpha=policy.alpha)),
        differences=differences(candidate.benchmark.fingerprint, baseline.benchmark.fingerprint),
        notes=tuple(_notes(candidate, baseline)),
    )


def _metrics(candidate: Mapping[str, Samples], baseline: Mapping[str, Samples], policy: Policy) -> tuple[MetricVerdict, ...]:
    """Those that the policy judges are corrected for each other; the rest is compared apart, so that it takes no power from them."""
    names = [*baseline, *(name for name in candidate if name not in baseline)]
    judged = [name for name in names if asked_of(policy, name).rule != "ignore"]
    apart = [name for name in names if name not in judged]
    found: dict[str, MetricVerdict] = {}
    for group in (judged, apart):
        verdicts = compare_metrics(
            {name: candidate[name] for name in group if name in candidate},
            {name: baseline[name] for name in group if name in baseline},
            tolerance=lambda name: asked_of(policy, name).tolerance,
            min_samples=lambda name: asked_of(policy, name).min_samples,
            rule=lambda name: _rule(policy, name),
            direction={name: asked.direction for name, asked in policy.metrics.items() if asked.direction is not None},
            alpha=policy.alpha,
        )
        found.update({verdict.metric: verdict for verdict in verdicts})
    return tuple(found[name] for name in names)


def _rule(policy: Policy, metric: str) -> GateRule:
    """What is not judged is compared as everything else is."""
    rule = asked_of(policy, metric).rule
    return policy.rule if rule == "ignore" else rule


def _infrastructure(side: Measured) -> Rate | None:
    """None for what has no pass rate."""
    return rate_of(side.infrastructure, side.runs) if side.cases else None


def _notes(candidate: Measured, baseline: Measured) -> Iterator[str]:
    both = [(candidate.cases[key], counts) for key, counts in baseline.cases.items() if key in candidate.cases]
    if len({Fraction(ours.runs, theirs.runs) for ours, theirs in both if theirs.runs}) > 1:
        yield "Some cases ran more often on one side than on the other: over all, each side weighs cases by its own runs."
    if candidate.cases and baseline.cases and not both:
        yield f"No case is on both sides: {words.listed([*candidate.cases])} against {words.listed([*baseline.cases])}."
