"""One number for one metric: what limits, histories and trends go by.

A cell, a benchmark or one side of a comparison in; a number out, or None where it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from flowgauge.compare.rates import all_of, measured_of, total_rate
from flowgauge.model.benchmark import Benchmark, Cell, Spread
from flowgauge.model.metric import Direction, Measured
from flowgauge.stats.describe import mean

SUCCESS_RATE = "success_rate"
"""What the pass rate goes by among metrics."""


def _of(spread: Spread | None, name: str) -> float | None:
    return getattr(spread, name) if spread is not None else None


METRICS: dict[str, Callable[[Cell], float | None]] = {
    SUCCESS_RATE: lambda cell: cell.success.value,
    "measured_success_rate": lambda cell: cell.measured.value,
    "pass_rate": lambda cell: cell.passed.value,
    "mean_ms": lambda cell: _of(cell.duration_ms, "mean"),
    "p50_ms": lambda cell: _of(cell.duration_ms, "p50"),
    "p90_ms": lambda cell: _of(cell.duration_ms, "p90"),
    "p95_ms": lambda cell: _of(cell.duration_ms, "p95"),
    "p99_ms": lambda cell: _of(cell.duration_ms, "p99"),
    "first_token_p50_ms": lambda cell: _of(cell.first_token_ms, "p50"),
    "cost_usd": lambda cell: cell.cost_usd_mean,
    "cost_usd_per_success": lambda cell: cell.cost_usd_per_success,
    "cost_usd_total": lambda cell: cell.cost_usd_total,
    "tokens_prompt": lambda cell: cell.tokens_prompt_mean,
    "tokens_completion": lambda cell: cell.tokens_completion_mean,
    "retries": lambda cell: float(cell.retries),
}
"""Of a bench, by the name that limits use."""
_MEANS: dict[str, Callable[[Cell], float | None]] = {
    "duration_ms": METRICS["mean_ms"],
    "first_token_ms": lambda cell: _of(cell.first_token_ms, "mean"),
}
"""By the name that comparisons use, where that is another."""


_LOWER = ("cost_", "tokens_", "retries")


def direction_of(metric: str) -> Direction:
    """Which way is better, of the metrics that a bench has."""
    return "lower" if metric.endswith("_ms") or metric.startswith(_LOWER) else "higher"


def unit_of(metric: str) -> str:
    """Of the metrics that a bench has."""
    if metric.endswith("_ms"):
        return "ms"
    return "USD" if metric.startswith("cost_") else "tokens" if metric.startswith("tokens_") else ""


def known_metrics(benchmark: Benchmark) -> list[str]:
    """Whatever it has a figure of."""
    if benchmark.stats is None:
        return list(benchmark.metrics)
    cell = benchmark.stats.overall
    named = (*METRICS, *_MEANS, *(f"score.{name}" for name in cell.scores), *(f"check.{name}" for name in cell.checks))
    return [*benchmark.metrics, *(name for name in named if measure(cell, name) is not None)]


def measure(cell: Cell, metric: str) -> float | None:
    """A metric of a cell; None where it is not known."""
    kind, dot, name = metric.partition(".")
    if dot and kind == "score":
        return _of(cell.scores.get(name), "mean")
    if dot and kind == "check":
        rate = cell.checks.get(name)
        return rate.value if rate else None
    found = METRICS.get(metric) or _MEANS.get(metric)
    return found(cell) if found else None


def figure_of(benchmark: Benchmark, metric: str) -> float | None:
    """As it is stored: of a bench the mean over its runs, of anything else the figure that it came with."""
    given = benchmark.metrics.get(metric)
    if given is not None:
        return given.value if given.value is not None else _mean(given.samples.values())
    return None if benchmark.stats is None else measure(benchmark.stats.overall, metric)


def figure_of_side(side: Measured, metric: str) -> float | None:
    """The same for one side of a comparison, also where nothing but its samples and cases is known."""
    stored = figure_of(side.benchmark, metric)
    if stored is not None:
        return stored
    if side.cases and metric in _RATES:
        return total_rate(side.cases.values(), _RATES[metric]).value
    samples = side.metrics.get(metric)
    if samples is None:
        return None
    return samples.value if samples.value is not None else _mean(samples.by_case.values())


_RATES = {SUCCESS_RATE: all_of, "measured_success_rate": measured_of}


def _mean(groups: Iterable[Sequence[float]]) -> float | None:
    values = list(chain.from_iterable(groups))
    return mean(values) if values else None
