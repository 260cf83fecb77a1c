"""Random graphs against an interpreter that runs one node after the other, with crashes at random points."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stage import Played, node, run


class Shape(msgspec.Struct, frozen=True):
    """One node of a random graph."""

    name: str
    needs: tuple[str, ...]
    number: int
    failures: int
    tries: int
    when: tuple[str, int] | None
    """(need, value): runs only where that need's value is this."""
    chooses: tuple[str, ...]
    """A branch: of these later nodes …"""
    picks: int
    """… it picks the first so many."""


FAILURES_LEFT: Counter[str] = Counter()
ORDER: list[str] = []


async def work(name: str, number: int, values: list[int | None]) -> int:
    ORDER.append(name)
    if FAILURES_LEFT[name]:
        FAILURES_LEFT[name] -= 1
        raise ValueError(name)
    return (number + sum(value or 0 for value in values)) % 3


@st.composite
def graphs(draw: st.DrawFn) -> list[Shape]:
    names = [f"n{i}" for i in range(draw(st.integers(1, 8)))]
    shapes: list[Shape] = []
    for index, name in enumerate(names):
        needs = tuple(draw(st.lists(st.sampled_from(names[:index]), unique=True, max_size=3))) if index else ()
        values = [need for need in needs if not next(shape for shape in shapes if shape.name == need).chooses]
        later = names[index + 1 :]
        is_branch = bool(later) and draw(st.integers(0, 4)) == 0
        chooses = tuple(draw(st.lists(st.sampled_from(later), unique=True, max_size=3))) if is_branch else ()
        is_conditional = bool(values) and draw(st.integers(0, 1)) == 1
        shapes.append(
            Shape(
                name=name,
                needs=needs,
                number=draw(st.integers(0, 2)),
                failures=draw(st.sampled_from([0, 0, 0, 1, 2])),
                tries=draw(st.integers(0, 1)),
                when=(draw(st.sampled_from(values)), draw(st.integers(0, 2))) if is_conditional else None,
                chooses=chooses,
                picks=draw(st.integers(0, 3)),
            )
        )
    return shapes


def built(shapes: list[Shape], on_failure: str) -> dict[str, Any]:
    branches = {shape.name for shape in shapes if shape.chooses}
    return {"config": {"on_node_failure": on_failure}, "nodes": [_node(shape, branches) for shape in shapes]}


def _node(shape: Shape, branches: set[str]) -> dict[str, Any]:
    when = f"nodes.{shape.when[0]}.value == {shape.when[1]}" if shape.when else ""
    if shape.chooses:
        cases = [{"when": "false", "then": []}, {"when": "true", "then": list(shape.chooses[: shape.picks])}]
        return node("branch", id=shape.name, needs=list(shape.needs), when=when, cases=cases, otherwise=list(shape.chooses))
    values = [f"{{{{ nodes.{need}.value }}}}" for need in shape.needs if need not in branches]
    return node(
        id=shape.name,
        needs=list(shape.needs),
        when=when,
        function=f"{__name__}:work",
        retry={"max": shape.tries, "backoff_s": 0},
        **{"with": {"name": shape.name, "number": shape.number, "values": values}},
    )


def interpreted(shapes: list[Shape]) -> tuple[dict[str, str], dict[str, Any]]:
    """(how each node ends, its output), one after the other."""
    status: dict[str, str] = {}
    output: dict[str, Any] = {}
    broken: set[str] = set()
    dropped: set[str] = set()
    waits = {shape.name: [*shape.needs, *(other.name for other in shapes if shape.name in other.chooses)] for shape in shapes}
    for shape in shapes:
        name, needs = shape.name, waits[shape.name]
        output[name] = None
        values = [(output[need] or {}).get("value") or 0 for need in shape.needs]
        if broken & set(needs):
            broken.add(name)
            status[name] = "skipped"
        elif (
            name in dropped
            or (needs and all(status[need] == "skipped" for need in needs))
            or (shape.when and (output[shape.when[0]] or {}).get("value") != shape.when[1])
        ):
            status[name] = "skipped"
        elif shape.chooses:
            status[name], output[name] = "success", {"chosen": list(shape.chooses[: shape.picks]), "case": 1}
        elif shape.failures > shape.tries:
            broken.add(name)
            status[name] = "failed"
        else:
            status[name], output[name] = "success", {"value": (shape.number + sum(values)) % 3}
        if shape.chooses:
            dropped |= set(shape.chooses) - set((output[name] or {}).get("chosen", ()))
    return status, output


def played(shapes: list[Shape], on_failure: str, **more: Any) -> Played:
    ORDER.clear()
    FAILURES_LEFT.clear()
    FAILURES_LEFT.update({shape.name: shape.failures for shape in shapes})
    return run(built(shapes, on_failure), **more)


def assert_in_order(shapes: list[Shape], rows: list[Any]) -> None:
    """No node ran before what it waits for had ended, and none succeeded twice."""
    successes = [row.node_id for row in rows if row.status == "success"]
    assert len(successes) == len(set(successes))
    first_row = {row.node_id: number for number, row in reversed(list(enumerate(rows)))}
    last_row = {row.node_id: number for number, row in enumerate(rows)}
    for shape in shapes:
        for need in shape.needs:
            if shape.name in first_row and need in last_row:
                assert last_row[need] < first_row[shape.name]


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_engine_does_what_a_plain_interpreter_does(shapes: list[Shape]) -> None:
    status, output = interpreted(shapes)
    result = played(shapes, "continue")
    assert result.stage.status() == status
    assert result.play.status == ("failed" if "failed" in status.values() else "success")
    if result.play.status == "success":
        assert result.play.output == output
    assert_in_order(shapes, result.stage.journal.runs)
    assert result.play.retries == sum(row.attempt > 1 for row in result.stage.journal.runs)


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_stopping_at_the_first_failure_runs_a_part_of_the_same(shapes: list[Shape]) -> None:
    status, output = interpreted(shapes)
    result = played(shapes, "stop")
    for row in result.stage.journal.runs:
        assert row.status in (status[row.node_id], "failed")
        if row.status == "success":
            assert row.output == output[row.node_id]
    assert (result.play.status == "failed") == ("failed" in status.values())
    assert_in_order(shapes, result.stage.journal.runs)


@given(graphs(), st.data())
@settings(max_examples=100, deadline=None)
def test_crash_at_any_write_and_resume_gives_the_same(shapes: list[Shape], data: st.DataObject) -> None:
    status, output = interpreted(shapes)
    rows = played(shapes, "continue").stage.journal.runs
    left = rows[: data.draw(st.integers(0, len(rows)), label="rows on disk at the crash")]
    FAILURES_LEFT.clear()
    FAILURES_LEFT.update({shape.name: shape.failures for shape in shapes})
    FAILURES_LEFT.subtract(Counter(row.node_id for row in left if row.status == "failed"))
    ORDER.clear()
    again = run(built(shapes, "continue"), before=left)
    finished = {row.node_id for row in left if row.status == "success"}
    assert not finished & set(ORDER), "a finished node ran again"
    if "failed" not in status.values():
        assert again.output == output
    outputs = {row.node_id: row.output for row in [*left, *again.stage.journal.runs] if row.status == "success"}
    assert outputs.items() >= {name: output[name] for name, ended in status.items() if ended == "success"}.items()
