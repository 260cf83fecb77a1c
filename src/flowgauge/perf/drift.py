"""Does a run drift? Each question is answered by a line, not left to the eye.

Pure: rows and samples in, findings out. A run too short to say is not measured,
never steady. Episodes are compared with others of their own task and agent
only; a trend counts where it is beyond chance and large enough to matter.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from flowgauge.perf.files import Finding, Sample, SeriesRow, State
from flowgauge.perf.metrics import Key, key_of
from flowgauge.report import words
from flowgauge.stats.corrections import holm
from flowgauge.stats.describe import quantile
from flowgauge.stats.mann_kendall import Trend, mann_kendall
from flowgauge.stats.two_samples import fisher_greater

CHANCE = 0.01
"""The p-value from which on a trend or a cluster is not chance."""
RISE = 0.10
"""From the first third to the last: less is not worth a word."""
FEWEST = 8
"""Episodes of a task that say something about a trend."""
SPIKE = 4.0
"""Times the tail of the other rows."""
SPIKE_S = 0.05
FEWEST_SAMPLES = 12
FEWEST_RUNS = 3
"""Earlier runs that say something about memory between runs."""


def findings(rows: Sequence[SeriesRow], samples: Sequence[Sample], earlier_rss_bytes: Sequence[int]) -> tuple[Finding, ...]:
    """All questions. `earlier_rss_bytes`: the most memory of earlier runs of the same scenario on this host, oldest first."""
    peak = max((sample.process_rss_bytes for sample in samples), default=None)
    return (
        latency_late(rows),
        failure_clusters(rows),
        spiking_row(rows),
        artifact_growth(rows),
        memory_in_run(samples),
        memory_between_runs(earlier_rss_bytes, peak),
    )


def latency_late(rows: Sequence[SeriesRow]) -> Finding:
    """Is latency rising late in the run?"""
    groups = [[row.wall_clock_s for row in group if row.success] for group in _groups(rows).values()]
    found = _rising(groups)
    if found is None:
        return _unknown("latency", f"latency: not measured, it takes {FEWEST} successes of a task")
    rise, trend = found
    line = f"latency {_trending(rise, trend)}"
    return Finding(name="latency", state=_state(rise, trend), line=line)


def artifact_growth(rows: Sequence[SeriesRow]) -> Finding:
    """Does every episode add as much as the one before?"""
    found = _rising([[float(row.artifact_bytes) for row in group] for group in _groups(rows).values()])
    if found is None:
        return _unknown("artifact_growth", f"artifact growth: not measured, it takes {FEWEST} episodes of a task")
    rise, trend = found
    state = _state(rise, trend)
    mean_bytes = sum(row.artifact_bytes for row in rows) / len(rows)
    shape = "is linear" if state == "steady" else f"is not linear: artifacts rise by {_share(rise)} from the first third to the last"
    line = f"artifact growth {shape}, {words.size(mean_bytes)} an episode, R² {_straightness(rows):.4f} (p {_p(trend)})"
    return Finding(name="artifact_growth", state=state, line=line)


def failure_clusters(rows: Sequence[SeriesRow]) -> Finding:
    """Do failures sit on one task, or on the same seed of every row?"""
    failed = sum(not row.success for row in rows)
    if not failed:
        return Finding(name="failure_clusters", state="steady", line="failures: none")
    groups: dict[str, list[SeriesRow]] = defaultdict(list)
    for (task_ref, agent), members in _groups(rows).items():
        first = min(row.seed for row in members)
        groups[f"{task_ref} · {agent}"] = members
        for row in members:
            groups[f"the first seed + {row.seed - first}"].append(row)
    suspects = {name: group for name, group in groups.items() if 1 < len(group) < len(rows)}
    chances = [float(fisher_greater(*_table(group, failed, len(rows)))) for group in suspects.values()]
    named = [
        f"{name} ({sum(not row.success for row in group)} of {len(group)})"
        for (name, group), p in zip(suspects.items(), holm(chances), strict=True)
        if p <= CHANCE
    ]
    total = f"{failed} of {len(rows)} episodes failed"
    if not named:
        return Finding(name="failure_clusters", state="steady", line=f"failures are spread: {total}, no task or seed stands out")
    return Finding(name="failure_clusters", state="drifting", line=f"failures are clustered: {total}, most on {', '.join(named[:3])}")


def spiking_row(rows: Sequence[SeriesRow]) -> Finding:
    """Did one row spike out of proportion to the others?"""
    tails = {key: _tail([row.wall_clock_s for row in group]) for key, group in _groups(rows).items() if len(group) >= FEWEST}
    if len(tails) < 2:
        return _unknown("spikes", f"spikes: not measured, it takes two tasks with {FEWEST} episodes each")
    worst, (ratio, most_s, median_s) = max(tails.items(), key=lambda item: item[1][0])
    others = sorted(tail[0] for key, tail in tails.items() if key != worst)
    usual = quantile(others, 0.5)
    told = f"{worst[0]} · {worst[1]} at its worst takes {_short(most_s)}, {ratio:.1f} times its median; the other rows {usual:.1f} times"
    if ratio > SPIKE * usual and most_s - median_s > SPIKE_S:
        return Finding(name="spikes", state="drifting", line=f"one row spikes: {told}")
    return Finding(name="spikes", state="steady", line=f"no row spikes out of proportion: {told}")


def memory_in_run(samples: Sequence[Sample]) -> Finding:
    """Does memory grow while episodes run? The first third is left out: workers fill their caches in it."""
    settled = [float(sample.process_rss_bytes) for sample in samples[len(samples) // 3 :]]
    if len(settled) < FEWEST_SAMPLES:
        return _unknown("memory", "memory in the run: not measured, the run was too short")
    trend = mann_kendall([settled])
    assert trend is not None
    rise = _change(settled)
    line = f"memory once workers are warm {_trending(rise, trend)}, at most {words.size(max(settled))} with all workers"
    return Finding(name="memory", state=_state(rise, trend), line=line)


def memory_between_runs(earlier: Sequence[int], peak: int | None) -> Finding:
    """Does memory grow from run to run on this host?"""
    if peak is None or len(earlier) < FEWEST_RUNS:
        have = f"{len(earlier)} earlier runs of this scenario on this host, it takes {FEWEST_RUNS}"
        return _unknown("memory_between_runs", f"memory between runs: not measured, {have}")
    usual = quantile(sorted(earlier), 0.5)
    rise = peak / usual - 1
    state: State = "drifting" if rise > RISE and peak > max(earlier) else "steady"
    line = f"memory between runs {_moves(rise)}: {words.size(peak)} against a median of {words.size(usual)} in {len(earlier)} runs"
    return Finding(name="memory_between_runs", state=state, line=line)


def _groups(rows: Iterable[SeriesRow]) -> dict[Key, list[SeriesRow]]:
    groups: dict[Key, list[SeriesRow]] = defaultdict(list)
    for row in rows:
        groups[key_of(row)].append(row)
    return groups


def _rising(groups: Iterable[Sequence[float]]) -> tuple[float, Trend] | None:
    """The typical change from the first third to the last, and the trend behind it."""
    usable = [group for group in groups if len(group) >= FEWEST]
    trend = mann_kendall(usable)
    if trend is None:
        return None
    return quantile(sorted(_change(group) for group in usable), 0.5), trend


def _change(values: Sequence[float]) -> float:
    third = max(1, len(values) // 3)
    first, last = quantile(sorted(values[:third]), 0.5), quantile(sorted(values[-third:]), 0.5)
    return last / first - 1 if first > 0 else 0.0


def _state(rise: float, trend: Trend) -> State:
    return "drifting" if rise > RISE and trend.score > 0 and trend.p_value <= CHANCE else "steady"


def _table(group: Sequence[SeriesRow], failed: int, total: int) -> tuple[int, int, int, int]:
    inside = sum(not row.success for row in group)
    return inside, len(group), failed - inside, total - len(group)


def _tail(values: Sequence[float]) -> tuple[float, float, float]:
    """The worst by the median, the worst, the median."""
    ordered = sorted(values)
    median = quantile(ordered, 0.5)
    return (ordered[-1] / median if median > 0 else math.inf), ordered[-1], median


def _straightness(rows: Sequence[SeriesRow]) -> float:
    """R² of the sum of bytes against the number of episodes."""
    n, total = len(rows), 0.0
    sums = [total := total + row.artifact_bytes for row in rows]
    x_mean, y_mean = (n + 1) / 2, math.fsum(sums) / n
    xy = math.fsum((x - x_mean) * (y - y_mean) for x, y in enumerate(sums, 1))
    xx = math.fsum((x - x_mean) ** 2 for x in range(1, n + 1))
    yy = math.fsum((y - y_mean) ** 2 for y in sums)
    return xy * xy / (xx * yy) if xx and yy else 1.0


def _moves(rise: float) -> str:
    return "is unchanged" if abs(rise) < 0.005 else f"{'rises' if rise > 0 else 'falls'} by {_share(rise)}"


def _trending(rise: float, trend: Trend) -> str:
    """What chance would give as well is not told as a movement."""
    if trend.p_value > CHANCE:
        return f"shows no trend (p {_p(trend)})"
    return f"{_moves(rise)} from the first third to the last (p {_p(trend)})"


def _share(rise: float) -> str:
    return words.percent(round(abs(rise), 3))


def _p(trend: Trend) -> str:
    return "< 0.0001" if trend.p_value < 0.0001 else f"{trend.p_value:.4f}"


def _short(seconds: float) -> str:
    return words.duration(seconds * 1000)


def _unknown(name: str, line: str) -> Finding:
    return Finding(name=name, state="not_measured", line=line)
