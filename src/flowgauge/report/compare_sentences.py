"""A comparison in sentences: each metric, the pass rate, and the one sentence that comes first.

Verdicts in, plain text out; nothing is escaped here. Inconclusive is never
called a pass.
"""

from __future__ import annotations

import math
from collections import Counter

from flowgauge.model.verdict import Comparison, GateLine, GateResult, MetricVerdict, NodeShift, Tier
from flowgauge.report import words
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.compare_words import (
    ATTEMPTS,
    NAMED,
    TIERS,
    VERDICTS,
    amount,
    how_much,
    in_words,
    kind_of,
    listed,
    p_value,
    points,
    ratio,
    share,
    signed,
)


def by_how_much(metric: MetricVerdict) -> str:
    """21.3 % slower; nothing where there is no ratio."""
    if metric.ratio is None or not math.isfinite(metric.ratio):
        return ""
    return how_much(metric.ratio - 1, metric.direction, metric.unit)


def p_of(metric: MetricVerdict) -> float | None:
    """Of the side that the verdict is about: of being better where it improved, else of harm, corrected."""
    if metric.verdict == "improved":
        return metric.p_better
    return metric.p_harm if metric.p_adjusted is None else metric.p_adjusted


def metric_sentence(metric: MetricVerdict) -> str:
    """One metric with its numbers, and what would decide it where it is inconclusive."""
    if metric.verdict == "vanished":
        return f"{metric.metric} vanished: the baseline has {amount(metric.baseline.value, metric.unit)}, the candidate has nothing."
    sides = f"{amount(metric.candidate.value, metric.unit)} against {amount(metric.baseline.value, metric.unit)}"
    size = by_how_much(metric)
    found = f"{metric.metric} {'is inconclusive' if metric.verdict == 'inconclusive' else metric.verdict}"
    parts = [f"{found}: {size + ', ' if size else ''}{sides}"]
    if metric.ratio is not None:
        parts.append(f"ratio {ratio(metric.ratio, metric.interval)}")
    if p_of(metric) is not None:
        parts.append(f"p = {p_value(p_of(metric))}".replace("= <", "<"))
    return f"{', '.join(parts)}.{_to_decide(metric)}"


def _to_decide(metric: MetricVerdict) -> str:
    if metric.verdict != "inconclusive":
        return ""
    reason = f" {metric.reason.rstrip('.')}." if metric.reason else ""
    more = f" About {words.plural(metric.runs_needed, 'run')} a side would decide it." if metric.runs_needed else ""
    return reason + more


def blame(comparison: Comparison) -> str:
    """Mostly in node classify (87 %); nothing where no node stands out or time did not get worse."""
    worse = [metric for metric in comparison.metrics if metric.verdict == "regressed" and kind_of(metric.unit) == "time"]
    guilty = [node for node in comparison.nodes if node.delta_ms > 0 and node.significant]
    if not worse or not guilty:
        return ""
    named = [f"{node.node_id} ({_node_share(node)})" for node in guilty[:NAMED]]
    return f"mostly in {'node' if len(named) == 1 else 'nodes'} {listed(named)}"


def _node_share(node: NodeShift) -> str:
    moved = signed(words.duration(abs(node.delta_ms)), node.delta_ms)
    return moved if node.share is None else f"{moved}, {words.percent(node.share)} of the change"


def verdict_sentence(source: CompareSource) -> str:
    """The whole result in one sentence, the worst first."""
    if source.gate is not None:
        return _GATE[source.gate.status](source.gate)
    comparison = source.comparison
    return f"Not compared: {why_not(comparison)}." if comparison.attempt != "ok" else f"Compared: {_findings(comparison)}."


def why_not(comparison: Comparison) -> str:
    """Why there are no verdicts, without a full stop."""
    told = ATTEMPTS[comparison.attempt]
    return f"{told} ({comparison.reason.rstrip('.')})" if comparison.reason else told


def _failed(gate: GateResult) -> str:
    lines = [line for line in gate.lines if line.status == "failed"]
    named = [_line(line, gate.comparison) for line in lines[:NAMED]] + ([f"and {len(lines) - NAMED:,} more"] if len(lines) > NAMED else [])
    return f"Failed: {'; '.join(named)}; {len(lines):,} of {words.plural(len(gate.lines), 'line')} of the gate failed."


def _line(line: GateLine, comparison: Comparison) -> str:
    """duration_ms regressed, 21.1 % slower, mostly in node classify (…)."""
    metric = next((one for one in comparison.metrics if one.metric == line.subject and one.verdict == line.verdict), None)
    if metric is None:
        return f"{line.subject}: {in_words(line.verdict)}"
    where = blame(comparison) if kind_of(metric.unit) == "time" else ""
    return ", ".join(filter(None, (f"{line.subject} {in_words(line.verdict)}", by_how_much(metric), where)))


def _not_measured(gate: GateResult) -> str:
    lines = [line for line in gate.lines if line.status == "not_measured"]
    told = lines[0].words.rstrip(".") if lines else why_not(gate.comparison)
    return f"Not measured: {told}{f'; {len(lines) - 1:,} more without an answer' if len(lines) > 1 else ''}."


def _passed(gate: GateResult) -> str:
    undecided = [line.subject for line in gate.lines if is_open(line)]
    told = f"Passed: none of {words.plural(len(gate.lines), 'line')} of the gate failed"
    return f"{told}, but {listed(undecided)} {'is' if len(undecided) == 1 else 'are'} inconclusive." if undecided else f"{told}."


_GATE = {"failed": _failed, "not_measured": _not_measured, "passed": _passed}


def is_open(line: GateLine) -> bool:
    """Let through, yet not decided."""
    return line.status == "passed" and line.verdict in ("inconclusive", "insufficient_data")


def _findings(comparison: Comparison) -> str:
    parts = []
    for verdict in ("regressed", "vanished", "improved", "inconclusive"):
        found = [metric for metric in comparison.metrics if metric.verdict == verdict]
        if found:
            parts.append(f"{listed(_named(metric) for metric in found)} {verdict}")
    where = blame(comparison)
    if where:
        parts[0] += f", {where}"
    tiers = Counter(one.tier for one in comparison.rates)
    parts += [words.plural(tiers[tier], TIERS[tier][0]) + " of a case" for tier in _TOLD if tiers[tier]]
    if parts:
        return "; ".join(parts)
    judged = comparison.metrics or set(tiers) - {"insufficient_data"}
    return "no difference was found beyond the tolerance" if judged else "there was nothing to judge by"


_TOLD: tuple[Tier, ...] = ("hard_regression", "soft_regression", "improvement")


def _named(metric: MetricVerdict) -> str:
    size = by_how_much(metric) if metric.verdict in ("regressed", "improved") else ""
    return f"{metric.metric} ({size})" if size else metric.metric


def counts(comparison: Comparison) -> tuple[str, str]:
    """How many cases of each tier and metrics of each verdict; empty where there is none."""
    tiers = Counter(one.tier for one in comparison.rates)
    cases = [
        words.plural(tiers[tier], name) if tier in _NOUNS else f"{tiers[tier]:,} {name}" for tier, (name, _) in TIERS.items() if tiers[tier]
    ]
    verdicts = Counter(one.verdict for one in comparison.metrics)
    metrics = [f"{verdicts[verdict]:,} {verdict}" for verdict in VERDICTS if verdicts[verdict]]
    return (
        f"{words.plural(len(comparison.rates), 'case')}: {', '.join(cases)}" if cases else "",
        f"{words.plural(len(comparison.metrics), 'metric')}: {', '.join(metrics)}" if metrics else "",
    )


_NOUNS = frozenset({"hard_regression", "soft_regression", "improvement", "unreliable_baseline"})


def pass_rate_sentence(comparison: Comparison) -> str:
    """The aggregate with its intervals, and which failures it counts; empty where there is none."""
    found = comparison.aggregate
    if found is None:
        return ""
    judged = f"Pass rate {words.rate(found.candidate)} against {words.rate(found.baseline)}: {points(found.delta)}, {in_words(found.tier)}"
    judged += f", p = {p_value(found.p_value)}".replace("= <", "<") if found.p_value is not None else ""
    if comparison.count_all_failures:
        return f"{judged}. Every failure counts."
    if (found.candidate_all, found.baseline_all) == (found.candidate, found.baseline):
        return f"{judged}. No run failed for reasons of the infrastructure."
    every = f"with every failure counted {share(found.candidate_all)} against {share(found.baseline_all)}"
    return f"{judged}. Judged without infrastructure failures; {every}."
