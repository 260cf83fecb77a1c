"""Differences: none where the hashes agree, all of them where they do not, and the right step named."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.perf.artifact import artifact_hash, sealed
from flowgauge.perf.model import Budgets, IoEvent, LlmEntry, RunArtifact, TraceStep
from flowgauge.perf.replay.differences import ALIGNED_STEPS, differences
from flowgauge.perf.replay.validator import disagreements, validator_of
from flowgauge.perf.replay.wording import MOST_LINES, change_lines, first_step, run_line, sections


def step(number: int, action: str = "go", **fields: Any) -> TraceStep:
    return TraceStep(**{"step": number, "observation": None, "action": {"type": action}, "result": None, **fields})


def run(*trace: TraceStep, **fields: Any) -> RunArtifact:
    plain: dict[str, Any] = {
        "run_id": "run_1",
        "trace_id": "0" * 32,
        "agent": "agents.py:agent",
        "task_ref": "task",
        "task_version": "1",
        "seed": 1,
        "budgets": Budgets(),
        "success": True,
        "termination_reason": "completed",
        "failure_type": None,
        "steps": len(trace),
        "tool_calls": 0,
        "wall_clock_s": 0.1,
        "action_trace": trace,
        "artifact_hash": f"sha256:{'0' * 64}",
    }
    return sealed(RunArtifact(**(plain | fields)))


def lines(before: RunArtifact, after: RunArtifact) -> list[str]:
    return [line for change in differences(before, after) for line in change_lines(change)]


def walk(*actions: str) -> RunArtifact:
    return run(*(step(number, action) for number, action in enumerate(actions, 1)))


READ, WRITE = IoEvent(kind="read", target="a.txt"), IoEvent(kind="write", target="scratch/b.txt")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param(walk("a", "b"), walk("a", "b"), [], id="the same"),
        pytest.param(
            run(step(1, elapsed_ms=1.0)), run(step(1, elapsed_ms=9.0), run_id="other", wall_clock_s=3.0, started_at=5), [], id="only times"
        ),
        pytest.param(walk("a", "b", "c"), walk("a", "x", "c"), ['step 2 · action: {"type":"b"} → {"type":"x"}'], id="one action"),
        pytest.param(
            walk("a", "b", "c"),
            walk("a", "new", "b", "c"),
            ["steps: 3 → 4", '+ step 2 · action: {"type":"new"}'],
            id="a step more: the later ones are as before",
        ),
        pytest.param(
            walk("a", "b", "c"), walk("b", "c"), ["steps: 3 → 2", '- step 1 · action: {"type":"a"}'], id="a step less, at the beginning"
        ),
        pytest.param(walk(), walk("a"), ["steps: 0 → 1", '+ step 1 · action: {"type":"a"}'], id="the first step of all"),
        pytest.param(
            run(success=True),
            run(success=False, termination_reason="timeout", failure_type="timeout", failure_reason="Too slow."),
            [
                "success: true → false",
                'termination_reason: "completed" → "timeout"',
                'failure_type: null → "timeout"',
                'failure_reason: "" → "Too slow."',
            ],
            id="how it ended",
        ),
        pytest.param(
            run(budgets=Budgets(steps=5)), run(budgets=Budgets(steps=6)), ['budgets: {"steps":5} → {"steps":6}'], id="what it might use"
        ),
        pytest.param(
            run(step(1, io_audit=(READ,))),
            run(step(1, io_audit=(READ, WRITE, WRITE))),
            ['+ step 1 · io_audit: {"kind":"write","target":"scratch/b.txt","refused":false}'] * 2,
            id="two files more",
        ),
        pytest.param(
            run(io_audit=(READ,)),
            run(),
            ['- io_audit: {"kind":"read","target":"a.txt","refused":false}'],
            id="a file less, outside of any step",
        ),
        pytest.param(run(step(1, result=1)), run(step(1, result=True)), ["step 1 · result: 1 → true"], id="one is not true"),
        pytest.param(run(output={"a": None}), run(output={}), ['output: {"a":null} → {}'], id="null is not nothing"),
        pytest.param(
            run(llm_trace=(LlmEntry(step=1, model="m/x", prompt="p", completion="a"),)),
            run(),
            ['- step 1 · llm_trace: {"step":1,"model":"m/x","prompt":"p","completion":"a","tokens_prompt":null,"tokens_completion":null}'],
            id="a question to a model less",
        ),
        pytest.param(
            run(step(1, result={"page": "x" * 500 + "north" + "y" * 500})),
            run(step(1, result={"page": "x" * 500 + "south" + "y" * 500})),
            [f"step 1 · result.page: …{'x' * 20}north{'y' * 44}… → …{'x' * 20}south{'y' * 44}…"],
            id="a long text, around where it parts",
        ),
    ],
)
def test_what_is_told(before: RunArtifact, after: RunArtifact, told: list[str]) -> None:
    assert lines(before, after) == told


def test_the_order_of_files_counts() -> None:
    (change,) = differences(run(step(1, io_audit=(READ, WRITE))), run(step(1, io_audit=(WRITE, READ))))
    assert (change.area, change.step, change.kind) == ("io", 1, "changed")


def test_what_cannot_be_seen_is_spelled_out() -> None:
    (line,) = lines(run(output="a\u202eb\x9b1m"), run(output="ab1m"))
    assert line == 'output: "a\\u202eb\\u009b1m" → "ab1m"'


def test_what_the_next_step_sees_of_a_changed_result_is_told_once() -> None:
    before = run(step(1, result="red"), step(2, observation="red"))
    after = run(step(1, result="blue"), step(2, observation="blue"))
    assert len(differences(before, after)) == 2
    assert list(sections(differences(before, after))) == [("steps", ['step 1 · result: "red" → "blue"'])]


def test_a_flood_of_changes_is_cut_with_its_number() -> None:
    ((_, told),) = sections(differences(walk(*["a"] * 100), walk(*["b"] * 100)))
    assert (len(told), told[-1]) == (MOST_LINES + 1, "and 60 more (--json shows all)")


def test_very_long_runs_of_unequal_length_are_compared_too() -> None:
    before, after = walk(*["a"] * (ALIGNED_STEPS + 1)), walk(*["a"] * (ALIGNED_STEPS + 3))
    assert [change.kind for change in differences(before, after)] == ["changed", "added", "added"]


def test_the_first_step_that_differs_is_named() -> None:
    assert first_step(differences(walk("a", "b", "c"), walk("a", "x", "y"))) == " from step 2 on"
    assert first_step(differences(run(seed=1), run(seed=2))) == ""


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    killed = run(success=False, termination_reason="worker_died", failure_type="logic_failure", steps=None, tool_calls=None)
    assert "worker_died (logic_failure) · steps unknown · tool calls unknown" in run_line(killed)


@pytest.mark.parametrize(
    ("again", "strict", "fields"),
    [
        pytest.param({}, True, [], id="the same"),
        pytest.param({"tool_calls": 4}, False, [], id="more tool calls, where that is no matter"),
        pytest.param({"tool_calls": 4}, True, ["tool_calls"], id="more tool calls, where it is"),
        pytest.param({"tool_calls": 2}, True, [], id="fewer tool calls"),
        pytest.param({"tool_calls": None}, True, ["tool_calls"], id="tool calls that nobody counted"),
        pytest.param({"failure_reason": "other words"}, True, [], id="other words"),
        pytest.param({"output": 2}, False, ["output"], id="another output"),
        pytest.param({"io_audit": (READ,)}, False, ["io_audit"], id="another file"),
    ],
)
def test_what_counts_against_a_replay(again: dict[str, Any], strict: bool, fields: list[str]) -> None:
    recorded = run(tool_calls=3, output=1)
    replayed = msgspec.structs.replace(recorded, **again)
    assert [change.field for change in disagreements(recorded, replayed, strict=strict)] == fields


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2),
    max_leaves=3,
)
events = st.builds(IoEvent, kind=st.sampled_from(["read", "write"]), target=st.sampled_from(["a", "b"]), refused=st.booleans())


@st.composite
def runs(draw: st.DrawFn) -> RunArtifact:
    count = draw(st.integers(0, 4))
    trace = [
        step(number, draw(st.sampled_from("abc")), result=draw(json_values), io_audit=tuple(draw(st.lists(events, max_size=2))))
        for number in range(1, count + 1)
    ]
    return run(
        *trace,
        seed=draw(st.integers(0, 1)),
        output=draw(json_values),
        tool_calls=draw(st.integers(0, 1)),
        io_audit=tuple(draw(st.lists(events, max_size=1))),
        run_id=draw(st.sampled_from(["one", "two"])),
    )


@given(before=runs(), after=runs())
def test_there_are_differences_exactly_where_the_hashes_differ(before: RunArtifact, after: RunArtifact) -> None:
    assert bool(differences(before, after)) == (artifact_hash(before) != artifact_hash(after))


@given(before=runs(), after=runs())
def test_the_validator_fits_exactly_the_runs_that_agree(before: RunArtifact, after: RunArtifact) -> None:
    alike = not disagreements(before, after) and before.tool_calls == after.tool_calls
    assert (validator_of(before) == validator_of(after)) == alike


@given(before=runs(), after=runs())
def test_every_change_can_be_told(before: RunArtifact, after: RunArtifact) -> None:
    for change in differences(before, after):
        assert all(line.isprintable() for line in change_lines(change))
        assert list(change_lines(change))
