"""Which nodes moved, and by what share."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.compare.sides import samples, side

from flowgauge.compare.gate_metrics import blamed
from flowgauge.compare.nodes import node_shifts
from flowgauge.model.benchmark import Interval
from flowgauge.model.metric import Measured, Samples
from flowgauge.model.verdict import Estimate, MetricVerdict, Verdict


def verdicts(by_node: Mapping[str, Verdict] | None = None, /, **more: Verdict) -> tuple[MetricVerdict, ...]:
    return tuple(
        MetricVerdict(
            metric=node,
            direction="lower",
            unit="ms",
            verdict=verdict,
            candidate=Estimate(value=1, n=1),
            baseline=Estimate(value=1, n=1),
            ratio=2.0,
            interval=Interval(1.5, 2.5),
        )
        for node, verdict in {**(by_node or {}), **more}.items()
    )


def timed(sid: str, runs: int, **nodes: list[float]) -> Measured:
    return side(sid, metrics={"duration_ms": samples([100.0] * runs)}, nodes={node: samples(values) for node, values in nodes.items()})


def test_shares_are_of_what_moved_the_same_way() -> None:
    shifts = node_shifts(
        timed("new", 2, slow=[40.0, 40.0], slower=[70.0, 70.0], faster=[5.0, 5.0], same=[1.0, 1.0]),
        timed("old", 2, slow=[30.0, 30.0], slower=[40.0, 40.0], faster=[10.0, 10.0], same=[1.0, 1.0]),
        lambda *_: verdicts(slow="inconclusive", slower="regressed", faster="improved", same="unchanged"),
    )
    assert [(one.node_id, one.delta_ms, one.share, one.significant) for one in shifts] == [
        ("slower", 30.0, 0.75, True),
        ("slow", 10.0, 0.25, False),
        ("faster", -5.0, 1.0, True),
        ("same", 0.0, None, False),
    ]
    assert (shifts[0].baseline_ms, shifts[0].candidate_ms, shifts[0].ratio, shifts[0].interval) == (40.0, 70.0, 2.0, Interval(1.5, 2.5))


def test_a_node_that_runs_in_half_of_the_trials_weighs_half() -> None:
    shifts = node_shifts(timed("new", 4, sometimes=[100.0, 100.0], always=[10.0] * 4), timed("old", 4, always=[10.0] * 4), lambda *_: ())
    assert (shifts[0].node_id, shifts[0].candidate_ms, shifts[0].delta_ms) == ("sometimes", 50.0, 50.0)


def test_new_and_vanished_nodes_are_named() -> None:
    shifts = node_shifts(
        timed("new", 1, kept=[1.0], new=[20.0]), timed("old", 1, kept=[1.0], gone=[5.0]), lambda *_: verdicts(kept="unchanged")
    )
    new, gone, kept = shifts
    assert (new.node_id, new.baseline_ms, new.candidate_ms, new.significant, new.ratio) == ("new", None, 20.0, True, None)
    assert (gone.node_id, gone.baseline_ms, gone.candidate_ms, gone.delta_ms) == ("gone", 5.0, None, -5.0)
    assert not kept.significant


def test_cases_weigh_the_same_and_those_of_one_side_do_not_count() -> None:
    def made(sid: str, runs: Mapping[str, int], times: Mapping[str, float]) -> Measured:
        held = {case: [times[case]] * count for case, count in runs.items()}
        return side(sid, metrics={"duration_ms": samples(held)}, nodes={"work": samples(held)})

    new = made("new", {"long": 1, "short": 9, "extra": 5}, {"long": 110.0, "short": 10.0, "extra": 900.0})
    old = made("old", {"long": 9, "short": 1}, {"long": 100.0, "short": 10.0})
    (shift,) = node_shifts(new, old, lambda *_: ())
    assert (shift.baseline_ms, shift.candidate_ms, shift.delta_ms) == (55.0, 60.0, 5.0)


@pytest.mark.parametrize("empty", ["new", "old"])
def test_unknown_nodes_are_no_shifts(empty: str) -> None:
    def judge(*_: Mapping[str, Samples]) -> tuple[MetricVerdict, ...]:
        raise AssertionError("nothing to judge")

    sides = {name: timed(name, 1) if name == empty else timed(name, 1, a=[1.0]) for name in ("new", "old")}
    assert node_shifts(sides["new"], sides["old"], judge) == ()


def test_what_runs_inside_another_has_no_share_and_is_blamed_beside_it() -> None:
    shifts = node_shifts(
        timed("new", 1, **{"sub": [100.0], "sub/ask": [95.0], "sub/log": [5.0], "end": [11.0]}),
        timed("old", 1, **{"sub": [50.0], "sub/ask": [45.0], "sub/log": [5.0], "end": [10.0]}),
        lambda *_: verdicts({"sub": "regressed", "sub/ask": "regressed", "sub/log": "unchanged", "end": "inconclusive"}),
    )
    assert {one.node_id: one.share for one in shifts} == {"sub": 50 / 51, "sub/ask": None, "sub/log": None, "end": 1 / 51}
    assert [one.node_id for one in blamed(shifts)] == ["sub", "sub/ask"]


def test_where_no_node_surely_moved_the_one_that_moved_most_is_named() -> None:
    shifts = node_shifts(
        timed("new", 1, a=[2.0], b=[9.0]), timed("old", 1, a=[1.0], b=[1.0]), lambda *_: verdicts(a="inconclusive", b="inconclusive")
    )
    assert [one.node_id for one in blamed(shifts)] == ["b"]
