"""What trials amount to: spreads and rates with their uncertainty, per cell, configuration and node.

One sample has no spread: what is not known is None, never zero.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from flowgauge.model.bench import BenchRecord
from flowgauge.model.figure import Metric
from flowgauge.model.play import CostSource
from flowgauge.model.workflow import Json


class Interval(msgspec.Struct, frozen=True):
    """95 % unless said otherwise."""

    low: float
    high: float


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A sample of numbers, described. Intervals and stdev are None for fewer than two samples (or too few for that quantile)."""

    n: int
    min: float
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float
    stdev: float | None = None
    mean_interval: Interval | None = None
    p50_interval: Interval | None = None
    p90_interval: Interval | None = None
    p95_interval: Interval | None = None
    p99_interval: Interval | None = None


class Rate(msgspec.Struct, frozen=True):
    """`count` of `total`, with Wilson's interval; [0, 1] where there is no trial. `value` is None where there is none."""

    count: int
    total: int
    value: float | None
    interval: Interval


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Any set of trials, aggregated."""

    runs: int
    success: Rate
    """Ran and was not found wrong, of all runs."""
    measured: Rate
    """The same, with infrastructure failures taken out of both sides."""
    passed: Rate
    """Required checks passed, of the trials that were checked."""
    failures: dict[str, int]
    duration_ms: Spread | None
    """Of successful runs; None where none succeeded."""
    first_token_ms: Spread | None = None
    queue_ms: Spread | None = None
    backoff_ms_total: float = 0.0
    retries: int = 0
    tokens_prompt: int = 0
    tokens_completion: int = 0
    tokens_prompt_mean: float | None = None
    tokens_completion_mean: float | None = None
    cost_usd_total: float | None = None
    """None where the cost of one run is unknown; 0.0 means free."""
    cost_usd_mean: float | None = None
    """Of the runs whose cost is known; None where the model has no known price."""
    cost_usd_per_success: float | None = None
    """The mean times runs, by successes."""
    cost_unknown_runs: int = 0
    """Failed before the target reported a cost: not in the mean."""
    cost: Spread | None = None
    cost_source: CostSource = "none"
    judge_calls: int = 0
    """Checks for which a judge was asked."""
    judge_cost_usd_total: float | None = None
    """In no other cost figure. None where one judge has no known price; 0.0 where there was none."""
    scores: dict[str, Spread] = {}
    checks: dict[str, Rate] = {}
    repeated_calls: int = 0
    cached: int = 0


class NodeStats(msgspec.Struct, frozen=True, kw_only=True):
    """One node of a workflow over all trials of a configuration."""

    node_id: str
    runs: int
    success: Rate
    duration_ms: Spread | None
    retries: int
    tokens_prompt: int
    tokens_completion: int
    cost_usd_total: float | None
    cost_source: CostSource
    failures: dict[str, int]
    share: float | None = None
    """Of the summed node time of this configuration."""


class ConfigurationStats(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration: over all, by case, by node."""

    name: str
    model: str
    overall: Cell
    cases: dict[str, Cell]
    nodes: dict[str, NodeStats] = {}


class Lead(msgspec.Struct, frozen=True, kw_only=True):
    """Who is first in one respect, and whether the lead over the next is more than chance."""

    config: str
    value: float
    runner_up: str = ""
    runner_up_value: float | None = None
    significant: bool = False
    p_value: float | None = None
    tied: tuple[str, ...] = ()
    """Others with the same value: then nobody leads."""


class BenchSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A whole bench, aggregated: what every report is made of."""

    bench: BenchRecord
    configs: tuple[ConfigurationStats, ...]
    trials: int
    cheapest: Lead | None = None
    fastest: Lead | None = None
    most_reliable: Lead | None = None
    best_score: Lead | None = None
    pareto: tuple[str, ...] = ()
    """Configurations that no other beats in quality, cost and latency at once."""
    quality_by: str = "success"
    """What quality is here: the name of a score, score (several), checks passed or success."""
    quality: dict[str, float] = {}
    """By configuration, where it is known: what the best score, the front and the chart go by."""
    agreement: dict[str, Json] = {}
    """Of judges with human gold, by configuration and check."""
    notes: tuple[str, ...] = ()


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What must be alike for two benchmarks to be compared."""

    dataset: str = ""
    checks: str = ""
    judge: str = ""
    price_table: str = ""
    provider: str = ""
    cache: str = "off"
    machine: str = ""
    retry_policy: str = ""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """The stored measurement of one configuration of one target."""

    sid: str
    bench_uid: str
    bench_id: str
    config: str
    workflow_sid: str = ""
    workflow_version_sid: str = ""
    created_at: int = 0
    num_runs: int = 0
    success_rate: float = 0.0
    """0 to 100."""
    avg_duration_ms: float | None = None
    min_duration_ms: float | None = None
    max_duration_ms: float | None = None
    total_retries: int = 0
    avg_tokens_prompt: float | None = None
    avg_tokens_completion: float | None = None
    estimated_cost_usd: float | None = None
    """Per run; None where a price is unknown."""
    cost_source: CostSource = "none"
    difficulty_rating: float = 0.5
    notes: str = ""
    stats: ConfigurationStats | None = None
    fingerprint: Fingerprint = Fingerprint()
    tags: dict[str, str] = {}
    commit: str = ""
    kind: Literal["bench", "ingested", "perf", "snapshot"] = "bench"
    subject: str = ""
    """What was measured, where that is no configuration of a bench: all benchmarks of a subject are one trend."""
    metrics: dict[str, Metric] = {}
    """By name. Empty for a bench, whose samples are its trials."""
