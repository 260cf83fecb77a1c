"""Attempts of nodes → what each node of each configuration took.

An execution begins with its first attempt, so those are counted as runs; each
further attempt is a retry. A skipped node did not run. The items of a map are
one node: `each[3]` counts as `each[*]`.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable

from flowgauge.aggregate.measures import rate_of, spread_of, weaker
from flowgauge.aggregate.rows import AnyRow
from flowgauge.model.benchmark import NodeStats
from flowgauge.model.play import CostSource

_ITEM = re.compile(r"\[\d+\]")


class _NodeTally:
    def __init__(self) -> None:
        self.runs = self.ok = self.retries = self.tokens_prompt = self.tokens_completion = 0
        self.time_ms = 0.0
        self.durations, self.costs = array("d"), array("d")
        self.unpriced = False
        self.cost_source: CostSource = "none"
        self.failures: dict[str, int] = {}

    def add(self, row: AnyRow) -> None:
        _, _, attempt, status, duration, prompt, completion, cost, source, failure = row
        if attempt > 1:
            self.retries += 1
        else:
            self.runs += 1
        self.time_ms += duration
        if status == "success":
            self.ok += 1
            self.durations.append(duration)
        else:
            kind = failure or status
            self.failures[kind] = self.failures.get(kind, 0) + 1
        self.tokens_prompt += prompt
        self.tokens_completion += completion
        self._count_cost(cost, source)

    def _count_cost(self, cost: float | None, source: CostSource) -> None:
        if cost is None or source == "unpriced":
            self.unpriced = True
            self.cost_source = "unpriced"
        else:
            self.costs.append(cost)
            self.cost_source = weaker(self.cost_source, source)

    def stats(self, node_id: str, time_ms: float) -> NodeStats:
        return NodeStats(
            node_id=node_id,
            runs=self.runs,
            success=rate_of(min(self.ok, self.runs), self.runs),
            duration_ms=spread_of(self.durations),
            retries=self.retries,
            tokens_prompt=self.tokens_prompt,
            tokens_completion=self.tokens_completion,
            cost_usd_total=None if self.unpriced else math.fsum(self.costs),
            cost_source=self.cost_source,
            failures=dict(sorted(self.failures.items())),
            share=self.time_ms / time_ms if time_ms else None,
        )


def node_stats(rows: Iterable[AnyRow]) -> dict[str, dict[str, NodeStats]]:
    """By configuration, then node, in the order in which they were met first."""
    tallies: dict[str, dict[str, _NodeTally]] = {}
    names: dict[str, str] = {}
    for row in rows:
        if row[3] == "skipped":
            continue
        node_id = row[1]
        name = names.get(node_id)
        if name is None:
            name = names[node_id] = _ITEM.sub("[*]", node_id)
        nodes = tallies.setdefault(row[0], {})
        tally = nodes.get(name)
        if tally is None:
            tally = nodes[name] = _NodeTally()
        tally.add(row)
    return {config: _shared(nodes) for config, nodes in tallies.items()}


def _shared(nodes: dict[str, _NodeTally]) -> dict[str, NodeStats]:
    """Shares are of the time of outermost nodes, and add up; what runs inside another is in that one's share already."""
    outermost = {name for name in nodes if "/" not in name and "[" not in name} or set(nodes)
    whole = math.fsum(nodes[name].time_ms for name in outermost)
    return {name: nodes[name].stats(name, whole if name in outermost else 0.0) for name in sorted(nodes, key=_with_inner)}


def _with_inner(name: str) -> str:
    """What runs inside a node comes right after it."""
    return name.replace("[", "\x00").replace("/", "\x00")
