"""Time limits, budgets and cancellation: what ends a play before its end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from tests.stage import StillClock, make, node, on_stage, run

from flowgauge.errors import Failed
from flowgauge.model.exchange import ModelRequest
from flowgauge.model.play import Failure, Play, PlayEvent, Usage
from flowgauge.model.workflow import Retry
from flowgauge.providers.mock.profiles import Latency, Price, Profile, Script, Turn
from flowgauge.run.attempts import _back_off
from flowgauge.run.budget import Budget
from flowgauge.run.graph import Graph
from flowgauge.run.playing import Playing

LOG: list[str] = []


async def sleeps() -> None:
    LOG.append("started")
    try:
        await asyncio.sleep(3600)
    finally:
        LOG.append("ended")


async def stubborn() -> str:
    LOG.append("started")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        return "I do as I like"
    return ""


async def note() -> None:
    LOG.append("note")


@pytest.fixture(autouse=True)
def _clean() -> None:
    LOG.clear()


def call(node_id: str, function: str, **fields: Any) -> dict[str, Any]:
    return node(id=node_id, function=f"{__name__}:{function}", **fields)


def test_node_that_takes_too_long_is_ended_and_nothing_follows() -> None:
    played = run({"nodes": [call("a", "sleeps", timeout_s=0.05), call("b", "note", needs=["a"])]})
    assert (played.play.status, played.error.node_id) == ("timeout", "a")
    assert played.stage.status() == {"a": "timeout"}
    assert LOG == ["started", "ended"]


def test_time_out_of_a_node_is_retried_where_it_may_be() -> None:
    played = run({"nodes": [call("a", "sleeps", timeout_s=0.02, retry={"max": 2, "backoff_s": 0})]})
    assert [run.status for run in played.stage.journal.runs] == ["timeout"] * 3
    assert played.play.retries == 2


def test_play_that_takes_too_long() -> None:
    nodes = [call("a", "sleeps"), call("x", "note"), call("b", "note", needs=["a"])]
    played = run({"config": {"timeout_s": 0.1}, "nodes": nodes})
    assert played.play.status == "timeout"
    assert played.error.message == "The play took longer than timeout_s 0.1."
    assert played.stage.status() == {"x": "success", "a": "timeout"}
    assert LOG == ["started", "note", "ended"]


def cancelled(workflow: dict[str, Any], *, times: int = 1) -> Any:
    async def scenario() -> Any:
        async with on_stage() as stage:
            task = asyncio.create_task(stage.play(workflow, sid="pl_1"))
            while not LOG:
                await asyncio.sleep(0)
            assert "pl_1" in stage.engine.running
            for _ in range(times):
                assert stage.engine.cancel("pl_1")
            play = await task
            assert task.cancelling() == 0, "the caller was not cancelled"
            assert not stage.engine.running
            assert not stage.engine.cancel("pl_1")
            return play, stage

    return asyncio.run(scenario())


@pytest.mark.parametrize("times", [1, 3])
def test_cancel_ends_a_play(times: int) -> None:
    play, stage = cancelled({"nodes": [call("a", "sleeps"), call("b", "note", needs=["a"])]}, times=times)
    assert (play.status, play.error.kind) == ("cancelled", "cancelled")
    assert stage.status() == {"a": "cancelled"}
    assert stage.journal.plays["pl_1"].status == "cancelled"
    assert LOG == ["started", "ended"]


def test_cancel_ends_a_play_of_one_node() -> None:
    play, stage = cancelled({"nodes": [call("a", "sleeps")]})
    assert (play.status, stage.status()) == ("cancelled", {"a": "cancelled"})


def test_cancel_reaches_items_of_a_map() -> None:
    play, stage = cancelled({"nodes": [node("map", id="m", over=[1, 2], each=node(function=f"{__name__}:sleeps"))]})
    assert play.status == "cancelled"
    assert stage.status() == {"m[0]": "cancelled", "m[1]": "cancelled", "m": "cancelled"}


@pytest.mark.parametrize("more", [[], [call("b", "note", needs=["a"])]], ids=["alone", "with a node after it"])
def test_node_that_ignores_being_cancelled_does_not_keep_the_play_going(more: list[dict[str, Any]]) -> None:
    play, _ = cancelled({"nodes": [call("a", "stubborn"), *more]})
    assert play.status == "cancelled"
    assert LOG == ["started"]


def test_cancel_from_a_listener_at_the_last_node_s_end() -> None:
    async def scenario() -> None:
        async with on_stage() as stage:

            def listen(event: PlayEvent) -> None:
                if event.kind == "node_finished":
                    stage.engine.cancel("pl_1")

            graph = Graph(make({"nodes": [call("a", "note")]}))
            play = await stage.engine.play(graph, Play(sid="pl_1", workflow_sid="w", version_sid="v"), listener=listen)
            assert play.status == "cancelled"
            assert stage.journal.plays["pl_1"].status == "cancelled"
            await asyncio.sleep(0)  # would raise, were a cancellation still pending

    asyncio.run(scenario())


def test_caller_that_is_cancelled_leaves_the_play_unfinished() -> None:
    async def scenario() -> None:
        async with on_stage() as stage:
            task = asyncio.create_task(stage.play({"nodes": [call("a", "sleeps"), call("b", "sleeps")]}, sid="pl_1"))
            while len(LOG) < 2:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert stage.journal.plays["pl_1"].status == "running"
            assert stage.status() == {"a": "cancelled", "b": "cancelled"}
            assert stage.engine.running == ()

    asyncio.run(scenario())


def test_caller_s_own_time_limit_works_around_a_play() -> None:
    async def scenario() -> None:
        async with on_stage() as stage:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await stage.play({"nodes": [call("a", "sleeps", timeout_s=50)]}, sid="pl_1")
            assert stage.journal.plays["pl_1"].status == "running"

    asyncio.run(scenario())


# ── money ──────────────────────────────────────────────────────────────────

PRICED = Profile(price=Price(prompt_per_1m=0.0, completion_per_1m=1000.0), latency=Latency(kind="fixed", median_ms=5))
"""A thousand tokens are a dollar."""


def asks(count: int, **config: Any) -> list[dict[str, Any]]:
    own = {"model": "mock/priced", "max_tokens": 100, "extra": {"mock": {"answer": {"text": "x", "tokens_completion": 100}}}, **config}
    return [node("ai", id=f"a{i}", prompt=f"question {i}", config=own) for i in range(count)]


def test_ten_calls_at_once_cannot_each_take_the_last_cent() -> None:
    workflow = {"config": {"budget_usd": 0.5, "on_node_failure": "continue"}, "nodes": asks(10)}
    played = run(workflow, profiles={"priced": PRICED})
    assert played.play.status == "budget_exceeded"
    assert played.play.cost_usd == pytest.approx(0.5), "five calls at ten cents fit exactly"
    assert len(played.stage.model.requests) == 5
    assert sorted(played.stage.status().values()) == ["budget_exceeded"] * 5 + ["success"] * 5


def test_budget_that_suffices_is_no_hindrance() -> None:
    assert run({"config": {"budget_usd": 1.0}, "nodes": asks(10)}, profiles={"priced": PRICED}).play.cost_usd == pytest.approx(1.0)


def test_budget_counts_what_was_spent_before_a_resume() -> None:
    first = run({"config": {"budget_usd": 0.15}, "nodes": asks(1)}, profiles={"priced": PRICED})
    again = run({"config": {"budget_usd": 0.15}, "nodes": asks(2)}, profiles={"priced": PRICED}, before=first.stage.journal.runs)
    assert again.play.status == "budget_exceeded"
    assert again.play.cost_usd == pytest.approx(0.1)
    assert not again.stage.model.requests


def test_model_without_a_price_gives_a_warning_and_no_zero() -> None:
    async def scenario() -> Any:
        async with on_stage(profiles={"priced": PRICED}) as stage:
            stage.services.gateway._prices._known["mock/default"] = None  # type: ignore[attr-defined]
            nodes = [node("ai", id="free", prompt="x"), *({**ask, "needs": ["free"]} for ask in asks(3))]
            return await stage.play({"config": {"budget_usd": 0.25, "on_node_failure": "continue"}, "nodes": nodes}), stage

    play, stage = asyncio.run(scenario())
    assert (play.cost_usd, play.cost_source) == (None, "unpriced")
    assert play.warnings == ("mock/default has no known price: budget_usd does not bound its calls.",)
    assert play.status == "budget_exceeded", "what has a price is bounded all the same"
    assert sum(status == "success" for status in stage.status().values()) == 3
    assert play.price_table


def test_budget_is_exact_in_sums_of_cents() -> None:
    budget = Budget(0.3)
    for _ in range(3):
        budget.check(0.1)
        budget.reserve(0.1)
    for _ in range(3):
        budget.settle(0.1, 0.1)
    with pytest.raises(Exception, match="budget_usd"):
        budget.check(0.0)


def test_failed_call_s_usage_counts() -> None:
    """A provider that answers with what cannot be read has charged all the same."""

    class Charging:
        price_table = "t"

        def estimate_usd(self, request: ModelRequest) -> float:
            return 0.0

        async def complete(self, request: ModelRequest, *, on_text: Any = None) -> Any:
            error = Failed(Failure(kind="provider_error", message="cut off"))
            error.usage = Usage(tokens_prompt=10, tokens_completion=5, cost_usd=0.25, cost_source="computed")
            error.queue_ms = 40.0
            raise error

    async def scenario() -> Any:
        async with on_stage() as stage:
            stage.services.gateway = Charging()
            ai = node("ai", id="a", prompt="x", retry={"max": 2, "backoff_s": 0})
            return await stage.play({"config": {"budget_usd": 0.4}, "nodes": [ai]}), stage

    play, stage = asyncio.run(scenario())
    assert play.cost_usd == pytest.approx(0.5)
    assert play.tokens_prompt == 20
    assert play.status == "budget_exceeded", "the third attempt would have gone past the limit"
    assert stage.run_of("a", 1).queue_ms == 40.0


# ── waiting between attempts ───────────────────────────────────────────────


@pytest.mark.parametrize(
    ("attempt", "retry_after_s", "least", "most"),
    [
        pytest.param(1, None, 0.25, 0.5, id="the first wait is between half of it and all of it"),
        pytest.param(3, None, 1.0, 2.0, id="it doubles"),
        pytest.param(50, None, 5.0, 10.0, id="up to its limit"),
        pytest.param(1, 60.0, 60.0, 60.0, id="a server that asks for more gets it"),
        pytest.param(3, 0.1, 1.0, 2.0, id="a server that asks for less changes nothing"),
    ],
)
def test_back_off(attempt: int, retry_after_s: float | None, least: float, most: float) -> None:
    clock = StillClock()
    handle: Any = SimpleNamespace(clock=clock, jitter=lambda: Playing.jitter(handle))
    failure = Failure(kind="rate_limited", message="", retry_after_s=retry_after_s)
    for _ in range(50):
        waited_ms = asyncio.run(_back_off(handle, Retry(max=9, backoff_s=0.5, max_backoff_s=10), attempt, failure))
        assert least <= clock.sleeps[-1] <= most
        assert waited_ms == pytest.approx(clock.sleeps[-1] * 1000, abs=0.01)


@pytest.mark.parametrize(
    ("on", "attempts"),
    [
        pytest.param([], 1, id="a refusal is not retried by itself"),
        pytest.param(["provider_rejected"], 4, id="unless the node says so"),
        pytest.param(["timeout"], 1, id="and not when it names others"),
    ],
)
def test_kinds_of_failure_that_are_retried(on: list[str], attempts: int) -> None:
    ai = node("ai", id="a", prompt="x", config={"model": "mock/unknown"}, retry={"max": 3, "backoff_s": 0, "on": on})
    assert len(run({"nodes": [ai]}).stage.journal.runs) == attempts


def test_time_in_back_off_is_not_the_attempt_s_own() -> None:
    clock = StillClock()
    ai = node("ai", id="a", prompt="x", schema={"type": "object"}, retry={"max": 1, "backoff_s": 10})
    played = run({"nodes": [ai]}, clock=clock, answers=[Script(match="", turns=(Turn(text="no"), Turn(text="{}")))])
    second = played.run_of("a", 2)
    assert 5000 <= second.backoff_ms <= 10_000
    assert second.duration_ms < 1000
