"""Metrics: what was measured, of whatever subject, and the samples that it was measured by.

A bench, a perf run, a snapshot and an ingested file all end as `Measured`;
compare, gate and trend read nothing else. Nothing downstream asks where a
metric came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from flowgauge.model.benchmark import Benchmark
from flowgauge.model.figure import Direction as Direction
from flowgauge.model.figure import Metric as Metric


class CaseCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The trials of one case, counted."""

    runs: int
    passed: int
    """Ran and was not found wrong."""
    infrastructure: int
    """Failed for reasons that are not the target's."""
    failures: dict[str, int] = {}
    failed_runs: tuple[str, ...] = ()
    """Run ids, the first few."""


class Samples(msgspec.Struct, frozen=True, kw_only=True):
    """A metric while it is compared: packed numbers instead of lists."""

    direction: Direction
    unit: str
    by_case: Mapping[str, Sequence[float]]
    """`array('d')` where there are many."""
    value: float | None = None
    """The figure as it was given, where there are no samples."""

    @property
    def n(self) -> int:
        """Over all cases."""
        return sum(map(len, self.by_case.values()))


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a comparison."""

    label: str
    """What people call it: a baseline's name, or bench id and configuration."""
    benchmark: Benchmark
    metrics: Mapping[str, Samples]
    """By name: duration_ms, first_token_ms, cost_usd, tokens_prompt, tokens_completion, score.<name>, or what an ingested file names.
    Of successful runs only, but for cost and tokens, which count every run where they are known."""
    cases: Mapping[str, CaseCounts] = {}
    """By case. Empty for what has no pass rate."""
    nodes: Mapping[str, Samples] = {}
    """Own time of each node in ms, by node id, summed over the attempts of a trial, by case. Loaded only where asked for.

    Of successful runs, like duration_ms; only where the node ran. The items of a map are one node (`each[*]`), summed. What runs
    inside a node (`sub/classify`, `each[*]`) is in the time of that node, too."""

    @property
    def runs(self) -> int:
        """All that was tried."""
        return sum(counts.runs for counts in self.cases.values())

    @property
    def infrastructure(self) -> int:
        """Failures that say nothing about the target."""
        return sum(counts.infrastructure for counts in self.cases.values())
