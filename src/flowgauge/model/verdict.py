"""What a comparison says: verdicts with their uncertainty, and what a gate makes of them.

Three answers, not two: no regression, regressed, not measured. Inconclusive is
never called a pass, and what vanished is never skipped in silence.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from flowgauge.model.benchmark import Interval, Rate
from flowgauge.model.figure import Direction

Tier = Literal[
    "hard_regression", "soft_regression", "improvement", "watch", "unreliable_baseline", "stable", "insufficient_data"
]  # fmt: skip
"""Of one pass rate, in the order in which lists show them."""

Verdict = Literal["improved", "unchanged", "regressed", "inconclusive", "vanished"]
"""Of one continuous metric. `vanished`: the baseline has it and the candidate does not."""

Attempt = Literal["ok", "no_baseline", "self_baseline", "fetch_failed", "not_attempted"]
"""How an attempt to compare ended. Only `ok` has verdicts."""

GateRule = Literal["detect", "prove", "threshold"]


class RateVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The pass rate of one case, against the baseline's."""

    key: str
    tier: Tier
    candidate: Rate
    """As judged: without infrastructure failures, unless all failures count."""
    baseline: Rate
    candidate_all: Rate
    """Every failure counted."""
    baseline_all: Rate
    delta: float | None
    p_value: float | None
    """One-sided Fisher, of the direction in which it moved."""
    failed_runs: tuple[str, ...] = ()
    failures: dict[str, int] = {}
    """Of the candidate, by category."""


class AggregateRates(msgspec.Struct, frozen=True, kw_only=True):
    """Micro-average over the cases that both sides have."""

    tier: Tier
    candidate: Rate
    baseline: Rate
    candidate_all: Rate
    baseline_all: Rate
    delta: float | None
    p_value: float | None


class CategoryDrift(msgspec.Struct, frozen=True, kw_only=True):
    """A failure category that is more (or less) common than the baseline would lead to expect."""

    category: str
    candidate: Rate
    baseline: Rate
    expected: float
    """How many the baseline's rate would give."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """One side of one metric."""

    value: float | None
    n: int
    cases: int = 0


class MetricVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One continuous metric, against the baseline's."""

    metric: str
    direction: Direction
    unit: str
    verdict: Verdict
    candidate: Estimate
    baseline: Estimate
    ratio: float | None = None
    """Candidate by baseline."""
    interval: Interval | None = None
    """Of the ratio, 95 %."""
    tolerance: float = 0.05
    p_harm: float | None = None
    """That harm is within the tolerance: small means regressed."""
    p_harmless: float | None = None
    """That harm is beyond the tolerance: small means not worse."""
    p_better: float | None = None
    p_adjusted: float | None = None
    """`p_harm` after correction for the number of metrics."""
    method: str = ""
    """In words: paired by case, …"""
    runs_needed: int | None = None
    """A side, to decide an inconclusive metric; None where it is decided, or cannot be estimated."""
    reason: str = ""
    """Why it is inconclusive, where that is not the noise."""


class NodeShift(msgspec.Struct, frozen=True, kw_only=True):
    """One node's part in an end-to-end change of time."""

    node_id: str
    baseline_ms: float | None
    """Mean own time a trial; None where the baseline has no such node."""
    candidate_ms: float | None
    delta_ms: float
    share: float | None
    """Of the summed moves of the nodes that moved the same way; None where nothing moved."""
    ratio: float | None = None
    interval: Interval | None = None
    significant: bool = False


class Difference(msgspec.Struct, frozen=True):
    """One thing in which two benchmarks are not alike."""

    what: str
    """price_table, dataset, checks, judge, provider, cache, machine, retry_policy."""
    candidate: str
    baseline: str
    words: str
    """What that means for the comparison."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One side against another."""

    attempt: Attempt
    candidate: str
    baseline: str = ""
    candidate_sid: str = ""
    baseline_sid: str = ""
    candidate_commit: str = ""
    baseline_commit: str = ""
    reason: str = ""
    """Why there are no verdicts, where there are none."""
    count_all_failures: bool = False
    aggregate: AggregateRates | None = None
    rates: tuple[RateVerdict, ...] = ()
    only_candidate: tuple[str, ...] = ()
    only_baseline: tuple[str, ...] = ()
    drift: tuple[CategoryDrift, ...] = ()
    metrics: tuple[MetricVerdict, ...] = ()
    nodes: tuple[NodeShift, ...] = ()
    """Those that moved most first."""
    differences: tuple[Difference, ...] = ()
    candidate_infrastructure: Rate | None = None
    baseline_infrastructure: Rate | None = None
    notes: tuple[str, ...] = ()


GateStatus = Literal["passed", "failed", "not_measured"]


class GateLine(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a policy asks, and the answer."""

    subject: str
    """A metric, `pass rate`, `pass rate of <case>`, a limit, `comparability`, …"""
    status: GateStatus
    rule: str
    """detect, prove, threshold, limit, k of n, history, …"""
    verdict: str
    """The verdict or tier that it is judged by."""
    words: str
    """One sentence with the numbers, and what would decide it where it is inconclusive."""


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy makes of a comparison. A failed gate is a result, not an error."""

    status: GateStatus
    exit_code: Literal[0, 1, 3]
    lines: tuple[GateLine, ...]
    comparison: Comparison
    policy: str = ""
    """The file, or what it was made of."""


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark under a name, that others are held against."""

    name: str
    benchmark_sid: str
    set_at: int
    note: str = ""


Trending = Literal["improving", "declining", "stable", "insufficient_data"]


class TrendPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark on a trend."""

    benchmark_sid: str
    label: str
    """A version, a commit or a bench id."""
    created_at: int
    value: float | None
    interval: Interval | None = None
    commit: str = ""
    version: int | None = None


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where the level (or the slope) of a metric changed."""

    index: int
    """Of the first point after it."""
    label: str
    commit: str
    kind: Literal["step", "drift"]
    before: float
    """Mean level before it; at the start of a drift, the value there."""
    after: float
    """Mean level after it; at the end of a drift, the value there."""
    change: float | None
    """After by before, less one; None from nothing."""
    until_index: int | None = None
    """The last point of a drift."""
    harmful: bool = False
    p_value: float | None = None


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one subject over all its benchmarks, oldest first."""

    subject: str
    metric: str
    direction: Direction
    unit: str
    trend: Trending
    """The seed's rule: the first against the last, ±10 %."""
    change: float | None
    """Last by first, less one."""
    points: tuple[TrendPoint, ...]
    changes: tuple[ChangePoint, ...] = ()
    notes: tuple[str, ...] = ()
