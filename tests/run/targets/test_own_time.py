"""Where the time of a play went."""

from __future__ import annotations

from typing import Any

import pytest

from flowgauge.model.play import NodeRun, Step
from flowgauge.run.targets.own_time import Ended, OwnTime, own_time


def attempt(path: str, begin: float, work: float, *, queue: float = 0.0, backoff: float = 0.0, steps: tuple[Step, ...] = ()) -> Ended:
    begun = int(begin)
    if queue and not steps:
        steps = (step(begun, work, queue),)
    run = NodeRun(node_id=path, status="success", started_at=begun, duration_ms=work, queue_ms=queue, backoff_ms=backoff, steps=steps)
    return Ended(run, begin + queue + work)


def step(at: int, work: float, queue: float = 0.0, kind: Any = "model") -> Step:
    return Step(kind=kind, name="m", started_at=at, duration_ms=work, queue_ms=queue)


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        pytest.param([], OwnTime(0, 0, 0), id="nothing ran"),
        pytest.param([attempt("a", 0, 50, queue=30, backoff=20)], OwnTime(50, 30, 20), id="one attempt is what it says"),
        pytest.param([attempt("a", 0, 50), attempt("b", 60, 40)], OwnTime(90, 0, 0), id="in a row: the sum, without our own time between"),
        pytest.param([attempt("a", 0, 50), attempt("b", 0, 80)], OwnTime(80, 0, 0), id="side by side: the longest"),
        pytest.param([attempt("a", 0, 50), attempt("b", 30, 50)], OwnTime(80, 0, 0), id="overlapping: each moment once"),
        pytest.param(
            [attempt("a", 0, 50, queue=100), attempt("b", 150, 50, queue=10)], OwnTime(100, 110, 0), id="queueing in a row adds up"
        ),
        pytest.param(
            [attempt("a", 0, 100), attempt("b", 0, 50, queue=30)], OwnTime(100, 0, 0), id="queueing while another works costs nothing"
        ),
        pytest.param(
            [attempt("a", 0, 50), attempt("b", 0, 50, queue=80)], OwnTime(100, 30, 0), id="queueing while nobody works is queueing"
        ),
        pytest.param(
            [attempt("a", 0, 50, queue=80), attempt("b", 0, 50, queue=80)], OwnTime(50, 80, 0), id="queueing together counts once"
        ),
        pytest.param([attempt("a", 0, 10), attempt("a", 40, 10, backoff=30)], OwnTime(20, 0, 30), id="back-off between two attempts"),
        pytest.param(
            [attempt("a", 0, 10), attempt("a", 40, 10, backoff=30), attempt("b", 0, 30)],
            OwnTime(40, 0, 10),
            id="back-off while another works",
        ),
        pytest.param(
            [attempt("each[0]", 0, 50, queue=50), attempt("each[1]", 0, 60), attempt("each", 0, 100)],
            OwnTime(100, 0, 0),
            id="what a map holds counts, the map itself does not",
        ),
        pytest.param(
            [attempt("sub/a", 0, 10, queue=70), attempt("sub", 0, 80), attempt("z", 80, 5)],
            OwnTime(15, 70, 0),
            id="queueing inside a sub-workflow is queueing",
        ),
        pytest.param(
            [
                attempt("agent/tool[1]/x", 40, 10, queue=20),
                attempt("agent", 0, 90, queue=0, steps=(step(0, 40), step(70, 20))),
            ],
            OwnTime(70, 20, 0),
            id="an agent works in its own model calls",
        ),
        pytest.param(
            [attempt("a", 0, 10), attempt("a/repair[1]", 10, 30), attempt("a", 40, 10)],
            OwnTime(50, 0, 0),
            id="a repair stands between attempts",
        ),
    ],
)
def test_every_moment_counts_once(attempts: list[Ended], expected: OwnTime) -> None:
    found = own_time(attempts)
    assert (found.work_ms, found.queue_ms, found.backoff_ms) == pytest.approx((expected.work_ms, expected.queue_ms, expected.backoff_ms))
