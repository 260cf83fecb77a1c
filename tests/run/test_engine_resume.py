"""Taking a play up again from what an earlier run of it has stored."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from tests.stage import Played, node, on_stage, run

from flowgauge.model.play import NodeRun
from flowgauge.providers.mock.profiles import Script, ScriptedCall, Turn

STARTS: Counter[str] = Counter()
BROKEN: set[str] = set()


async def work(name: str) -> str:
    STARTS[name] += 1
    if name in BROKEN:
        raise ValueError(f"{name} is broken")
    return name


@pytest.fixture(autouse=True)
def _clean() -> None:
    STARTS.clear()
    BROKEN.clear()


def call(node_id: str, **fields: Any) -> dict[str, Any]:
    return node(id=node_id, function=f"{__name__}:work", **{"with": {"name": node_id}, **fields})


def resumed(workflow: dict[str, Any], before: Sequence[NodeRun], **settings: Any) -> Played:
    STARTS.clear()
    return run(workflow, before=before, sid="pl_1", **settings)


def at_every_crash_point(workflow: dict[str, Any], **settings: Any) -> None:
    """The journal is durable in order: what a crash leaves is a beginning of it."""
    whole = run(workflow, sid="pl_1", **settings)
    rows = whole.stage.journal.runs
    for count in range(len(rows) + 1):
        again = resumed(workflow, rows[:count], **settings)
        assert again.output == whole.output
        finished = {run.node_id for run in rows[:count] if run.status == "success"}
        ran = {run.node_id for run in again.stage.journal.runs if run.status == "success"}
        assert not finished & ran
        assert finished | ran == {run.node_id for run in rows if run.status == "success"}
        assert again.play.tokens_prompt == whole.play.tokens_prompt
        assert again.play.cost_usd == pytest.approx(whole.play.cost_usd)
        assert again.play.retries == whole.play.retries


def test_finished_nodes_do_not_run_again() -> None:
    at_every_crash_point({"nodes": [call("a"), call("b", needs=["a"]), call("c", needs=["a"]), call("d", needs=["b", "c"])]})


def test_items_of_a_map() -> None:
    each = node(function=f"{__name__}:work", **{"with": {"name": "{{ item }}"}})
    at_every_crash_point({"nodes": [node("map", id="m", over=["x", "y", "z"], each=each), call("end", needs=["m"])]})


def test_nodes_of_a_workflow_inside() -> None:
    inner = {"name": "i", "nodes": [call("a"), node("ai", id="b", needs=["a"], prompt="hello")], "output": "{{ nodes.b.text }}"}
    at_every_crash_point({"nodes": [node("workflow", id="s", workflow="x", definition=inner), call("end", needs=["s"])]})


def test_branch_and_skipped_nodes() -> None:
    nodes = [
        call("a"),
        node("branch", id="b", needs=["a"], cases=[{"when": "nodes.a.value == 'a'", "then": ["left"]}], otherwise=["right"]),
        call("left"),
        call("right"),
        call("never", needs=["a"], when="nodes.a.value == 'b'"),
        call("join", needs=["left", "right", "never"]),
    ]
    at_every_crash_point({"nodes": nodes, "output": "{{ nodes }}"})


def test_repairs() -> None:
    answers = [Script(match="undefined_name", text="def run(): return 1 / 0"), Script(match="1 / 0", text="def run(): return 'mended'")]
    fix = node("ai", id="fix", prompt="{{ repair.code }} {{ repair.error }}")
    code = "def run(): return undefined_name"
    nodes = [node("python", id="p", code=code, retry={"max": 2, "backoff_s": 0, "repair": "fix"}), fix, call("end", needs=["p"])]
    at_every_crash_point({"nodes": nodes}, answers=answers)


def test_retries_with_the_model() -> None:
    ai = node("ai", id="a", prompt="go", schema={"type": "object"}, retry={"max": 4, "backoff_s": 0})
    answers = [Script(match="does not fit", text="{}"), Script(match="", text="no")]
    whole = run({"nodes": [ai]}, answers=answers, sid="pl_1")
    again = resumed({"nodes": [ai]}, whole.stage.journal.runs[:1], answers=answers)
    assert [(run.attempt, run.status) for run in again.stage.journal.runs] == [(2, "failed"), (3, "success")]
    assert again.play.retries == 2
    assert again.play.tokens_prompt == sum(run.tokens_prompt for run in [*whole.stage.journal.runs[:1], *again.stage.journal.runs])


def test_workflow_tool_of_an_agent() -> None:
    inner = {
        "name": "i",
        "inputs": [{"name": "n"}],
        "nodes": [call("t", **{"with": {"name": "{{ inputs.n }}"}})],
        "output": "{{ nodes.t.value }}",
    }
    tool = {"name": "lookup", "workflow": "x", "definition": inner}
    turns = [Turn(tool_calls=(ScriptedCall(name="lookup", arguments={"n": n}),)) for n in ("one", "two")]
    nodes = [node("ai", id="a", prompt="go", tools=[tool])]
    answers = [Script(match="", turns=(*turns, Turn(text="done")))]
    whole = run({"nodes": nodes}, answers=answers, sid="pl_1")
    again = resumed({"nodes": nodes}, whole.stage.journal.runs[:1], answers=answers)
    assert again.output == whole.output
    assert STARTS == {"two": 1}, "the first call had been answered, and was asked the same"
    other = [Script(match="", turns=(Turn(tool_calls=(ScriptedCall(name="lookup", arguments={"n": "else"}),)), Turn(text="done")))]
    differently = resumed({"nodes": nodes}, whole.stage.journal.runs[:1], answers=other)
    assert differently.stage.model.requests[1].messages[-1].text == "else", "another question gets its own answer"


def test_failed_attempts_count_on() -> None:
    BROKEN.add("a")
    workflow = {"nodes": [call("a", retry={"max": 2, "backoff_s": 0}), call("b", needs=["a"])]}
    first = run(workflow, sid="pl_1")
    assert [run.attempt for run in first.stage.journal.runs] == [1, 2, 3]
    again = resumed(workflow, first.stage.journal.runs[:1])
    assert [run.attempt for run in again.stage.journal.runs] == [2, 3], "two tries were left"
    more = resumed(workflow, first.stage.journal.runs)
    assert [run.attempt for run in more.stage.journal.runs] == [4], "whoever resumes gets one try more"
    BROKEN.clear()
    assert resumed(workflow, first.stage.journal.runs).output["b"] == {"value": "b"}


def test_node_that_was_skipped_because_of_a_failure_runs_once_the_failure_is_mended() -> None:
    BROKEN.add("a")
    workflow = {"config": {"on_node_failure": "continue"}, "nodes": [call("a"), call("b", needs=["a"]), call("x")]}
    first = run(workflow, sid="pl_1")
    assert first.stage.status() == {"a": "failed", "b": "skipped", "x": "success"}
    BROKEN.clear()
    again = resumed(workflow, first.stage.journal.runs)
    assert again.output == {"a": {"value": "a"}, "b": {"value": "b"}, "x": {"value": "x"}}
    assert STARTS == {"a": 1, "b": 1}
    assert again.run_of("b").attempt == 1, "it takes the place of the skipped one"


def test_attempt_that_was_cut_off_uses_up_no_try() -> None:
    cut = NodeRun(node_id="a", attempt=1, status="cancelled", started_at=0, duration_ms=1.0, tokens_prompt=5)
    BROKEN.add("a")
    again = resumed({"nodes": [call("a", retry={"max": 1, "backoff_s": 0})]}, [cut])
    assert [run.attempt for run in again.stage.journal.runs] == [2, 3]
    assert again.play.tokens_prompt == 5


def test_container_that_is_tried_again_keeps_what_is_done_inside() -> None:
    each = node(function=f"{__name__}:work", **{"with": {"name": "{{ item }}"}})
    BROKEN.add("y")
    retry = {"max": 1, "backoff_s": 0, "on": ["code_error"]}
    played = run({"nodes": [node("map", id="m", over=["x", "y", "z"], each=each, concurrency=1, retry=retry)]})
    assert played.play.status == "failed"
    assert STARTS == {"x": 1, "y": 2}
    assert [run.attempt for run in played.stage.journal.runs if run.node_id == "m[1]"] == [1, 2], "no attempt is written over"


def test_play_that_was_cancelled_by_its_caller_goes_on() -> None:
    async def scenario() -> None:
        async with on_stage() as stage:
            nodes = [call("a"), node(id="slow", needs=["a"], function="asyncio:sleep", **{"with": {"delay": 3600}})]
            task = asyncio.create_task(stage.play({"nodes": nodes}, sid="pl_1"))
            while "a#1" not in stage.journal.log:
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            quick = [nodes[0], {**nodes[1], "with": {"delay": 0}}]
            play = await stage.play({"nodes": quick}, sid="pl_1", before=stage.journal.runs)
            assert play.status == "success"
            assert STARTS == {"a": 1}

    asyncio.run(scenario())
