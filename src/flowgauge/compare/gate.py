"""What a policy makes of a comparison: passed, failed, or not measured, with exit code 0, 1 or 3.

A comparison, the candidate and the figures of benchmarks before it in; lines
with their reasons out. Evidence of harm stands even where something else could
not be measured: one failed line is 1. Where there is nothing to judge by (no
run, too many infrastructure failures, not comparable though that is asked for)
it is 3 whatever else is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from flowgauge.compare import words
from flowgauge.compare.comparability import refused
from flowgauge.compare.gate_metrics import metric_lines
from flowgauge.compare.gate_rates import rate_lines
from flowgauge.compare.history import history_lines
from flowgauge.compare.k_of_n import k_of_n_lines
from flowgauge.compare.limits import Bound, read_limit
from flowgauge.model.bench import INFRASTRUCTURE
from flowgauge.model.benchmark import Rate
from flowgauge.model.gate import Policy
from flowgauge.model.metric import Measured
from flowgauge.model.verdict import Comparison, GateLine, GateResult, GateStatus

_EXIT: dict[GateStatus, Literal[0, 1, 3]] = {"passed": 0, "failed": 1, "not_measured": 3}
_ROUNDING = 1e-9
_NO_HISTORY: Mapping[str, Sequence[float]] = {}


def judge(comparison: Comparison, candidate: Measured, policy: Policy, history: Mapping[str, Sequence[float]] = _NO_HISTORY) -> GateResult:
    """`history`: by metric, its figures in the benchmarks before it, oldest first. Raises UsageError for a limit that is none."""
    limits = [read_limit(rule) for rule in policy.limits]
    stops = [*_stops(comparison, candidate, policy)]
    lines = stops or [*_lines(comparison, candidate, policy, limits, history)] or [_NOTHING_ASKED]
    status = _status(lines)
    return GateResult(status=status, exit_code=_EXIT[status], lines=tuple(lines), comparison=comparison)


def _status(lines: Sequence[GateLine]) -> GateStatus:
    found = {line.status for line in lines}
    return "failed" if "failed" in found else "not_measured" if "not_measured" in found else "passed"


def _stops(comparison: Comparison, candidate: Measured, policy: Policy) -> Iterator[GateLine]:
    """Reasons why nothing can be judged at all."""
    if not candidate.runs and not any(samples.n or samples.value is not None for samples in candidate.metrics.values()):
        yield _stop("runs", "nothing_ran", "Nothing ran, so there is nothing to judge; run the bench first.")
    elif candidate.runs:
        told = f" ({_failures(candidate)})"
        yield from _infrastructure("candidate", candidate.infrastructure, candidate.runs, policy.max_infrastructure, told)
    if comparison.attempt == "ok" and comparison.baseline_infrastructure is not None:
        rate: Rate = comparison.baseline_infrastructure
        yield from _infrastructure("baseline", rate.count, rate.total, policy.max_infrastructure)
    if policy.strict:
        for difference in refused(comparison.differences, policy.allow):
            yield _stop("comparability", difference.what, f"{difference.words} Run both alike, or allow {difference.what}.")


def _infrastructure(side: str, failed: int, runs: int, most: float, told: str = "") -> Iterator[GateLine]:
    if not runs:
        yield _stop("runs", "nothing_ran", f"The {side} has no run, so there is nothing to judge by; run it, or name another.")
    elif failed == runs:
        said = f"All {words.several(runs, 'run')} of the {side} failed for reasons that are not the target's{told}: nothing was measured"
        yield _stop("infrastructure", "all_failed", f"{said}; mend the provider, the network or the machine, then run it again.")
    elif failed > most * runs + _ROUNDING:
        said = f"{failed} of {runs} runs of the {side} failed for reasons that are not the target's{told}, more than {words.share(most)}"
        yield _stop("infrastructure", "too_many", f"{said}; run those again: flowgauge bench --retry-errors.")


def _lines(
    comparison: Comparison, candidate: Measured, policy: Policy, limits: Sequence[Bound], history: Mapping[str, Sequence[float]]
) -> list[GateLine]:
    """Against the baseline, where there is one; then what needs none."""
    compared = [*rate_lines(comparison, policy), *metric_lines(comparison, policy)] if comparison.attempt == "ok" else []
    own = [
        *(_limit(bound, candidate) for bound in limits),
        *k_of_n_lines(candidate, policy),
        *history_lines(candidate, policy, history),
    ]
    if comparison.attempt == "ok" or (comparison.attempt == "not_attempted" and own):
        return [*compared, *own]
    return [_not_compared(comparison), *own]


def _not_compared(comparison: Comparison) -> GateLine:
    """The reason of whoever looked for the baseline says what to do."""
    reason = comparison.reason or "It could not be compared. Name a baseline that can be read."
    return GateLine(subject="baseline", status="not_measured", rule="", verdict=comparison.attempt, words=reason)


def _limit(bound: Bound, candidate: Measured) -> GateLine:
    found = bound.found_in(candidate)
    if found is None:
        told = f"{bound.metric} is not known, so it cannot be {bound.asks}; measure it."
        return GateLine(subject=bound.metric, status="not_measured", rule="limit", verdict="unknown", words=told)
    held = bound.holds(found)
    told = f"{bound.metric} is {found:.6g}, {'' if held else 'not '}{bound.asks}{'' if held else ': mend it, or move the limit'}."
    return GateLine(
        subject=bound.metric, status="passed" if held else "failed", rule="limit", verdict="held" if held else "broken", words=told
    )


def _failures(candidate: Measured) -> str:
    """429s and the like, by how often."""
    counted: Counter[str] = Counter()
    for counts in candidate.cases.values():
        counted.update({name: count for name, count in counts.failures.items() if name in INFRASTRUCTURE})
    return ", ".join(f"{name} {count}" for name, count in counted.most_common()) or "unnamed"


def _stop(subject: str, verdict: str, told: str) -> GateLine:
    return GateLine(subject=subject, status="not_measured", rule="", verdict=verdict, words=told)


_NOTHING_ASKED = _stop(
    "policy", "nothing_asked", "Nothing was judged: both sides have no metric in common that the policy asks for; change the policy."
)
