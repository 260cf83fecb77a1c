"""Rows that aggregation reads: columns of trials and node runs, without what a model said.

Plain tuples in the order of the fields do as well: that is what a store's query
yields. JSON columns stay text until something in them is asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from flowgauge.model.bench import CheckResult, Trial, judge_cost_usd, paid_usd
from flowgauge.model.play import CostSource, NodeRun

AnyRow = tuple[Any, ...]
"""A TrialRow or NodeRow, or a plain tuple in the same order."""


_read_checks = msgspec.json.Decoder(list[CheckResult]).decode


class TrialRow(NamedTuple):
    """One trial."""

    config: str
    case: str
    status: str
    passed: bool | int | None
    failure_category: str
    duration_ms: float
    queue_ms: float
    backoff_ms: float
    score_ms: float
    first_token_ms: float | None
    retries: int
    tokens_prompt: int
    tokens_completion: int
    cost_usd: float | None
    cost_source: CostSource
    model: str
    scores_json: str | bytes | None
    """An object of numbers; a null in it is a score that could not be given."""
    checks_json: str | bytes | None
    """A list of CheckResult."""
    repeated: int
    cached: bool | int

    @property
    def paid_usd(self) -> float | None:
        """For the target and its judges, as far as it is known."""
        judge_usd = judge_cost_usd(_read_checks(self.checks_json)) if self.checks_json else 0.0
        return paid_usd(self.cost_usd, judge_usd, cached=bool(self.cached))


class NodeRow(NamedTuple):
    """One attempt of one node in a trial's play."""

    config: str
    node_id: str
    attempt: int
    status: str
    duration_ms: float
    tokens_prompt: int
    tokens_completion: int
    cost_usd: float | None
    cost_source: CostSource
    failure_kind: str | None


def trial_row(trial: Trial) -> TrialRow:
    """The columns of a trial that is at hand as a value."""
    answer = trial.answer
    return TrialRow(
        config=trial.config,
        case=trial.case,
        status=answer.status,
        passed=trial.passed,
        failure_category=trial.failure_category,
        duration_ms=answer.duration_ms,
        queue_ms=answer.queue_ms,
        backoff_ms=answer.backoff_ms,
        score_ms=trial.score_ms,
        first_token_ms=answer.first_token_ms,
        retries=answer.retries,
        tokens_prompt=answer.tokens_prompt,
        tokens_completion=answer.tokens_completion,
        cost_usd=answer.cost_usd,
        cost_source=answer.cost_source,
        model=answer.model,
        scores_json=msgspec.json.encode(trial.scores) if trial.scores else None,
        checks_json=msgspec.json.encode(trial.checks) if trial.checks else None,
        repeated=answer.repeated,
        cached=answer.cached,
    )


def node_row(config: str, run: NodeRun) -> NodeRow:
    """The columns of a node run that is at hand as a value."""
    return NodeRow(
        config=config,
        node_id=run.node_id,
        attempt=run.attempt,
        status=run.status,
        duration_ms=run.duration_ms,
        tokens_prompt=run.tokens_prompt,
        tokens_completion=run.tokens_completion,
        cost_usd=run.cost_usd,
        cost_source=run.cost_source,
        failure_kind=run.error.kind if run.error else None,
    )
