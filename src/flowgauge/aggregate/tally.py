"""Counts and columns of one set of trials, filled row by row.

Keeps eight bytes for each number that a quantile is taken of, and sums for
everything else; no row and no text is kept.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Any

import msgspec

from flowgauge.aggregate.measures import rate_of, spread_of, weaker
from flowgauge.aggregate.rows import AnyRow
from flowgauge.model.bench import INFRASTRUCTURE
from flowgauge.model.benchmark import Cell, Spread
from flowgauge.model.play import CostSource
from flowgauge.model.workflow import Json

NOT_MEASURED = INFRASTRUCTURE | {"check_error", "judge_error"}
"""Failures that leave open whether the target is any good."""


Rating = bool | int | float | str
"""What a judge or a person says of a case."""


class _Check(msgspec.Struct, gc=False):
    name: str = ""
    type: str = ""
    passed: bool | None = None
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
    """One cell while it is being counted. `weights` are those of the scores, by name; 1 where none is named.

    A bench may have a hundred thousand cells: what most of them lack is made when it is needed.
    """

    __slots__ = (
        "backoff_ms",
        "cached",
        "checked",
        "checks",
        "cost_source",
        "costs",
        "durations",
        "failures",
        "first_tokens",
        "ok",
        "ok_costs",
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
        "weights",
    )  # fmt: skip

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = weights
        self.runs = self.ok = self.passed = self.checked = self.unmeasured = self.unmeasured_ok = 0
        self.retries = self.tokens_prompt = self.tokens_completion = self.unpriced = self.repeated = self.cached = 0
        self.backoff_ms = 0.0
        self.cost_source: CostSource = "none"
        self.failures: dict[str, int] = _NO_FAILURES
        self.durations, self.queues, self.costs = array("d"), array("d"), array("d")
        self.ok_costs = array("d")
        """Of the runs that succeeded: what failed runs cost says little about a price."""
        self.first_tokens = self.quality = _NO_COLUMN
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
                self._first_tokens().append(first_token)
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
        self._count_cost(cost, source)
        if ok and cost is not None:
            self.ok_costs.append(cost)
        if scores and scores != "{}":
            self._count_scores(_read_scores(scores))
        if checks and checks != "[]":
            self._count_checks(_read_checks(checks))
        self.repeated += repeated
        self.cached += bool(cached)

    def _first_tokens(self) -> array[float]:
        if self.first_tokens is _NO_COLUMN:
            self.first_tokens = array("d")
        return self.first_tokens

    def _quality(self) -> array[float]:
        if self.quality is _NO_COLUMN:
            self.quality = array("d")
        return self.quality

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

    def _count_cost(self, cost: float | None, source: CostSource) -> None:
        if cost is None or source == "unpriced":
            self.unpriced += 1
            self.cost_source = "unpriced"
            return
        self.costs.append(cost)
        if source != self.cost_source:
            self.cost_source = weaker(self.cost_source, source)

    def _count_scores(self, scores: dict[str, float | None]) -> None:
        total = weight_sum = 0.0
        for name, score in scores.items():
            if score is None:
                continue
            self._score(name).append(score)
            weight = self.weights.get(name, 1.0)
            total += weight * score
            weight_sum += weight
        if weight_sum:
            self._quality().append(total / weight_sum)

    def _count_checks(self, checks: list[_Check]) -> None:
        for check in checks:
            if check.passed is not None:
                self._check(check.name or check.type, check.passed, 1)
            if isinstance(check.gold, Rating) and isinstance(check.label, Rating):
                self._pair(check.name or check.type, (check.label, check.gold), 1)

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
        self.repeated += other.repeated
        self.cached += other.cached
        self.backoff_ms += other.backoff_ms
        self.cost_source = weaker(self.cost_source, other.cost_source)
        self.durations.extend(other.durations)
        self.queues.extend(other.queues)
        self.costs.extend(other.costs)
        self.ok_costs.extend(other.ok_costs)
        if other.first_tokens:
            self._first_tokens().extend(other.first_tokens)
        if other.quality:
            self._quality().extend(other.quality)
        for category, count in other.failures.items():
            self._fail(category, count)
        for name, column in other.scores.items():
            self._score(name).extend(column)
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
        """Total, mean and cost per success are unknown as soon as one run has no price."""
        spread: Spread | None = spread_of(self.costs)
        known = self.runs > 0 and not self.unpriced
        total = math.fsum(self.costs) if known else None
        return {
            "cost": spread,
            "cost_source": self.cost_source,
            "cost_usd_total": total,
            "cost_usd_mean": spread.mean if known and spread else None,
            "cost_usd_per_success": total / self.ok if total is not None and self.ok else None,
        }

    def _per_run(self, total: float) -> float | None:
        return total / self.runs if self.runs else None
