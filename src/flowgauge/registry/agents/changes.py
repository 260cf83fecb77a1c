"""Two snapshots of an agent → what changed; all of them → a trend.

Pure. Figures are those that have a better side; a verdict is the bare threshold
of 5 %. It shows, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from flowgauge.compare.threshold import threshold_verdict
from flowgauge.model.figure import Direction, Metric
from flowgauge.model.verdict import Trending
from flowgauge.registry.agents.measuring import trending
from flowgauge.registry.agents.snapshot import AgentSnapshot, Facts, is_pass_rate
from flowgauge.registry.agents.validation import TOLERANCE

_LOWER_ENDS = ("_ms", "_s", "_usd", "latency", "duration", "error_rate", "errors", "failures")
_RATE_ENDS = ("_rate", "accuracy")
Verdict = Literal["improved", "unchanged", "regressed", "new", "vanished", "unknown"]


class FigureChange(msgspec.Struct, frozen=True, kw_only=True):
    """One figure in both."""

    metric: str
    old: float | None
    new: float | None
    delta: float | None
    """New less old."""
    direction: Direction
    unit: str
    verdict: Verdict


class AgentChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What is different in the newer of two."""

    prompt_id: str
    flow_id: str
    old_version: int
    new_version: int
    changes: tuple[FigureChange, ...]


class AgentTrend(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent is going."""

    trend: Trending
    """declining where either declines; improving where one does and none declines."""
    snapshot_count: int
    reward_trend: Trending
    duration_trend: Trending


def figures(facts: Facts) -> dict[str, Metric]:
    """Everything that has a better side, known or not. Counts of what happened have none."""
    recipe, lightning = facts.recipe_metrics, facts.lightning_metrics
    return {
        **{f"success_rate.{name}": Metric(value=rate, direction="higher", unit="ratio") for name, rate in recipe.success_rates.items()},
        "total_expected_duration": Metric(value=recipe.total_expected_duration, direction="lower", unit="s"),
        "dead_ends": Metric(value=recipe.dead_ends, direction="lower", unit="actions"),
        "avg_reward": Metric(value=lightning.avg_reward, direction="higher", unit=""),
        "error_rate": Metric(value=lightning.error_rate, direction="lower", unit="ratio"),
        "avg_duration": Metric(value=lightning.avg_duration, direction="lower", unit="s"),
        **{f"benchmark.{name}": _benchmark(name, value) for name, value in facts.benchmark_metrics.items()},
        "composite_trust_score": Metric(value=facts.trust_evolution.composite_trust_score, direction="higher", unit="score"),
    }


def _benchmark(name: str, value: float | None) -> Metric:
    """The better side of what is only a number, by its name."""
    rate = is_pass_rate(name) or name.endswith(_RATE_ENDS)
    lower = name.endswith(_LOWER_ENDS) and not is_pass_rate(name)
    return Metric(value=value, direction="lower" if lower else "higher", unit="ratio" if rate else "")


def compared(old: AgentSnapshot, new: AgentSnapshot) -> AgentChanges:
    """All figures of either, the old one's first."""
    return AgentChanges(
        prompt_id=new.prompt_id,
        flow_id=new.flow_id,
        old_version=old.version,
        new_version=new.version,
        changes=tuple(_changes(figures(old.facts), figures(new.facts))),
    )


def _changes(old: dict[str, Metric], new: dict[str, Metric]) -> Iterator[FigureChange]:
    for name in dict.fromkeys((*old, *new)):
        before = old[name].value if name in old else None
        after = new[name].value if name in new else None
        kind = new.get(name) or old[name]
        yield FigureChange(
            metric=name,
            old=before,
            new=after,
            delta=after - before if before is not None and after is not None else None,
            direction=kind.direction,
            unit=kind.unit,
            verdict=_verdict(before, after, kind.direction),
        )


def _verdict(before: float | None, after: float | None, direction: Direction) -> Verdict:
    if before is None or after is None:
        return "vanished" if before is not None else "new" if after is not None else "unknown"
    found = threshold_verdict(after, before, TOLERANCE, direction)
    return found if found in ("improved", "regressed") else "unchanged"


def trend_of(snapshots: Sequence[AgentSnapshot]) -> AgentTrend:
    """All of them, evidence too, oldest first."""
    reward = trending("avg_reward", [each.lightning_metrics.avg_reward for each in snapshots])
    duration = trending("avg_duration", [each.lightning_metrics.avg_duration for each in snapshots], lower=True)
    return AgentTrend(trend=_overall(reward, duration), snapshot_count=len(snapshots), reward_trend=reward, duration_trend=duration)


def _overall(*trends: Trending) -> Trending:
    order: tuple[Trending, ...] = ("declining", "improving", "stable")
    return next((each for each in order if each in trends), "insufficient_data")
