"""All operations by name. A group is a module with `ROWS`; it joins by its line here.

A group imports `Operation` from `operation.py`, never from here.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowgauge.app.operations import (
    agents,
    baselines,
    benches,
    benchmark_flow,
    benchmark_set,
    benchmarks,
    examples,
    gates,
    health,
    plays,
    reviews,
    schedules,
    snapshots,
    templates,
    workflows,
)
from flowgauge.app.operations.operation import Operation

GROUPS: tuple[Sequence[Operation], ...] = (
    workflows.ROWS,
    examples.ROWS,
    plays.ROWS,
    benchmarks.ROWS,
    benchmark_set.ROWS,
    benches.ROWS,
    benchmark_flow.ROWS,
    baselines.ROWS,
    gates.ROWS,
    schedules.ROWS,
    snapshots.ROWS,
    agents.ROWS,
    reviews.ROWS,
    templates.ROWS,
    health.ROWS,
)

OPERATIONS: dict[str, Operation] = {row.name: row for rows in GROUPS for row in rows}
