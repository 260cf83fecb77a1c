"""One benchmark → Measured: what compare, gate and trend read.

Columns of trials and node runs come in, in batches of plain tuples as the store
hands them over; packed numbers by case go out. A benchmark that no bench made
brings its metrics along. What no run has is not there: a metric without a
sample is left out. Cached answers count with the time and cost that they keep,
as in every other figure of a bench.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from flowgauge.model.bench import INFRASTRUCTURE
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.figure import Direction, Metric
from flowgauge.model.metric import CaseCounts, Measured, Samples

Batches = Iterable[Iterable[tuple[Any, ...]]]
FAILED_RUNS_SHOWN = 5

_KINDS: Mapping[str, tuple[Direction, str]] = {
    "duration_ms": ("lower", "ms"),
    "first_token_ms": ("lower", "ms"),
    "cost_usd": ("lower", "USD"),
    "tokens_prompt": ("lower", "tokens"),
    "tokens_completion": ("lower", "tokens"),
}
_UNNAMED = "failed"
"""Where a run did not end well and does not say why."""
_SCORE: tuple[Direction, str] = ("higher", "")
_ITEM = re.compile(r"\[\d+\]")
_read_scores = msgspec.json.Decoder(dict[str, float | None]).decode


def measured(benchmark: Benchmark, label: str, trials: Batches = (), nodes: Batches = ()) -> Measured:
    """All that can be compared of it; nodes only where their columns are given.

    `trials`, in the order in which they were planned: case, failure (run id, a blank, category; None where it succeeded),
    duration_ms, first_token_ms, tokens_prompt, tokens_completion, cost_usd, scores as JSON or None. `nodes`, the attempts of
    successful trials, trial by trial: play_sid, case, node id, duration_ms.
    """
    cases = _read_trials(trials)
    return Measured(
        label=label,
        benchmark=benchmark,
        metrics=_given(benchmark.metrics) | _columns(cases),
        cases={name: case.counts() for name, case in cases.items()},
        nodes=_read_nodes(nodes),
    )


class _Case:
    """The columns of one case while they are filled."""

    __slots__ = ("completion", "cost", "duration", "failed_runs", "failures", "first_token", "prompt", "scores")

    def __init__(self) -> None:
        self.duration, self.first_token, self.cost = array("d"), array("d"), array("d")
        self.prompt, self.completion = array("d"), array("d")
        self.scores: dict[str, array[float]] = {}
        self.failures: dict[str, int] = {}
        self.failed_runs: list[str] = []

    def fail(self, failure: str) -> None:
        """A run that failed or was found wrong."""
        run_id, _, category = failure.partition(" ")
        category = category or _UNNAMED
        self.failures[category] = self.failures.get(category, 0) + 1
        if len(self.failed_runs) < FAILED_RUNS_SHOWN:
            self.failed_runs.append(run_id)

    def score(self, scores: dict[str, float | None]) -> None:
        """A null is a score that could not be given."""
        for name, value in scores.items():
            if value is not None:
                column = self.scores.get(name)
                if column is None:
                    column = self.scores[name] = array("d")
                column.append(value)

    def counts(self) -> CaseCounts:
        """Every run has a duration, or a failure."""
        passed = len(self.duration)
        return CaseCounts(
            runs=passed + sum(self.failures.values()),
            passed=passed,
            infrastructure=sum(count for category, count in self.failures.items() if category in INFRASTRUCTURE),
            failures=dict(sorted(self.failures.items())),
            failed_runs=tuple(self.failed_runs),
        )

    def columns(self) -> dict[str, array[float]]:
        """By the names of metrics; some may be empty."""
        usual = (self.duration, self.first_token, self.cost, self.prompt, self.completion)
        return {**dict(zip(_KINDS, usual, strict=True)), **{f"score.{name}": column for name, column in sorted(self.scores.items())}}


def _read_trials(batches: Batches) -> dict[str, _Case]:
    cases: dict[str, _Case] = {}
    for rows in batches:
        for name, failure, duration, first_token, prompt, completion, cost, scores in rows:
            case = cases.get(name)
            if case is None:
                case = cases[name] = _Case()
            if failure is None:
                case.duration.append(duration)
                if first_token is not None:
                    case.first_token.append(first_token)
            else:
                case.fail(failure)
            if failure is None or cost is not None or prompt or completion:
                case.prompt.append(prompt)
                case.completion.append(completion)
            if cost is not None:
                case.cost.append(cost)
            if scores:
                case.score(_read_scores(scores))
    return cases


def _columns(cases: Mapping[str, _Case]) -> dict[str, Samples]:
    by_metric: dict[str, dict[str, array[float]]] = {name: {} for name in _KINDS}
    for name, case in cases.items():
        for metric, column in case.columns().items():
            if column:
                by_metric.setdefault(metric, {})[name] = column
    return {metric: _samples(*_KINDS.get(metric, _SCORE), columns) for metric, columns in by_metric.items() if columns}


def _given(metrics: Mapping[str, Metric]) -> dict[str, Samples]:
    """As an ingested file has them; the figure itself counts only where there are no samples."""
    made = {}
    for name, metric in metrics.items():
        columns = {case: array("d", values) for case, values in metric.samples.items() if values}
        made[name] = _samples(metric.direction, metric.unit, columns, None if columns else metric.value)
    return made


def _read_nodes(batches: Batches) -> dict[str, Samples]:
    """A sample is all that a node took in one trial: its attempts, and the items of a map, are summed."""
    names: dict[str, str] = {}
    nodes: dict[str, dict[str, array[float]]] = {}
    trial, case, took = "", "", dict[str, float]()
    for rows in batches:
        for play_sid, case_name, node_id, duration in rows:
            if play_sid != trial:
                _add_trial(nodes, case, took)
                trial, case, took = play_sid, case_name, {}
            name = names.get(node_id)
            if name is None:
                name = names[node_id] = _ITEM.sub("[*]", node_id)
            took[name] = took.get(name, 0.0) + duration
    _add_trial(nodes, case, took)
    return {name: _samples("lower", "ms", nodes[name]) for name in sorted(nodes)}


def _add_trial(nodes: dict[str, dict[str, array[float]]], case: str, took: Mapping[str, float]) -> None:
    for name, duration in took.items():
        columns = nodes.get(name)
        if columns is None:
            columns = nodes[name] = {}
        column = columns.get(case)
        if column is None:
            column = columns[case] = array("d")
        column.append(duration)


def _samples(direction: Direction, unit: str, columns: Mapping[str, array[float]], value: float | None = None) -> Samples:
    return Samples(direction=direction, unit=unit, by_case=columns, value=value)
