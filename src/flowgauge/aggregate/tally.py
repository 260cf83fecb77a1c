"""Counts and columns of one set of trials, filled row by row.

Keeps eight bytes for each number that a quantile is taken of, and sums for
everything else; no row and no text is kept.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from flowgauge.aggregate.measures import rate_of, spread_of, weaker
from flowgauge.aggregate.rows import AnyRow
from flowgauge.model.bench import INFRASTRUCTURE
from flowgauge.model.benchmark import Cell, Spread
from flowgauge.model.play import CostSource, Usage
from flowgauge.model.workflow import Json

NOT_MEASURED = INFRASTRUCTURE | {"check_error", "judge_error"}
"""Failures that leave open whether the target is any good."""


Rating = bool | int | float | str
"""What a judge or a person says of a case."""


class Weighing(NamedTuple):
    """How the score of a check enters quality: its weight, and the scale on which it becomes 0 to 1."""

    weight: float
    low: float = 0.0
    high: float = 1.0


class _Check(msgspec.Struct, gc=False):
    name: str = ""
    type: str = ""
    passed: bool | None = None
    usage: Usage | None = None
    label: Json = None
    gold: Json = None


_NO_COLUMN: array[float] = array("d")
_NO_FAILURES: dict[str, int] = {}
_NO_SCORES: dict[str, array[float]] = {}
_NO_CHECKS: dict[str, tuple[int, int]] = {}
_NO_PAIRS: dict[str, dict[tuple[Rating, Rating], int]] = {}
"""Shared by all that have none, so never written to."""

_read_checks = msgspec.json.Decoder(list[_Check]).decode
_read_scores = msgspec.json.Decoder(dict[str, float | None]).decode


class Tally:
    """One cell while it is being counted. `weighing` is by the names of checks; other scores are what the target says of itself.

    A bench may have a hundred thousand cells: what most of them lack is made when it is needed.
    """

    __slots__ = (
        "backoff_ms",
        "cached",
        "checked",
        "checks",
        "cost_source",
        "cost_unknown",
        "durations",
        "failed_costs",
        "failures",
        "first_tokens",
        "judge_calls",
        "judge_cost_usd",
        "judge_unpriced",
        "ok",
        "ok_costs",
        "own_quality",
        "pairs",
        "passed",
        "quality",
        "queues",
        "repeated",
        "retries",
        "runs",
        "scores",
        "tokens_completion",
        "tokens_prompt",
        "unmeasured",
        "unmeasured_ok",
        "unpriced",
        "weighing",
    )  # fmt: skip

    def __init__(self, weighing: Mapping[str, Weighing]) -> None:
        self.weighing = weighing
        self.runs = self.ok = self.passed = self.checked = self.unmeasured = self.unmeasured_ok = 0
        self.retries = self.tokens_prompt = self.tokens_completion = self.unpriced = self.repeated = self.cached = 0
        self.cost_unknown = self.judge_calls = self.judge_unpriced = 0
        self.backoff_ms = self.judge_cost_usd = 0.0
        self.cost_source: CostSource = "none"
        self.failures: dict[str, int] = _NO_FAILURES
        self.durations, self.queues, self.ok_costs = array("d"), array("d"), array("d")
        self.first_tokens = self.failed_costs = _NO_COLUMN
        self.quality = self.own_quality = _NO_COLUMN
        """A run each: by the scores of checks, and by what the target says of itself."""
        self.scores: dict[str, array[float]] = _NO_SCORES
        self.checks: dict[str, tuple[int, int]] = _NO_CHECKS
        """By name: how many passed, of how many that decided."""
        self.pairs: dict[str, dict[tuple[Rating, Rating], int]] = _NO_PAIRS
        """By name of a `gold` check: what was found beside what a person said, and how often."""

    def add(self, row: AnyRow) -> None:
        """Count one trial."""
        (
            _, _, status, passed, category, duration, queue, backoff, _, first_token,
            retries, prompt, completion, cost, source, _, scores, checks, repeated, cached,
        ) = row  # fmt: skip
        self.runs += 1
        ok = status == "success" and not category and (passed is None or bool(passed))
        if ok:
            self.ok += 1
            self.durations.append(duration)
            if first_token is not None:
                self._column("first_tokens").append(first_token)
        if passed is not None:
            self.checked += 1
            self.passed += bool(passed)
        if category:
            self._count_failure(category, ok)
        self.queues.append(queue)
        self.backoff_ms += backoff
        self.retries += retries
        self.tokens_prompt += prompt
        self.tokens_completion += completion
        if cost is None and status != "success" and not (prompt or completion):
            self.cost_unknown += 1
        else:
            self._count_cost(cost, source, ok)
        if scores and scores != "{}":
            self._count_scores(_read_scores(scores))
        if checks and checks != "[]":
            self._count_checks(_read_checks(checks))
        self.repeated += repeated
        self.cached += bool(cached)

    def _column(self, name: str) -> array[float]:
        column: array[float] = getattr(self, name)
        if column is _NO_COLUMN:
            column = array("d")
            setattr(self, name, column)
        return column

    def _score(self, name: str) -> array[float]:
        if self.scores is _NO_SCORES:
            self.scores = {}
        column = self.scores.get(name)
        if column is None:
            column = self.scores[name] = array("d")
        return column

    def _fail(self, category: str, count: int) -> None:
        if self.failures is _NO_FAILURES:
            self.failures = {}
        self.failures[category] = self.failures.get(category, 0) + count

    def _check(self, name: str, passed: int, decided: int) -> None:
        if self.checks is _NO_CHECKS:
            self.checks = {}
        before = self.checks.get(name, (0, 0))
        self.checks[name] = before[0] + passed, before[1] + decided

    def _pair(self, name: str, pair: tuple[Rating, Rating], count: int) -> None:
        if self.pairs is _NO_PAIRS:
            self.pairs = {}
        counts = self.pairs.setdefault(name, {})
        counts[pair] = counts.get(pair, 0) + count

    def _count_failure(self, category: str, ok: bool) -> None:
        self._fail(category, 1)
        if category in NOT_MEASURED:
            self.unmeasured += 1
            self.unmeasured_ok += ok

    def _count_cost(self, cost: float | None, source: CostSource, ok: bool) -> None:
        if cost is None or source == "unpriced":
            self.unpriced += 1
            self.cost_source = "unpriced"
            return
        (self.ok_costs if ok else self._column("failed_costs")).append(cost)
        if source != self.cost_source:
            self.cost_source = weaker(self.cost_source, source)

    def _count_scores(self, scores: dict[str, float | None]) -> None:
        total = weight_sum = 0.0
        own: list[float] = []
        for name, score in scores.items():
            if score is None:
                continue
            self._score(name).append(score)
            weighing = self.weighing.get(name)
            if weighing is None:
                own.append(score)
                continue
            total += weighing.weight * (score - weighing.low) / (weighing.high - weighing.low)
            weight_sum += weighing.weight
        if weight_sum:
            self._column("quality").append(total / weight_sum)
        if own:
            self._column("own_quality").append(math.fsum(own) / len(own))

    def _count_checks(self, checks: list[_Check]) -> None:
        for check in checks:
            if check.passed is not None:
                self._check(check.name or check.type, check.passed, 1)
            if check.usage is not None:
                self._count_judge(check.usage)
            if isinstance(check.gold, Rating) and isinstance(check.label, Rating):
                self._pair(check.name or check.type, (check.label, check.gold), 1)

    def _count_judge(self, usage: Usage) -> None:
        self.judge_calls += 1
        self.judge_unpriced += usage.cost_usd is None
        self.judge_cost_usd += usage.cost_usd or 0.0

    def absorb(self, other: Tally) -> None:
        """Add what another tally counted."""
        self.runs += other.runs
        self.ok += other.ok
        self.passed += other.passed
        self.checked += other.checked
        self.unmeasured += other.unmeasured
        self.unmeasured_ok += other.unmeasured_ok
        self.retries += other.retries
        self.tokens_prompt += other.tokens_prompt
        self.tokens_completion += other.tokens_completion
        self.unpriced += other.unpriced
        self.cost_unknown += other.cost_unknown
        self.judge_calls += other.judge_calls
        self.judge_unpriced += other.judge_unpriced
        self.judge_cost_usd += other.judge_cost_usd
        self.repeated += other.repeated
        self.cached += other.cached
        self.backoff_ms += other.backoff_ms
        self.cost_source = weaker(self.cost_source, other.cost_source)
        self.durations.extend(other.durations)
        self.queues.extend(other.queues)
        self.ok_costs.extend(other.ok_costs)
        for name in ("failed_costs", "first_tokens", "quality", "own_quality"):
            if column := getattr(other, name):
                self._column(name).extend(column)
        for category, count in other.failures.items():
            self._fail(category, count)
        for name, scores in other.scores.items():
            self._score(name).extend(scores)
        for name, counts in other.checks.items():
            self._check(name, *counts)

    def cell(self) -> Cell:
        """What it all amounts to."""
        return Cell(
            runs=self.runs,
            success=rate_of(self.ok, self.runs),
            measured=rate_of(self.ok - self.unmeasured_ok, self.runs - self.unmeasured),
            passed=rate_of(self.passed, self.checked),
            failures=dict(sorted(self.failures.items())),
            duration_ms=spread_of(self.durations),
            first_token_ms=spread_of(self.first_tokens),
            queue_ms=spread_of(self.queues),
            backoff_ms_total=self.backoff_ms,
            retries=self.retries,
            tokens_prompt=self.tokens_prompt,
            tokens_completion=self.tokens_completion,
            tokens_prompt_mean=self._per_run(self.tokens_prompt),
            tokens_completion_mean=self._per_run(self.tokens_completion),
            scores={name: spread for name, column in sorted(self.scores.items()) if (spread := spread_of(column))},
            checks={name: rate_of(*counts) for name, counts in sorted(self.checks.items())},
            repeated_calls=self.repeated,
            cached=self.cached,
            **self._costs(),
        )

    def _costs(self) -> dict[str, Any]:
        """A run without a price leaves all unknown; one that failed before it reported a cost, the total only."""
        costs = self.ok_costs + self.failed_costs
        spread: Spread | None = spread_of(costs)
        total = math.fsum(costs) if spread and not self.unpriced else None
        per_success = total / self.ok * (self.runs / len(costs)) if total is not None and self.ok else None
        return {
            "cost": spread,
            "cost_source": self.cost_source,
            "cost_usd_total": None if self.cost_unknown else total,
            "cost_usd_mean": spread.mean if total is not None and spread else None,
            "cost_usd_per_success": per_success,
            "cost_unknown_runs": self.cost_unknown,
            "judge_calls": self.judge_calls,
            "judge_cost_usd_total": None if self.judge_unpriced else self.judge_cost_usd,
        }

    def _per_run(self, total: float) -> float | None:
        return total / self.runs if self.runs else None
