"""Rows of the series become a row for each (task, agent), by the same statistics as every other report.

Pure. What was measured on fewer than two runs of a seed says nothing about
repeating: it is None.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from flowgauge.perf.files import MetricsRow, SeriesRow
from flowgauge.perf.recovery import mean_time_to_recovery_s
from flowgauge.stats.describe import describe
from flowgauge.stats.intervals import wilson

SHARES = (0.5, 0.95)
Key = tuple[str, str]


def metrics_rows(rows: Sequence[SeriesRow], repeats: Sequence[SeriesRow] = (), history: Sequence[SeriesRow] = ()) -> tuple[MetricsRow, ...]:
    """In the order in which tasks first ran. `history` are rows of earlier runs: only recovery looks at them."""
    groups: dict[Key, list[SeriesRow]] = defaultdict(list)
    for row in rows:
        groups[key_of(row)].append(row)
    return tuple(_row(key, group, _of(key, repeats), _of(key, history)) for key, group in groups.items())


def key_of(row: SeriesRow) -> Key:
    """What makes two episodes comparable."""
    return row.task_ref, row.agent


def _row(key: Key, rows: Sequence[SeriesRow], repeats: Sequence[SeriesRow], history: Sequence[SeriesRow]) -> MetricsRow:
    passed = sum(row.success for row in rows)
    low, high = wilson(passed, len(rows))
    times, _ = describe([row.wall_clock_s for row in rows], SHARES)
    steps = _spread([row.steps for row in rows])
    calls = _spread([row.tool_calls for row in rows])
    repeated = _repeated([*rows, *repeats])
    return MetricsRow(
        task_ref=key[0],
        agent=key[1],
        run_count=len(rows),
        success_rate=passed / len(rows),
        success_low=low,
        success_high=high,
        reproducibility_rate=_agreeing(repeated, _outcome),
        identical_rate=_agreeing(repeated, lambda row: row.artifact_hash),
        repeated_seeds=len(repeated),
        steps_p50=steps[0],
        steps_p95=steps[1],
        steps_ceiling=steps[2],
        tool_calls_p50=calls[0],
        tool_calls_p95=calls[1],
        tool_calls_ceiling=calls[2],
        failure_taxonomy=_counted(row.failure_type for row in rows if row.failure_type is not None),
        termination_taxonomy=_counted(row.termination_reason for row in rows),
        avg_wall_clock_s=times.mean,
        p50_wall_clock_s=times.quantiles[0],
        p95_wall_clock_s=times.quantiles[1],
        artifact_bytes_total=sum(row.artifact_bytes for row in rows),
        prompt_bytes_total=sum(row.prompt_bytes for row in rows),
        completion_bytes_total=sum(row.completion_bytes for row in rows),
        tokens_used_total=tokens_total(rows),
        mean_time_to_recovery_s=mean_time_to_recovery_s([*history, *rows, *repeats]),
    )


def tokens_total(rows: Iterable[SeriesRow]) -> int | None:
    """Unknown as soon as one is."""
    total = 0
    for row in rows:
        if row.tokens_used is None:
            return None
        total += row.tokens_used
    return total


def _of(key: Key, rows: Iterable[SeriesRow]) -> list[SeriesRow]:
    return [row for row in rows if key_of(row) == key]


def _spread(values: Iterable[int | None]) -> tuple[float | None, float | None, int | None]:
    """p50, p95 and the most, of those that are known."""
    known = [value for value in values if value is not None]
    if not known:
        return None, None, None
    found, _ = describe(known, SHARES)
    return found.quantiles[0], found.quantiles[1], max(known)


def _repeated(rows: Iterable[SeriesRow]) -> list[list[SeriesRow]]:
    """The runs of every seed that ran more than once."""
    seeds: dict[int, list[SeriesRow]] = defaultdict(list)
    for row in rows:
        seeds[row.seed].append(row)
    return [runs for runs in seeds.values() if len(runs) > 1]


def _agreeing(repeated: Sequence[Sequence[SeriesRow]], of: Callable[[SeriesRow], object]) -> float | None:
    if not repeated:
        return None
    return sum(len({of(row) for row in runs}) == 1 for runs in repeated) / len(repeated)


def _outcome(row: SeriesRow) -> object:
    return row.success, row.termination_reason, row.failure_type


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))
