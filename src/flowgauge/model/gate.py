"""What a gate asks, as a policy file declares it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from flowgauge.model.metric import Direction
from flowgauge.model.verdict import GateRule
from flowgauge.model.workflow import Value

MetricRule = Literal["detect", "prove", "threshold", "ignore"]
"""A gate's rule, or none."""


class History(Value, frozen=True):
    """The candidate against the last benchmarks of its subject, instead of one baseline."""

    method: Annotated[Literal["z", "t", "iqr"], Meta(description="z: sigmas from the mean; t: a prediction interval; iqr: Tukey's fences.")]
    last: Annotated[int, Meta(ge=3, description="How many benchmarks before the candidate.")] = 10
    bound: Annotated[float, Meta(gt=0, description="z: 3 sigmas; t: level .95; iqr: 1.5 spans; by default.")] | None = None


class MetricPolicy(Value, frozen=True):
    """What is asked of one metric; what is not said is the policy's own."""

    rule: MetricRule | None = None
    tolerance: Annotated[float, Meta(ge=0, lt=1)] | None = None
    direction: Direction | None = None
    min_samples: Annotated[int, Meta(ge=1, description="A side; fewer is inconclusive.")] | None = None
    history: History | None = None


class KOfN(Value, frozen=True):
    """Every case must pass at least so many of its runs."""

    k: Annotated[int, Meta(ge=1)]
    n: Annotated[int, Meta(ge=1, description="Of the first n runs; all of them by default.")] | None = None
    cases: Annotated[tuple[str, ...], Meta(description="Only these; all by default.")] = ()


class Policy(Value, frozen=True):
    """A whole gate."""

    rule: GateRule = "detect"
    tolerance: Annotated[float, Meta(ge=0, lt=1)] = 0.05
    min_samples: Annotated[int, Meta(ge=1)] = 2
    metrics: Annotated[dict[str, MetricPolicy], Meta(description="By metric: duration_ms, cost_usd, score.<name>, …")] = {}
    only: Annotated[tuple[str, ...], Meta(description="Judge only these metrics; by default every one that both sides have.")] = ()
    rates: Annotated[
        Literal["tiers", "aggregate", "both", "ignore"], Meta(description="Which pass rates are judged: of each case, over all, both.")
    ] = "both"
    fail_on: Annotated[
        tuple[Literal["hard_regression", "soft_regression", "watch"], ...], Meta(description="Tiers that fail the gate.")
    ] = ("hard_regression",)
    correct_cases: Annotated[
        bool, Meta(description="Many cases at once: one fails the gate only where chance would rarely make any of them look so bad.")
    ] = True
    limits: Annotated[tuple[str, ...], Meta(description="Absolute: p95_ms <= 2000, success_rate >= 0.9, …")] = ()
    k_of_n: KOfN | None = None
    strict: Annotated[bool, Meta(description="Refuse what is not comparable.")] = False
    allow: Annotated[tuple[str, ...], Meta(description="Differences that --strict lets pass: price_table, machine, …")] = ()
    count_all_failures: bool = False
    max_infrastructure: Annotated[float, Meta(ge=0, le=1)] = 0.05
    alpha: Annotated[float, Meta(ge=1e-9, lt=0.5)] = 0.05
