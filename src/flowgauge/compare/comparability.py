"""In what two benchmarks are not alike, and what that means for their comparison.

Fingerprints in, differences in words out. Different versions of a workflow are
what is compared; they are no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flowgauge.model.benchmark import Fingerprint
from flowgauge.model.verdict import Difference

_HASH_DIGITS = 12
_TIMES = frozenset({"ns", "µs", "us", "ms", "s", "min"})
_ALL = frozenset({"rate", "score", "latency", "cost", "tokens", "other"})


class _Kind(NamedTuple):
    """One entry of a fingerprint."""

    name: str
    meaning: str
    touches: frozenset[str]
    """Sorts of metrics."""
    hashed: bool = False
    absent: str = "none"
    """What an empty entry means."""


_KINDS: dict[str, _Kind] = {
    "dataset": _Kind("data sets", "the cases are not the same, so every figure is partly one of the cases", _ALL, hashed=True),
    "checks": _Kind(
        "checks",
        "what counts as right is not the same, so pass rates and scores are not comparable",
        frozenset({"rate", "score"}),
        hashed=True,
    ),
    "judge": _Kind(
        "judges", "who judges is not the same, so pass rates and scores are partly the judge's", frozenset({"rate", "score"}), hashed=True
    ),
    "price_table": _Kind(
        "price tables", "a change of cost is partly one of prices; nothing else is touched", frozenset({"cost"}), absent="unknown"
    ),
    "provider": _Kind("providers", "a change of any figure may be the provider's, not the workflow's", _ALL),
    "cache": _Kind(
        "cache modes",
        "a kept answer takes no time and costs nothing, so latency and cost are not comparable",
        frozenset({"latency", "cost"}),
        absent="unknown",
    ),
    "machine": _Kind("machines", "latency is not comparable", frozenset({"latency"}), absent="unknown"),
    "retry_policy": _Kind(
        "retry policies",
        "trying again changes pass rate, latency, cost and tokens, so these are partly the policy's",
        frozenset({"rate", "latency", "cost", "tokens"}),
        hashed=True,
    ),
}


def differences(candidate: Fingerprint, baseline: Fingerprint) -> tuple[Difference, ...]:
    """In the order of the fingerprint."""
    pairs = ((what, getattr(candidate, what), getattr(baseline, what)) for what in _KINDS)
    return tuple(_difference(what, ours, theirs) for what, ours, theirs in pairs if ours != theirs)


def touches(difference: Difference, metric: str, unit: str = "") -> bool:
    """May it be why this metric moved?"""
    return _sort_of(metric, unit) in _KINDS[difference.what].touches


def _sort_of(metric: str, unit: str) -> str:
    if metric.endswith("_rate") or metric.startswith("check."):
        return "rate"
    if metric.startswith("score."):
        return "score"
    if metric.startswith("cost_usd") or unit.lower() in ("usd", "$"):
        return "cost"
    if metric.startswith("tokens_"):
        return "tokens"
    return "latency" if metric.endswith("_ms") or unit in _TIMES else "other"


def refused(found: Iterable[Difference], allowed: Sequence[str]) -> list[Difference]:
    """Those that a strict gate does not let pass."""
    return [difference for difference in found if difference.what not in allowed]


def _difference(what: str, candidate: str, baseline: str) -> Difference:
    kind = _KINDS[what]
    ours, theirs = _shown(kind, candidate), _shown(kind, baseline)
    return Difference(what, ours, theirs, f"The {kind.name} differ ({ours} against {theirs}): {kind.meaning}.")


def _shown(kind: _Kind, value: str) -> str:
    return (value[:_HASH_DIGITS] if kind.hashed else value) or kind.absent
