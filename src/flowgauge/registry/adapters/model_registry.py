"""model_registry: latency and accuracy of every model, from the stored benchmarks.

Of each bench (by its name) and configuration the newest benchmark counts, with
its runs as its weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import Meta

from flowgauge.model.benchmark import Benchmark
from flowgauge.model.figure import Metric
from flowgauge.model.ids import bench_name
from flowgauge.model.workflow import Value
from flowgauge.registry.adapter import Skip
from flowgauge.registry.adapters.built_in import BuiltIn, Context


class Settings(Value, frozen=True):
    """Which benchmarks count."""

    benches: Annotated[tuple[str, ...], Meta(description="Only benches of these names; all by default.")] = ()


def run(settings: Settings, context: Context) -> Mapping[str, Metric]:
    """`<model>_latency_ms` and `<model>_accuracy`."""
    newest = _newest(context.store.iter_benchmarks(with_stats=True, kind="bench"), settings.benches)
    by_model: dict[str, list[Benchmark]] = {}
    for each in newest:
        if each.stats is not None and each.stats.model and each.num_runs:
            by_model.setdefault(each.stats.model, []).append(each)
    if not by_model:
        raise Skip("no stored benchmark names a model; run a bench first")
    return {name: metric for model in sorted(by_model) for name, metric in _figures(model, by_model[model])}


def _newest(found: Iterable[Benchmark], benches: tuple[str, ...]) -> list[Benchmark]:
    """The last wins: they come oldest first."""
    last: dict[tuple[str, str], Benchmark] = {}
    for each in found:
        name = bench_name(each.bench_id)
        if not benches or name in benches:
            last[name, each.config] = each
    return list(last.values())


def _figures(model: str, benchmarks: list[Benchmark]) -> Iterable[tuple[str, Metric]]:
    timed = [(each.avg_duration_ms, each.num_runs) for each in benchmarks if each.avg_duration_ms is not None]
    rated = [(each.success_rate / 100, each.num_runs) for each in benchmarks]
    yield f"{model}_latency_ms", Metric(value=_mean(timed), direction="lower", unit="ms")
    yield f"{model}_accuracy", Metric(value=_mean(rated), direction="higher", unit="ratio")


def _mean(weighed: list[tuple[float, int]]) -> float | None:
    """None where nothing succeeded, so no time is known."""
    runs = sum(weight for _, weight in weighed)
    return sum(value * weight for value, weight in weighed) / runs if runs else None


ROW = BuiltIn(name="model_registry", tier="fast", settings=Settings, run=run)
