"""A workflow as a target: on the real engine, with the mock provider."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.run.targets.bench_parts import PLANNED, bench, call
from tests.stage import MemoryJournal, Stage, StillClock, make, node, on_stage

from flowgauge.errors import BadInputs, UsageError
from flowgauge.model.bench import Answer, Bench
from flowgauge.model.ids import PLAY, new_sid
from flowgauge.model.play import NodeRun, Play
from flowgauge.nodes.codec import write_workflow
from flowgauge.providers.mock.profiles import Script
from flowgauge.run.targets.table import TargetServices, make_target
from flowgauge.run.targets.workflow import Configured, StoredPlay, WorkflowServices, moment_of_bench, play_sid

AI: dict[str, Any] = {"config": {"provider": "mock", "model": "default"}}
TWO: dict[str, Any] = {
    **AI,
    "inputs": [{"name": "topic", "required": True}],
    "nodes": [
        node("ai", id="draft", prompt="Draft {{ inputs.topic }}"),
        node("ai", id="close", prompt="Close {{ nodes.draft.text }}"),
    ],
    "output": "{{ nodes.close.text }}",
}
SID = play_sid("uid", 1000, PLANNED.run_id)


def services(stage: Stage, workflow: dict[str, Any], *, stored: StoredPlay | None = None, **fields: Any) -> TargetServices:
    configured = Configured(content=write_workflow(make(workflow)), workflow_sid="wf_1", version_sid="wv_1")
    plays = WorkflowServices(
        engine=stage.engine,
        clock=stage.services.clock,
        owner_sid="ow_me",
        bench_uid="uid",
        created_at=1000,
        graphs={"c": configured},
        stored_play=stored,
        **fields,
    )
    return TargetServices(plays=plays)


async def once(stage: Stage, workflow: dict[str, Any], definition: Bench, **options: Any) -> Answer:
    return await call(make_target(definition, services(stage, workflow, **options)), definition)


def run(
    workflow: dict[str, Any], inputs: dict[str, Any] | None = None, *, timeout_s: float | None = None, **settings: Any
) -> tuple[Answer, Stage]:
    options = {name: settings.pop(name) for name in ("stored", "generation") if name in settings}

    async def go() -> tuple[Answer, Stage]:
        async with on_stage(**settings) as stage:
            definition = bench("workflow", "wv_1", inputs, timeout_s=timeout_s)
            return await once(stage, workflow, definition, **options), stage

    return asyncio.run(go())


def test_a_trial_is_a_play_and_its_answer_says_what_happened() -> None:
    answer, stage = run(TWO, {"topic": "tides"}, answers=(Script(match="", text="one"),))
    assert (answer.status, answer.output, answer.error) == ("success", "one", None)
    assert answer.nodes["draft"]["text"] == "one"
    assert answer.play_sid == SID
    play = stage.journal.plays[SID]
    assert (play.status, play.owner_sid, play.inputs, play.name) == ("success", "ow_me", {"topic": "tides"}, "b")
    assert (answer.tokens_prompt, answer.tokens_completion) == (play.tokens_prompt, play.tokens_completion)
    assert answer.tokens_prompt > 0
    assert (answer.cost_usd, answer.cost_source) == (play.cost_usd, play.cost_source)
    assert answer.model == "mock/default"
    assert answer.duration_ms == pytest.approx(sum(run.duration_ms for run in stage.journal.runs), rel=0.05, abs=0.05)


def test_a_streamed_answer_tells_when_its_first_token_came() -> None:
    streamed = {**TWO, "config": {**AI["config"], "stream": True}}
    answer, stage = run(streamed, {"topic": "x"})
    assert answer.first_token_ms == stage.run_of("draft").first_token_ms
    assert answer.first_token_ms is not None


def test_back_off_is_not_the_plays_own_time() -> None:
    clock = StillClock()
    _tries.clear()
    workflow = {
        "nodes": [node("call", id="a", function="tests.run.targets.test_workflow_target:fail_once", retry={"max": 2, "backoff_s": 10})]
    }
    answer, _ = run(workflow, clock=clock)
    assert (answer.status, answer.retries) == ("success", 1)
    assert answer.backoff_ms == pytest.approx(clock.sleeps[0] * 1000)
    assert answer.backoff_ms >= 5000
    assert answer.duration_ms == 0.0


_tries: list[str] = []


async def fail_once() -> str:
    _tries.append("again")
    if len(_tries) == 1:
        raise RuntimeError("not yet")
    return "now"


def test_a_play_that_fails_is_a_failed_answer_with_its_kind() -> None:
    workflow = {"nodes": [node("call", id="a", function="tests.run.targets.target_things:stumble", **{"with": {"name": "x"}})]}
    answer, _ = run(workflow)
    assert answer.error is not None
    assert (answer.status, answer.error.kind, answer.error.node_id) == ("failed", "code_error", "a")


def test_the_benchs_time_limit_ends_the_play_and_is_stored_with_it() -> None:
    workflow = {"nodes": [node("call", id="a", function="tests.run.targets.test_workflow_target:rest_long")]}
    answer, stage = run(workflow, timeout_s=0.05)
    assert answer.error is not None
    assert (answer.status, answer.error.kind) == ("timeout", "timeout")
    assert (stage.journal.plays[SID].status, stage.journal.plays[SID].config) == ("timeout", {"timeout_s": 0.05})


def test_a_shorter_limit_of_the_workflow_itself_stands() -> None:
    workflow = {"config": {"timeout_s": 0.05}, "nodes": [node("call", id="a", function="tests.run.targets.test_workflow_target:rest_long")]}
    answer, stage = run(workflow, timeout_s=60)
    assert answer.status == "timeout"
    assert stage.journal.plays[SID].config == {}


async def rest_long() -> None:
    await asyncio.sleep(60)


def test_inputs_that_do_not_fit_are_refused_before_anything_runs() -> None:
    with pytest.raises(BadInputs, match="case 'k'"):
        run(TWO, {"topic": 5})


def test_a_trial_that_is_cut_off_leaves_its_play_to_be_taken_up_again() -> None:
    async def go() -> Play:
        async with on_stage() as stage:
            definition = bench("workflow", "wv_1")
            workflow = {"nodes": [node("call", id="a", function="tests.run.targets.test_workflow_target:rest_long")]}
            running = asyncio.create_task(once(stage, workflow, definition))
            while not stage.engine.running:
                await asyncio.sleep(0)
            await asyncio.sleep(0.01)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            return stage.journal.plays[SID]

    assert asyncio.run(go()).status == "running"


# ── after a crash ───────────────────────────────────────────────────────────


def interrupted() -> tuple[Play, Sequence[NodeRun]]:
    """What the store has of a play whose process died after its first node."""
    _, stage = run(TWO, {"topic": "tides"}, answers=(Script(match="", text="one"),))
    play = Play(
        sid=SID, workflow_sid="wf_1", version_sid="wv_1", status="running", inputs={"topic": "tides"}, started_at=5, owner_sid="ow_dead"
    )
    return play, [stage.run_of("draft")]


def test_a_play_that_was_begun_is_finished_and_no_finished_node_runs_again() -> None:
    stored = interrupted()
    asked: list[str] = []

    def stored_play(sid: str) -> tuple[Play, Sequence[NodeRun]]:
        asked.append(sid)
        return stored

    journal = MemoryJournal()
    answer, stage = run(TWO, {"topic": "tides"}, journal=journal, stored=stored_play, answers=(Script(match="", text="two"),))
    assert asked == [SID]
    assert (answer.status, answer.output, answer.repeated) == ("success", "two", 1)
    assert answer.nodes["draft"]["text"] == "one"
    assert len(stage.model.requests) == 1
    assert [run.node_id for run in journal.runs] == ["close"]
    assert (journal.plays[SID].resumed, journal.plays[SID].owner_sid) == (1, "ow_me")
    own = stored[1][0].duration_ms + stage.run_of("close").duration_ms
    assert answer.duration_ms == pytest.approx(own, rel=0.05, abs=0.05)


def test_a_play_that_was_over_is_taken_as_it_is() -> None:
    first, stage = run(TWO, {"topic": "tides"}, answers=(Script(match="", text="one"),))
    kept = stage.journal.plays[SID], stage.journal.runs
    again, later = run(TWO, {"topic": "tides"}, stored=lambda _: kept)
    assert later.model.requests == []
    assert (again.output, again.tokens_prompt, again.repeated) == (first.output, first.tokens_prompt, 0)
    assert again.duration_ms == pytest.approx(first.duration_ms, abs=2.0)


def test_a_trial_of_which_nothing_is_stored_is_played_from_the_start() -> None:
    answer, stage = run(TWO, {"topic": "tides"}, stored=lambda _: None)
    assert (answer.repeated, len(stage.model.requests)) == (0, 2)


def test_another_generation_has_other_plays() -> None:
    answer, _ = run(TWO, {"topic": "x"}, generation="2")
    assert answer.play_sid == play_sid("uid", 1000, PLANNED.run_id, "2") != SID


def test_sids_of_plays_sort_with_the_moment_of_their_bench() -> None:
    assert play_sid("u", 1, "r") < play_sid("u", 2, "r")
    assert len({play_sid("u", 1, "r"), play_sid("v", 1, "r"), play_sid("u", 1, "s")}) == 3


def test_a_workflow_needs_an_engine() -> None:
    with pytest.raises(UsageError, match="engine"):
        make_target(bench("workflow", "wv_1"), TargetServices())


def test_the_play_of_a_trial_tells_when_its_bench_was_made_and_no_other_play_does() -> None:
    assert moment_of_bench(play_sid("u", 1_763_000_000_000, "r")) == 1_763_000_000_000
    assert moment_of_bench(new_sid(PLAY)) is None
    assert moment_of_bench("pl_1") is None
