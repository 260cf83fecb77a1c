"""Benches from Python: `fg.bench(…)` and `await fg.abench(…)`.

result = fg.bench("workflow.yaml", configs="configs.yaml", runs=5)
result.configs["mini"].latency.p95, result.cheapest, result.to_markdown()
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.app.bench import BenchOutcome, BenchRequest, Follower, run_bench
from flowgauge.app.hosted import open_hosted
from flowgauge.app.workflows import save_workflow
from flowgauge.app.workspace import opened_store
from flowgauge.model.bench import Trial
from flowgauge.model.benchmark import Cell, ConfigurationStats, Rate, Spread
from flowgauge.model.workflow import Workflow

_OPTIONS = ("name", "runs", "max_concurrency", "limit", "seed", "budget_usd", "timeout_s", "cache", "tags", "filters")


class ConfigResult(msgspec.Struct, frozen=True):
    """One configuration: its numbers by the names people look for."""

    stats: ConfigurationStats

    @property
    def name(self) -> str:
        """As the bench calls it."""
        return self.stats.name

    @property
    def latency(self) -> Spread | None:
        """Milliseconds of successful runs; None where none succeeded."""
        return self.stats.overall.duration_ms

    @property
    def success(self) -> Rate:
        """Ran and was not found wrong."""
        return self.stats.overall.success

    @property
    def cost_usd(self) -> float | None:
        """Of one run; None where a price is unknown."""
        return self.stats.overall.cost_usd_mean

    @property
    def scores(self) -> dict[str, Spread]:
        """Every score."""
        return self.stats.overall.scores

    @property
    def cases(self) -> dict[str, Cell]:
        """The same numbers for each case."""
        return self.stats.cases


class BenchResult(msgspec.Struct, frozen=True):
    """A bench, run and stored."""

    outcome: BenchOutcome
    db: str | None = None

    @property
    def bench_id(self) -> str:
        """How commands name it."""
        return self.outcome.record.bench_id

    @property
    def configs(self) -> dict[str, ConfigResult]:
        """By name."""
        return {stats.name: ConfigResult(stats) for stats in self.outcome.summary.configs}

    @property
    def cheapest(self) -> str | None:
        """The configuration with the lowest known cost."""
        lead = self.outcome.summary.cheapest
        return lead.config if lead else None

    @property
    def fastest(self) -> str | None:
        """The configuration with the lowest median."""
        lead = self.outcome.summary.fastest
        return lead.config if lead else None

    @property
    def most_reliable(self) -> str | None:
        """The configuration with the highest success rate."""
        lead = self.outcome.summary.most_reliable
        return lead.config if lead else None

    @property
    def best_score(self) -> str | None:
        """The configuration with the best score or pass rate."""
        lead = self.outcome.summary.best_score
        return lead.config if lead else None

    @property
    def pareto(self) -> tuple[str, ...]:
        """Configurations that nothing beats in quality, cost and latency at once."""
        return self.outcome.summary.pareto

    def trials(self) -> Iterator[Trial]:
        """Every trial, read from the store."""
        with opened_store(self.db) as store:
            yield from store.iter_trials(self.outcome.record.uid)

    def to_markdown(self) -> str:
        """The report that the command prints."""
        from flowgauge.report.bench_source import Source
        from flowgauge.report.formats import FORMATS

        out = io.BytesIO()
        FORMATS["markdown"].write(Source(self.outcome.summary, self.trials), out)
        return out.getvalue().decode()

    def write(self, path: str | Path) -> None:
        """A report file; its format by its extension."""
        from flowgauge.report.formats import write_report

        write_report(path, self.outcome.summary, self.trials)


async def abench(
    target: str | Path | Workflow | Callable[..., Any],
    configs: Any = None,
    *,
    db: str | None = None,
    on_trial: Callable[[Trial], None] | None = None,
    **options: Any,
) -> BenchResult:
    """Run a workflow (file, stored name or Workflow), a `python:…`-style target or a callable in every configuration.

    `configs` is a bench file's path or its content as plain values. Options: name, runs, max_concurrency, limit, seed, budget_usd,
    timeout_s, cache, tags, filters; and those of `BenchRequest` (new, bench_id, executor, isolation, …).
    """
    laid_over = {name: options.pop(name) for name in _OPTIONS if name in options}
    async with open_hosted(db, isolation=options.get("isolation", "auto")) as workspace:
        request = _request(target, configs, laid_over, workspace.store, {"db": db or "", **options})
        follower = _Told(on_trial) if on_trial else None
        return BenchResult(await run_bench(workspace, request, follower=follower), db)


def bench(target: str | Path | Workflow | Callable[..., Any], configs: Any = None, **options: Any) -> BenchResult:
    """`abench`, for code without an event loop."""
    return asyncio.run(abench(target, configs, **options))


class _Told(Follower):
    def __init__(self, on_trial: Callable[[Trial], None]) -> None:
        self._on_trial = on_trial

    def trial(self, trial: Trial) -> None:
        self._on_trial(trial)


def _request(target: Any, configs: Any, laid_over: dict[str, Any], store: Any, options: dict[str, Any]) -> BenchRequest:
    common = {"configs": configs, "options": laid_over, **options}
    if isinstance(target, Workflow):
        return BenchRequest(workflow=save_workflow(store, target, make_current=False).record.sid, **common)
    if callable(target):
        return BenchRequest(function=target, **common)
    text = str(target)
    if text.startswith(("python:", "command:", "langgraph:", "http://", "https://")):
        return BenchRequest(target=text, **common)
    return BenchRequest(workflow=text, **common)
