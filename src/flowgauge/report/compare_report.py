"""What a comparison's JSON holds (`eval-results.json`), and its schema.

Two halves. `summary`, `comparison`, `comparisonStatus` and `comparisonError`
have the names and the shape that scripts for evaluation results know
(camelCase). `gate` and `verdicts` are Flowgauge's own nouns, whole. null is
unknown, never zero. The schema is made from the declarations that are written,
so it cannot fall behind.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from flowgauge.model.verdict import Attempt, Comparison, GateLine, GateStatus, Tier

FORMAT: Literal["flowgauge-compare-report"] = "flowgauge-compare-report"
VERSION: Literal[1] = 1


class _Camel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Named as the scripts that read evaluation results expect."""


class Experiment(_Camel, frozen=True):
    """One side."""

    experiment_name: str


class Bounds(_Camel, frozen=True):
    """Wilson, 95 %."""

    lower: float
    upper: float


class Aggregate(_Camel, frozen=True):
    """Micro-average over the scenarios that both sides have, as judged."""

    intersection_size: int
    pr_aggregate_pass_rate: float | None
    baseline_aggregate_pass_rate: float | None
    pr_aggregate_ci: Bounds = msgspec.field(name="prAggregateCI")
    baseline_aggregate_ci: Bounds = msgspec.field(name="baselineAggregateCI")
    delta: float | None
    verdict: Tier


class ScenarioReference(_Camel, frozen=True):
    """A scenario that only one side has."""

    test_case_file: str
    scenario_name: str


class Scenario(_Camel, frozen=True):
    """One scenario on both sides, as judged."""

    test_case_file: str
    scenario_name: str
    verdict: Tier
    pr_passes: int
    pr_total: int
    pr_pass_rate: float | None
    baseline_passes: int
    baseline_total: int
    baseline_pass_rate: float | None
    delta: float | None
    p_value: float | None
    failed_runs: tuple[str, ...]


class Category(_Camel, frozen=True):
    """A failure category that drifted."""

    category: str
    pr_count: int
    pr_rate: float | None
    baseline_count: int
    baseline_rate: float | None
    delta: float | None
    notable: bool


class Result(_Camel, frozen=True):
    """The comparison of pass rates."""

    pr: Experiment
    baseline: Experiment
    aggregate: Aggregate | None
    scenarios: tuple[Scenario, ...]
    pr_only: tuple[ScenarioReference, ...]
    baseline_only: tuple[ScenarioReference, ...]
    failure_categories: tuple[Category, ...]


class Compared(_Camel, frozen=True):
    """The baseline and what came of it."""

    baseline: str
    result: Result


class Summary(_Camel, frozen=True):
    """What a reader wants first."""

    status: Annotated[
        GateStatus | Literal["compared", "not_compared"], Meta(description="Of the gate; without one, whether it was compared.")
    ]
    exit_code: Annotated[Literal[0, 1, 3] | None, Meta(description="Of the gate; null where there is none.")]
    sentence: Annotated[str, Meta(description="The verdict in words.")]
    scenarios_total: Annotated[int, Meta(description="That both sides have.")]
    tiers: Annotated[dict[str, int], Meta(description="Scenarios by verdict.")]
    metrics: Annotated[dict[str, int], Meta(description="Continuous metrics by verdict.")]


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked and the answers, in the order of the policy."""

    status: GateStatus
    exit_code: Literal[0, 1, 3]
    policy: str
    lines: tuple[GateLine, ...]


class CompareReport(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison, what a gate made of it, and every verdict."""

    format: Annotated[Literal["flowgauge-compare-report"], Meta(description="What this file is.")]
    version: Annotated[Literal[1], Meta(description="Of this schema.")]
    commit: Annotated[str, Meta(description="Of the candidate; empty where it is not known.")]
    command: Annotated[str, Meta(description="What made the comparison; empty where it is not known.")]
    experiment_name: Annotated[str, Meta(description="The candidate.")] = msgspec.field(name="experimentName")
    summary: Summary
    comparison: Annotated[Compared | None, Meta(description="Pass rates; null where there are none to compare.")]
    comparison_status: Annotated[Attempt, Meta(description="Only `ok` has verdicts.")] = msgspec.field(name="comparisonStatus")
    comparison_error: Annotated[str | None, Meta(description="Why there is no comparison.")] = msgspec.field(name="comparisonError")
    gate: Annotated[Gate | None, Meta(description="null where nobody asked for a decision.")]
    verdicts: Annotated[Comparison, Meta(description="Everything, in Flowgauge's own nouns.")]


def compare_report_json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of what `write_json` writes."""
    (root,), components = msgspec.json.schema_components([CompareReport], ref_template="#/$defs/{name}")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Flowgauge comparison report, version 1"}
    return {**head, **root, "$defs": components}
