"""The front holds whom nobody beats; the unknown beats nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.stats.pareto import pareto_front

POINT = st.tuples(*[st.one_of(st.none(), st.integers(0, 4).map(float))] * 3)


@pytest.mark.parametrize(
    ("points", "front"),
    [
        pytest.param([(0.9, 1.0), (0.8, 2.0)], [0], id="better and cheaper"),
        pytest.param([(0.9, 2.0), (0.8, 1.0)], [0, 1], id="a trade"),
        pytest.param([(0.9, 1.0), (0.9, 1.0)], [0, 1], id="equals stay together"),
        pytest.param([(0.9, None), (0.8, 1.0)], [0, 1], id="an unknown price does not beat a known one"),
        pytest.param([(0.8, None), (0.9, 1.0)], [1], id="beaten in all that is known of it"),
        pytest.param([(0.9, None), (0.8, None)], [0], id="what nobody knows is left out"),
        pytest.param([(None, None)], [0], id="alone"),
        pytest.param([], [], id="nobody"),
    ],
)
def test_quality_up_cost_down(points: list[tuple[float | None, ...]], front: list[int]) -> None:
    assert pareto_front(points, ("higher", "lower")) == front


@given(st.lists(POINT, min_size=1, max_size=8))
def test_somebody_always_stays_and_whoever_goes_was_beaten_by_one_who_stays(points: list[tuple[float | None, ...]]) -> None:
    front = pareto_front(points, ("higher", "higher", "higher"))
    assert front
    known = [i for i in range(3) if any(point[i] is not None for point in points)]
    for gone in set(range(len(points))) - set(front):
        assert any(
            all(points[kept][i] is not None for i in known)
            and all(points[gone][i] is None or points[kept][i] >= points[gone][i] for i in known)  # type: ignore[operator]
            for kept in front
        )
