"""workflow:<name>: the newest stored benchmarks of a workflow, a bench or an ingested subject, as an adapter.

One set of figures a configuration: `<name>.<configuration>.duration_ms` and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from flowgauge.compare.figures import direction_of, figure_of, unit_of
from flowgauge.errors import NotFound
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.figure import Metric
from flowgauge.registry.adapter import Skip
from flowgauge.registry.adapters.built_in import BuiltIn, Context, NoSettings

if TYPE_CHECKING:
    from flowgauge.store.store import Store

PREFIX = "workflow:"
_OF_A_BENCH = ("success_rate", "duration_ms", "cost_usd")


def workflow_adapter(name: str) -> BuiltIn:
    """The row for one workflow; `name` without the prefix."""

    def run(_: NoSettings, context: Context) -> Mapping[str, Metric]:
        """Of every configuration the newest."""
        newest = {each.config: each for each in _benchmarks(context.store, name)}
        if not newest:
            raise Skip(f"no benchmark of {name!r} is stored; run a bench of it first")
        return dict(figure for each in newest.values() for figure in _figures(name, each))

    return BuiltIn(name=f"{PREFIX}{name}", tier="fast", settings=NoSettings, run=run)


def _benchmarks(store: Store, name: str) -> list[Benchmark]:
    """Oldest first."""
    try:
        return list(store.iter_benchmarks(with_stats=True, workflow=name))
    except NotFound:
        return list(store.iter_benchmarks(with_stats=True, name=name))


def _figures(name: str, benchmark: Benchmark) -> Iterator[tuple[str, Metric]]:
    before = ".".join(filter(None, (name, benchmark.config)))
    for metric in benchmark.metrics or _OF_A_BENCH:
        given = benchmark.metrics.get(metric)
        direction, unit = (given.direction, given.unit) if given else (direction_of(metric), unit_of(metric))
        yield f"{before}.{metric}", Metric(value=figure_of(benchmark, metric), direction=direction, unit=unit)
