"""Which nodes moved, and how much of an end-to-end change of time is theirs.

The node times of two sides in, one shift a node out, those that moved most
first. Time is the mean of a trial: a node that runs in half of them weighs
half. Averaged over the cases that both sides measured, each weighing the same.
What runs inside another node is in that one's time already, so it has no share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from flowgauge.model.metric import Measured, Samples
from flowgauge.model.verdict import MetricVerdict, NodeShift

DURATION = "duration_ms"
JudgeNodes = Callable[[Mapping[str, Samples], Mapping[str, Samples]], tuple[MetricVerdict, ...]]
"""The test that metrics are compared by, without a tolerance: did it move at all?"""


def node_shifts(candidate: Measured, baseline: Measured, judge: JudgeNodes) -> tuple[NodeShift, ...]:
    """Nothing where a side's nodes are not known. A new or a vanished node needs no test."""
    if not candidate.nodes or not baseline.nodes:
        return ()
    runs, baseline_runs = _runs(candidate), _runs(baseline)
    cases = [case for case in runs if case in baseline_runs]
    ours, theirs = _means(candidate.nodes, runs, cases or list(runs)), _means(baseline.nodes, baseline_runs, cases or list(baseline_runs))
    verdicts = {verdict.metric: verdict for verdict in judge(candidate.nodes, baseline.nodes)}
    moves = {node: (ours.get(node) or 0.0) - (theirs.get(node) or 0.0) for node in {**theirs, **ours}}
    shifts = [_shift(node, ours.get(node), theirs.get(node), _share(node, moves), verdicts.get(node)) for node in moves]
    return tuple(sorted(shifts, key=lambda shift: (-abs(shift.delta_ms), shift.node_id)))


def is_inner(node_id: str) -> bool:
    """Does it run inside another node?"""
    return "/" in node_id or "[" in node_id


def _runs(side: Measured) -> dict[str, int]:
    """Successful runs by case. A run in which no node was recorded is not known of here."""
    durations = side.metrics.get(DURATION)
    held = (durations, *side.nodes.values()) if durations else tuple(side.nodes.values())
    found: dict[str, int] = {}
    for samples in held:
        for case, values in samples.by_case.items():
            if values:
                found[case] = max(found.get(case, 0), len(values))
    return found


def _means(nodes: Mapping[str, Samples], runs: Mapping[str, int], cases: list[str]) -> dict[str, float]:
    """By node that ran in one of the cases: the mean of a trial, a case weighing as much as another."""
    found = {}
    for node, samples in nodes.items():
        if any(samples.by_case.get(case) for case in cases):
            found[node] = math.fsum(math.fsum(samples.by_case.get(case, ())) / runs[case] for case in cases) / len(cases)
    return found


def _share(node: str, moves: Mapping[str, float]) -> float | None:
    move = moves[node]
    if not move or is_inner(node):
        return None
    return move / math.fsum(other for name, other in moves.items() if not is_inner(name) and other * move > 0)


def _shift(node: str, ours: float | None, theirs: float | None, share: float | None, verdict: MetricVerdict | None) -> NodeShift:
    both = verdict is not None and ours is not None and theirs is not None
    return NodeShift(
        node_id=node,
        baseline_ms=theirs,
        candidate_ms=ours,
        delta_ms=(ours or 0.0) - (theirs or 0.0),
        share=share,
        ratio=verdict.ratio if both and verdict else None,
        interval=verdict.interval if both and verdict else None,
        significant=verdict.verdict in ("regressed", "improved") if both and verdict else ours is None or theirs is None,
    )
