"""Ended plays of a workflow and their attempts → the sections of its snapshot.

Pure: rows in, sections out. An action is an outermost node; what runs inside it
is in its own success. A play that was cancelled says nothing of the agent, and a
node that was skipped did not run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flowgauge.compare.trend import trend
from flowgauge.model.verdict import Trending, TrendPoint
from flowgauge.registry.agents.snapshot import LightningMetrics, RecipeMetrics

_FEWEST_FOR_TREND = 4


class PlayRow(NamedTuple):
    """One ended play."""

    sid: str
    status: str
    duration_ms: float
    finished_at: int


class AttemptRow(NamedTuple):
    """One attempt of one node."""

    play_sid: str
    node_id: str
    attempt: int
    status: str
    duration_ms: float


class BenchRow(NamedTuple):
    """The newest benchmark of one bench and configuration."""

    sid: str
    bench: str
    runs: int
    success_rate: float
    """0 to 100."""


class _Action:
    """What is known of one node while rows are read."""

    def __init__(self) -> None:
        self.ends: dict[str, tuple[int, str]] = {}
        """By play: the last attempt, and how it ended."""
        self.durations_ms: list[float] = []
        self.mended = False

    def add(self, row: AttemptRow) -> None:
        """One that was cancelled was not let end."""
        if row.status == "cancelled":
            return
        if row.attempt >= self.ends.get(row.play_sid, (0, ""))[0]:
            self.ends[row.play_sid] = row.attempt, row.status
        if row.status == "success":
            self.durations_ms.append(row.duration_ms)
            self.mended = self.mended or row.attempt > 1

    @property
    def rate(self) -> float | None:
        """None where it never ran."""
        ended = [status for _, status in self.ends.values() if status != "skipped"]
        return ended.count("success") / len(ended) if ended else None

    @property
    def is_dead_end(self) -> bool:
        """Failed or skipped every time."""
        return bool(self.ends) and all(status != "success" for _, status in self.ends.values())


def recipe_metrics(actions: Sequence[str], attempts: Iterable[AttemptRow]) -> RecipeMetrics:
    """`actions`: those that the recipe has now. Whatever others have run is gone from it."""
    found = {name: _Action() for name in actions}
    for row in attempts:
        if row.node_id in found:
            found[row.node_id].add(row)
    ran = any(action.ends for action in found.values())
    means = [math.fsum(each.durations_ms) / len(each.durations_ms) for each in found.values() if each.durations_ms]
    return RecipeMetrics(
        action_count=len(found),
        total_expected_duration=math.fsum(means) / 1000 if means else None,
        success_rates={name: action.rate for name, action in found.items()},
        dead_ends=sum(action.is_dead_end for action in found.values()) if ran else None,
        effective_fallbacks=sum(action.mended for action in found.values()) if ran else None,
    )


def lightning_metrics(plays: Sequence[PlayRow]) -> LightningMetrics:
    """Plays in the order in which they ended."""
    if not plays:
        return LightningMetrics(execution_count=0)
    rewards = [float(play.status == "success") for play in plays]
    times_ms = [play.duration_ms for play in plays if play.status == "success"]
    return LightningMetrics(
        avg_reward=math.fsum(rewards) / len(rewards),
        total_reward=math.fsum(rewards),
        reward_trend=_halves(rewards),
        execution_count=len(plays),
        error_rate=rewards.count(0.0) / len(rewards),
        avg_duration=math.fsum(times_ms) / len(times_ms) / 1000 if times_ms else None,
    )


def benchmark_metrics(rows: Sequence[BenchRow]) -> dict[str, float | None]:
    """`test_pass_rate` over all, and `<bench>.success_rate` of each bench; runs are the weights."""
    by_bench: dict[str, list[BenchRow]] = {}
    for row in rows:
        by_bench.setdefault(row.bench, []).append(row)
    return {"test_pass_rate": _rate(rows)} | {f"{name}.success_rate": _rate(by_bench[name]) for name in sorted(by_bench)}


def _rate(rows: Sequence[BenchRow]) -> float | None:
    runs = sum(row.runs for row in rows)
    return math.fsum(round(row.success_rate / 100 * row.runs, 6) for row in rows) / runs if runs else None


def _halves(values: Sequence[float]) -> Trending:
    """The mean of the first half against that of the second."""
    if len(values) < _FEWEST_FOR_TREND:
        return "insufficient_data"
    middle = len(values) // 2
    return trending("reward", [_mean(values[:middle]), _mean(values[-middle:])])


def trending(metric: str, values: Sequence[float | None], *, lower: bool = False) -> Trending:
    """As `flowgauge trend` has it: the first against the last, 10 % either way."""
    points = [TrendPoint(benchmark_sid="", label=str(place), created_at=place, value=value) for place, value in enumerate(values)]
    return trend("", metric, "lower" if lower else "higher", "", points).trend


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
