"""One metric of one subject over all its stored benchmarks: a workflow, a bench by its name, or what was ingested."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.sides import label_of
from flowgauge.compare.figures import direction_of, figure_of, known_metrics, unit_of
from flowgauge.compare.trend import Detect, trend
from flowgauge.errors import NotFound, UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.benchmark import Benchmark, Interval
from flowgauge.model.verdict import Trend, TrendPoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowgauge.model.metric import Direction
    from flowgauge.store.store import Store

_OF_AGENTS = "agent:"
DEFAULT_METRICS = ("success_rate", "duration_ms", "cost_usd")


def trends_of(store: Store, subject: str, metrics: Sequence[str] = (), *, config: str | None = None, last: int = 0) -> tuple[Trend, ...]:
    """Oldest first. Raises NotFound where nothing is stored of it, UsageError where several configurations are mixed."""
    found = _benchmarks(store, subject, config)
    taken = found[-last:] if last else found
    asked = metrics or _usual(taken)
    numbers = _version_numbers(store, taken)
    return tuple(_trend(subject, metric, taken, numbers) for metric in asked)


def _benchmarks(store: Store, subject: str, config: str | None) -> list[Benchmark]:
    try:
        found = list(store.iter_benchmarks(with_stats=True, workflow=subject, config=config))
    except NotFound:
        found = list(store.iter_benchmarks(with_stats=True, name=subject, config=config))
    if not found:
        which = f" of configuration {config!r}" if config else ""
        raise NotFound(
            f"No benchmark{which} of {subject!r} is stored: no workflow, bench or ingested subject has that name.",
            remedy="See what there is with: flowgauge benchmark list",
        )
    configs = sorted({each.config for each in found})
    if len(configs) > 1:
        raise UsageError(f"{subject} was measured in several configurations.", remedy=f"Name one: --config {' | '.join(configs)}")
    return found


def _usual(found: Sequence[Benchmark]) -> tuple[str, ...]:
    given = tuple(dict.fromkeys(name for each in found for name in each.metrics))
    return given or DEFAULT_METRICS


def _trend(subject: str, metric: str, found: Sequence[Benchmark], numbers: dict[str, int]) -> Trend:
    points = [_point(each, metric, numbers) for each in found]
    if all(point.value is None for point in points):
        known = sorted({name for each in found for name in known_metrics(each)})
        raise UsageError(f"{subject} has no metric {metric!r}.", remedy=did_you_mean(metric, known) or f"There are: {', '.join(known)}.")
    direction, unit = _kind(metric, found)
    detect = _detector()
    made = trend(subject, metric, direction, unit, points, detect)
    if detect is not None:
        return made
    return msgspec.structs.replace(made, notes=(*made.notes, "Change points are not looked for: pip install 'flowgauge[stats]' adds them."))


def _kind(metric: str, found: Sequence[Benchmark]) -> tuple[Direction, str]:
    for each in reversed(found):
        if metric in each.metrics:
            return each.metrics[metric].direction, each.metrics[metric].unit
    return direction_of(metric), unit_of(metric)


def _point(benchmark: Benchmark, metric: str, numbers: dict[str, int]) -> TrendPoint:
    version = numbers.get(benchmark.workflow_version_sid)
    label = f"v{version}" if version else _snapshot_label(benchmark) or benchmark.commit[:7] or label_of(benchmark)
    return TrendPoint(
        benchmark_sid=benchmark.sid,
        label=label,
        created_at=benchmark.created_at,
        value=figure_of(benchmark, metric),
        interval=_interval(benchmark, metric),
        commit=benchmark.commit,
        version=version,
    )


def _snapshot_label(benchmark: Benchmark) -> str:
    """Of a snapshot its version: v2.1.0, or v3 of an agent, whose versions are numbers. Empty for all else."""
    version = benchmark.tags.get("version", "") if benchmark.kind == "snapshot" else ""
    return f"v{version}" if benchmark.subject.startswith(_OF_AGENTS) and version else version


def _interval(benchmark: Benchmark, metric: str) -> Interval | None:
    if benchmark.stats is None:
        return None
    overall = benchmark.stats.overall
    if metric == "success_rate":
        return overall.success.interval
    spread = {"duration_ms": overall.duration_ms, "cost_usd": overall.cost, "first_token_ms": overall.first_token_ms}.get(metric)
    return spread.mean_interval if spread else None


def _version_numbers(store: Store, found: Sequence[Benchmark]) -> dict[str, int]:
    sids = {each.workflow_version_sid for each in found if each.workflow_version_sid}
    return {sid: store.get_version(sid).number for sid in sids}


def _detector() -> Detect | None:
    """None where the extra is not installed; the trend then says so."""
    from flowgauge.stats.change_points import change_points

    return change_points if find_spec("ruptures") else None
