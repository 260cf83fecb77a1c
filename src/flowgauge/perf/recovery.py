"""Mean time to recovery: from the first failure of an (agent, task, seed) to its next success."""

from __future__ import annotations

from collections.abc import Iterable

from flowgauge.perf.files import SeriesRow


def mean_time_to_recovery_s(rows: Iterable[SeriesRow]) -> float | None:
    """None where nothing that failed has succeeded since. Time counts from the failure's end to the success's end."""
    broken_at: dict[tuple[str, str, int], float] = {}
    found: list[float] = []
    for row in sorted(rows, key=_ended_at):
        key = (row.agent, row.task_ref, row.seed)
        if not row.success:
            broken_at.setdefault(key, _ended_at(row))
        elif key in broken_at:
            found.append(_ended_at(row) - broken_at.pop(key))
    return sum(found) / len(found) if found else None


def _ended_at(row: SeriesRow) -> float:
    return row.started_at / 1000 + row.wall_clock_s
