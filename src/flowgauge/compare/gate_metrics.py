"""What a policy makes of the verdicts on continuous metrics.

Verdicts in, one line a metric out. Under `detect` an inconclusive metric lets
the gate pass and is named, with the runs that would decide it; under `prove` it
is not measured. A metric that vanished is not measured under every rule.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from flowgauge.compare import words
from flowgauge.compare.asked import Asked, asked_of
from flowgauge.compare.comparability import touches
from flowgauge.compare.figures import SUCCESS_RATE
from flowgauge.compare.nodes import DURATION, is_inner
from flowgauge.model.gate import Policy
from flowgauge.model.verdict import Comparison, GateLine, GateRule, GateStatus, MetricVerdict, NodeShift, Verdict

_MOST_NODES = 3
_DECIDED: dict[Verdict, GateStatus] = {"improved": "passed", "unchanged": "passed", "regressed": "failed", "vanished": "not_measured"}
_STATUS: dict[GateRule, dict[Verdict, GateStatus]] = {
    "detect": {**_DECIDED, "inconclusive": "passed"},
    "prove": {**_DECIDED, "inconclusive": "not_measured"},
    "threshold": {**_DECIDED, "inconclusive": "not_measured"},
}


class Saying(msgspec.Struct, frozen=True, kw_only=True):
    """What the sides are called, and what to do: who judges without a policy has other words than a gate."""

    baseline: str = "the baseline"
    candidate: str = "the candidate"
    if_regressed: str = "mend it, or set another baseline if it is meant"
    if_vanished: str = "measure it, or set its rule to ignore"


_OF_A_GATE = Saying()


def metric_lines(comparison: Comparison, policy: Policy, saying: Saying = _OF_A_GATE) -> Iterator[GateLine]:
    """In the order of the verdicts; then what is asked for and neither side has. What is new is judged only where it is asked for."""
    known = {verdict.metric for verdict in comparison.metrics}
    named = dict.fromkeys((*policy.only, *policy.metrics))
    for verdict in comparison.metrics:
        asked = asked_of(policy, verdict.metric)
        if asked.rule != "ignore" and (verdict.baseline.value is not None or verdict.metric in named):
            yield _line(verdict, asked, asked.rule, comparison, saying)
    for name in named:
        asked = asked_of(policy, name)
        if name not in known and name != SUCCESS_RATE and asked.rule != "ignore":
            yield GateLine(
                subject=name,
                status="not_measured",
                rule=asked.rule,
                verdict="unknown",
                words=f"The policy asks for {name}, which neither side has; measure it, or take it out of the policy.",
            )


def _line(verdict: MetricVerdict, asked: Asked, rule: GateRule, comparison: Comparison, saying: Saying) -> GateLine:
    fewest = min(verdict.candidate.n, verdict.baseline.n)
    short = fewest < asked.min_samples and verdict.verdict != "vanished"
    found: Verdict = "inconclusive" if short else verdict.verdict
    told = _TOLD[found](verdict, comparison, saying)
    if short and (verdict.method or not verdict.reason):
        had = f"a side has {words.several(fewest, 'sample')} of the {asked.min_samples} asked for"
        told = f"{_figures(verdict, 'is inconclusive')}; {had}: run more."
    return GateLine(subject=verdict.metric, status=_STATUS[rule][found], rule=rule, verdict=found, words=told)


def _regressed(verdict: MetricVerdict, comparison: Comparison, saying: Saying) -> str:
    told = f"{_figures(verdict, 'regressed')}, beyond the tolerance of {words.share(verdict.tolerance)}"
    because = "".join(f"; {reason}" for reason in _reasons(verdict, comparison))
    return f"{told}{because}; {saying.if_regressed}."


def _unchanged(verdict: MetricVerdict, comparison: Comparison, _: Saying) -> str:
    return f"{_figures(verdict, 'is unchanged')}, within the tolerance of {words.share(verdict.tolerance)}{_caution(verdict, comparison)}."


def _improved(verdict: MetricVerdict, comparison: Comparison, _: Saying) -> str:
    return f"{_figures(verdict, 'improved')}{_caution(verdict, comparison)}."


def _inconclusive(verdict: MetricVerdict, comparison: Comparison, _: Saying) -> str:
    told = f"{_figures(verdict, 'is inconclusive')}{f': {verdict.reason}' if verdict.reason else ''}{_caution(verdict, comparison)}"
    if verdict.runs_needed is not None:
        return f"{told}; about {words.several(verdict.runs_needed, 'run')} a side would decide it."
    return f"{told}." if verdict.reason else f"{told}; more runs may decide it, how many cannot be told."


def _vanished(verdict: MetricVerdict, _: Comparison, saying: Saying) -> str:
    samples = f" in {words.several(verdict.baseline.n, 'sample')}" if verdict.baseline.n else ""
    before = f"{words.figure(verdict.baseline.value, verdict.unit)}{samples}"
    return f"{verdict.metric} vanished: {saying.baseline} has {before}, {saying.candidate} none; {saying.if_vanished}."


_TOLD = {"regressed": _regressed, "unchanged": _unchanged, "improved": _improved, "inconclusive": _inconclusive, "vanished": _vanished}


def _figures(verdict: MetricVerdict, what: str) -> str:
    return f"{verdict.metric} {what}: {words.sides(verdict)}"


def _reasons(verdict: MetricVerdict, comparison: Comparison) -> Iterator[str]:
    """Where it comes from, as far as that is known."""
    if verdict.metric == DURATION and (moved := blamed(comparison.nodes)):
        yield f"what moved: {', '.join(map(_node, moved))}"
    for difference in comparison.differences:
        if touches(difference, verdict.metric, verdict.unit):
            yield f"note that the {difference.what} differs"


def _caution(verdict: MetricVerdict, comparison: Comparison) -> str:
    names = [one.what for one in comparison.differences if touches(one, verdict.metric, verdict.unit)]
    return f" (not alike: {', '.join(names)})" if names else ""


def blamed(shifts: tuple[NodeShift, ...]) -> list[NodeShift]:
    """The nodes that became slower: those of which that is sure, else the one that moved most.

    An outer node is named for its share; of what runs inside it, only what surely moved.
    """
    slower = [shift for shift in shifts if shift.delta_ms > 0]
    sure = [shift for shift in slower if shift.significant]
    outer = [shift for shift in sure or slower if not is_inner(shift.node_id)][: _MOST_NODES if sure else 1]
    inner = [shift for shift in sure if is_inner(shift.node_id)][:_MOST_NODES]
    return [*outer, *inner]


def _node(shift: NodeShift) -> str:
    if shift.baseline_ms is None:
        change = f"new, {words.figure(shift.candidate_ms, 'ms')}"
    else:
        change = f"{words.figure(shift.baseline_ms, 'ms')} to {words.figure(shift.candidate_ms, 'ms')}"
    part = f", {words.share(shift.share)} of what was added" if shift.share is not None else ""
    return f"node '{shift.node_id}' ({change}{part})"
