"""What runs when: concurrency, needs, skipping, failing, and what is stored before what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.stage import MemoryJournal, Played, node, on_stage, run

from flowgauge.errors import Conflict, StoreFailure
from flowgauge.model.play import NodeRun

LOG: list[str] = []
WAITING: dict[str, asyncio.Event] = {}


async def note(name: str) -> str:
    LOG.append(name)
    return name


async def meet(name: str, other: str) -> str:
    """Ends only when the other one runs at the same time."""
    WAITING.setdefault(name, asyncio.Event()).set()
    await WAITING.setdefault(other, asyncio.Event()).wait()
    return name


class Crowd:
    now = most = 0

    @classmethod
    async def enter(cls) -> None:
        cls.now += 1
        cls.most = max(cls.most, cls.now)
        for _ in range(5):
            await asyncio.sleep(0)
        cls.now -= 1


async def broken() -> None:
    raise ValueError("on purpose")


@pytest.fixture(autouse=True)
def _clean() -> None:
    LOG.clear()
    WAITING.clear()
    Crowd.now = Crowd.most = 0


def call(node_id: str, function: str = "", **fields: Any) -> dict[str, Any]:
    if not function:
        return node(id=node_id, function=f"{__name__}:note", **{"with": {"name": node_id}}, **fields)
    return node(id=node_id, function=f"{__name__}:{function}", **fields)


def test_independent_nodes_run_at_the_same_time() -> None:
    nodes = [call("a", "meet", **{"with": {"name": "a", "other": "b"}}), call("b", "meet", **{"with": {"name": "b", "other": "a"}})]
    assert run({"config": {"timeout_s": 20}, "nodes": nodes}).play.status == "success"


def test_dependents_of_one_node_run_at_the_same_time() -> None:
    both = [
        call("b", "meet", needs=["a"], **{"with": {"name": "b", "other": "c"}}),
        call("c", "meet", needs=["a"], **{"with": {"name": "c", "other": "b"}}),
    ]
    assert run({"config": {"timeout_s": 20}, "nodes": [call("a"), *both]}).play.status == "success"


@pytest.mark.parametrize(("bound", "most"), [(1, 1), (3, 3), (None, 12)])
def test_no_more_at_once_than_max_concurrent_nodes(bound: int | None, most: int) -> None:
    run({"config": {"max_concurrent_nodes": bound}, "nodes": [call(f"n{i}", "Crowd.enter") for i in range(12)]})
    assert Crowd.most == most


def test_needs_are_kept_whatever_the_order_in_the_file() -> None:
    run({"nodes": [call("d", needs=["b", "c"]), call("c", needs=["a"]), call("b", needs=["a"]), call("a")]})
    assert LOG[0] == "a"
    assert LOG[-1] == "d"
    assert sorted(LOG) == ["a", "b", "c", "d"]


def test_node_whose_condition_does_not_hold_is_skipped_with_what_needs_only_it() -> None:
    nodes = [call("a"), call("b", needs=["a"], when="nodes.a.value == 'z'"), call("c", needs=["b"]), call("d", needs=["a", "b"])]
    played = run({"nodes": nodes, "output": {"b": "{{ nodes.b.value }}", "d": "{{ nodes.d.value }}"}})
    assert played.stage.status() == {"a": "success", "b": "skipped", "c": "skipped", "d": "success"}
    assert played.output == {"b": None, "d": "d"}


def test_condition_that_cannot_be_evaluated_is_the_node_s_failure() -> None:
    played = run({"nodes": [call("a"), call("b", needs=["a"], when="nodes.a.value.nothing > 3")]})
    assert (played.error.kind, played.error.node_id) == ("template", "b")
    assert played.error.message.startswith("when: ")
    assert played.stage.status()["b"] == "failed"


def test_output_that_names_what_is_not_there() -> None:
    error = run({"nodes": [call("a")], "output": "{{ nodes.a.value.deeper }}"}).error
    assert (error.kind, error.message.startswith("output: ")) == ("template", True)


def test_failure_stops_what_has_not_begun() -> None:
    played = run({"nodes": [call("a", "broken"), call("b", needs=["a"]), call("c", needs=["b"])]})
    assert played.play.status == "failed"
    assert played.stage.status() == {"a": "failed"}


def test_failure_may_skip_only_what_needs_the_node() -> None:
    nodes = [call("a", "broken"), call("b", needs=["a"]), call("c", needs=["b", "x"]), call("x"), call("y", needs=["x"])]
    played = run({"config": {"on_node_failure": "continue"}, "nodes": nodes})
    assert played.play.status == "failed"
    assert played.error.node_id == "a"
    assert played.stage.status() == {"a": "failed", "b": "skipped", "c": "skipped", "x": "success", "y": "success"}


def test_workflow_without_nodes() -> None:
    assert run({"nodes": [], "output": "nothing to do"}).output == "nothing to do"


@pytest.mark.parametrize(
    "needs",
    [
        pytest.param(lambda i: [f"n{i - 1}"] if i else [], id="a chain"),
        pytest.param(lambda i: ["n0"] if i else [], id="a fan"),
        pytest.param(lambda i: [], id="all at once"),
    ],
)
def test_a_thousand_nodes(needs: Any) -> None:
    played = run({"nodes": [call(f"n{i}", needs=needs(i)) for i in range(1000)], "output": "{{ nodes.n999.value }}"})
    assert played.output == "n999"
    assert len(LOG) == 1000


def test_events_tell_the_play_in_order() -> None:
    played = run({"nodes": [call("a"), call("b", "broken", needs=["a"], retry={"max": 1, "backoff_s": 0})]})
    told = [(event.kind, event.node_id) for event in played.stage.events]
    assert told == [
        ("play_started", ""),
        ("node_started", "a"),
        ("node_finished", "a"),
        ("node_started", "b"),
        ("node_finished", "b"),
        ("node_retry", "b"),
        ("node_finished", "b"),
        ("play_finished", ""),
    ]
    assert played.stage.events[-1].play == played.play
    assert played.stage.events[4].run == played.run_of("b", 1)


def test_streamed_text_is_told_as_it_comes() -> None:
    played = run({"nodes": [node("ai", id="a", prompt="Tell me a story", config={"stream": True})]})
    pieces = [event.text for event in played.stage.events if event.kind == "text"]
    assert len(pieces) > 1
    assert "".join(pieces) == played.output["a"]["text"]
    assert played.run_of("a").first_token_ms is not None


def test_node_is_stored_before_what_needs_it_starts() -> None:
    async def scenario() -> None:
        stored = asyncio.Event()
        journal = MemoryJournal(hold=lambda run: stored if run.node_id == "a" else None)
        async with on_stage(journal=journal) as stage:
            task = asyncio.create_task(stage.play({"nodes": [call("a"), call("b", needs=["a"]), call("free")]}))
            while "free#1" not in journal.log:
                await asyncio.sleep(0)
            for _ in range(20):
                await asyncio.sleep(0)
            assert LOG == ["a", "free"], "b must wait for the disk"
            stored.set()
            assert (await task).status == "success"

    asyncio.run(scenario())


@pytest.mark.parametrize("failing", ["a", "b", "m[1]", "m"])
def test_journal_that_fails_is_told_to_the_caller(failing: str) -> None:
    def fault(run: NodeRun) -> Exception | None:
        return StoreFailure("The disk is full.") if run.node_id == failing else None

    each = node(function=f"{__name__}:note", **{"with": {"name": "x"}})
    nodes = [call("a"), call("b", needs=["a"]), node("map", id="m", over=[1, 2, 3], each=each)]
    with pytest.raises(StoreFailure, match="disk is full"):
        run({"nodes": nodes}, journal=MemoryJournal(fault=fault))


def test_one_play_does_not_run_twice_at_once() -> None:
    async def scenario() -> None:
        async with on_stage() as stage:
            workflow = {"nodes": [call("a", "meet", **{"with": {"name": "a", "other": "b"}})]}
            task = asyncio.create_task(stage.play(workflow, sid="pl_1"))
            await asyncio.sleep(0)
            with pytest.raises(Conflict):
                await stage.play(workflow, sid="pl_1")
            stage.engine.cancel("pl_1")
            assert (await task).status == "cancelled"

    asyncio.run(scenario())


def usage(played: Played) -> tuple[int, float]:
    runs = played.stage.journal.runs
    return sum(run.tokens_prompt for run in runs), sum(run.cost_usd or 0.0 for run in runs)


def test_play_sums_every_attempt_and_names_its_prices() -> None:
    schema = {"type": "object", "required": ["n"]}
    ai = node("ai", id="a", prompt="go", schema=schema, retry={"max": 1, "backoff_s": 0}, config={"extra": {"mock": {"answer": "no"}}})
    played = run({"nodes": [ai]})
    assert [run.status for run in played.stage.journal.runs] == ["failed", "failed"]
    tokens, cost_usd = usage(played)
    assert (played.play.tokens_prompt, played.play.cost_source) == (tokens, "computed")
    assert played.play.cost_usd == pytest.approx(cost_usd)
    assert cost_usd > 0
    assert "genai-prices" in played.play.price_table
    assert played.play.retries == 1


def test_play_that_calls_no_model_has_no_prices() -> None:
    play = run({"nodes": [call("a")]}).play
    assert (play.cost_usd, play.cost_source, play.price_table, play.isolation) == (0.0, "none", "", "")
