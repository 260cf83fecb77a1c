"""The loop: what becomes durable, when it counts, and what ends it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable

import pytest
from tests.run.trial_parts import Act, Caller, Receipt, Stored, Verdict, bench, hang, nap, only, plan, run, say_hello

from flowgauge.errors import Failed, StoreFailure, UsageError
from flowgauge.model.bench import Answer, Case, Configuration, PlannedTrial, Trial
from flowgauge.model.play import Failure
from flowgauge.run.executors.local import LocalExecutor
from flowgauge.run.trial_job import BenchJob, Recipe
from flowgauge.run.trials import OWED_LIMIT, TrialsOutcome, run_trials


def test_all_that_is_planned_is_recorded() -> None:
    stored = run(count=30)
    assert (stored.outcome.status, stored.outcome.recorded, stored.outcome.cut_off) == ("finished", 30, 0)
    assert stored.outcome.spent_usd == pytest.approx(0.3)
    assert sorted(trial.position for trial in stored.trials) == list(range(30))


def test_a_trial_counts_as_done_only_when_its_record_is_on_disk() -> None:
    held = asyncio.Event()
    done: list[Trial] = []
    handed_over: list[Trial] = []

    def record(trial: Trial) -> Awaitable[object]:
        handed_over.append(trial)
        return Receipt(held)

    async def once() -> None:
        job = BenchJob(bench(), Caller(say_hello))
        running = asyncio.create_task(run_trials(plan(5), LocalExecutor(2), job, record, on_trial=done.append))
        while len(handed_over) < 5:
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        assert done == []
        assert not running.done()
        held.set()
        assert (await running).recorded == 5

    asyncio.run(once())
    assert done == handed_over


def test_the_journal_is_told_to_hurry_when_every_trial_has_run_and_only_the_disk_is_waited_for() -> None:
    async def once() -> list[int]:
        written, caller, hurried = asyncio.Event(), Caller(say_hello), list[int]()

        def hurry() -> None:
            hurried.append(caller.calls)
            written.set()

        await run_trials(plan(5), LocalExecutor(2), BenchJob(bench(), caller), lambda _: Receipt(written), hurry=hurry)
        return hurried

    assert asyncio.run(once()) == [5]


def test_a_disk_that_does_not_answer_holds_the_bench_back() -> None:
    async def once() -> None:
        held = asyncio.Event()
        caller = Caller(say_hello)
        running = asyncio.create_task(
            run_trials(plan(5 * OWED_LIMIT), LocalExecutor(4), BenchJob(bench(), caller), lambda _: Receipt(held))
        )
        await asyncio.sleep(0.3)
        assert OWED_LIMIT <= caller.calls < 2 * OWED_LIMIT
        held.set()
        assert (await running).recorded == 5 * OWED_LIMIT

    asyncio.run(once())


def test_a_store_that_fails_ends_the_bench() -> None:
    with pytest.raises(StoreFailure, match="disk is full"):
        run(count=3, record=lambda _: Receipt(error=StoreFailure("The disk is full.")))


def test_a_store_that_fails_at_once_ends_the_bench() -> None:
    def record(_: Trial) -> Awaitable[object]:
        raise StoreFailure("The journal is closed.")

    with pytest.raises(StoreFailure, match="journal is closed"):
        run(count=3, record=record)


@pytest.mark.parametrize("at_once", [True, False])
def test_an_answer_that_the_store_refuses_is_a_failed_trial(at_once: bool) -> None:
    stored: list[Trial] = []

    def record(trial: Trial) -> Awaitable[object]:
        if trial.answer.output is not None and trial.position == 1:
            if at_once:
                raise TypeError("cannot write this")
            return Receipt(error=StoreFailure("cannot write this"))
        stored.append(trial)
        return Receipt()

    outcome = run(count=3, record=record).outcome
    assert outcome.recorded == 3
    refused = next(trial for trial in stored if trial.position == 1)
    assert (refused.answer.status, refused.failure_category) == ("failed", "internal")


# ── one trial ───────────────────────────────────────────────────────────────


def test_an_answer_is_scored_and_timed_apart() -> None:
    def score(planned: PlannedTrial, case: Case, answer: Answer) -> Verdict:
        time.sleep(0.01)
        assert (planned.run_id, case.inputs, answer.output) == ("run-0", {"a": 1}, "hello")
        return Verdict(passed=False, failure_category="wrong_answer", scores={"close": 0.2})

    trial = only(run(score=score))
    assert (trial.passed, trial.failure_category) == (False, "wrong_answer")
    assert trial.scores == {"own": 0.5, "close": 0.2}
    assert trial.score_ms >= 10
    assert trial.answer.duration_ms == 1.0


def test_scoring_may_wait_for_a_judge() -> None:
    async def score(*_: object) -> Verdict:
        await asyncio.sleep(0)
        return Verdict()

    assert only(run(score=score)).passed is True


def test_a_check_that_breaks_leaves_the_answer_unjudged() -> None:
    def score(*_: object) -> Verdict:
        raise ZeroDivisionError("in a check")

    trial = only(run(score=score))
    assert (trial.passed, trial.failure_category, trial.answer.output) == (None, "check_error", "hello")
    assert "ZeroDivisionError: in a check" in trial.checks[0].error


def test_an_answer_that_failed_is_not_scored() -> None:
    async def refuse(*_: object) -> Answer:
        raise Failed(Failure(kind="rate_limited", message="slow down"))

    def score(*_: object) -> Verdict:
        raise AssertionError

    trial = only(run(refuse, score=score))
    assert (trial.answer.status, trial.failure_category, trial.passed) == ("failed", "rate_limited", None)


class Bare(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "category"),
    [
        pytest.param(ValueError("x"), "internal", id="an error of ours"),
        pytest.param(SystemExit(3), "internal", id="sys.exit"),
        pytest.param(KeyboardInterrupt(), "internal", id="an interrupt of its own making"),
        pytest.param(Bare(), "internal", id="an error that is no Exception"),
        pytest.param(asyncio.CancelledError(), "code_error", id="a cancellation that nobody asked for"),
    ],
)
@pytest.mark.parametrize("timeout_s", [None, 30.0])
def test_whatever_a_target_raises_is_a_result(error: BaseException, category: str, timeout_s: float | None) -> None:
    async def misbehave(configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        if planned.position == 1:
            raise error
        return await say_hello()

    stored = run(misbehave, 3, definition=bench(timeout_s))
    assert stored.outcome.recorded == 3
    assert {trial.position: trial.failure_category for trial in stored.trials} == {0: "", 1: category, 2: ""}


def test_a_target_that_never_returns_has_timed_out() -> None:
    trial = only(run(hang, definition=bench(0.02)))
    assert (trial.answer.status, trial.failure_category) == ("timeout", "timeout")
    assert trial.answer.duration_ms >= 20
    assert trial.answer.cost_usd is None


def test_a_target_that_does_not_stop_when_told_to_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowgauge.run.trial_time.STUBBORN_S", 0.02)
    release = False

    async def stubborn(*_: object) -> Answer:
        while not release:
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue
        return await say_hello()

    async def once() -> None:
        nonlocal release
        stored: list[Trial] = []

        def record(trial: Trial) -> Awaitable[object]:
            stored.append(trial)
            return Receipt()

        outcome = await run_trials(plan(3), LocalExecutor(1), BenchJob(bench(0.02), Caller(stubborn)), record)
        release = True
        assert outcome.recorded == 3
        assert {trial.answer.status for trial in stored} == {"timeout"}

    asyncio.run(once())


def test_a_job_without_a_recipe_cannot_leave_its_process() -> None:
    with pytest.raises(UsageError, match="local executor"):
        BenchJob(bench(), Caller(say_hello)).recipe()
    assert BenchJob(bench(), Caller(say_hello), recipe=Recipe("m:f", b"")).recipe().factory == "m:f"


# ── stopping ────────────────────────────────────────────────────────────────


def stopping(act: Act, count: int, *, after: int, grace_s: float) -> Stored:
    stored: list[Trial] = []

    async def once() -> TrialsOutcome:
        stop = asyncio.Event()

        def on_trial(trial: Trial) -> None:
            stored.append(trial)
            if len(stored) >= after:
                stop.set()

        job = BenchJob(bench(), Caller(act))
        return await run_trials(plan(count), LocalExecutor(4), job, lambda _: Receipt(), on_trial=on_trial, stop=stop, grace_s=grace_s)

    return Stored(asyncio.run(once()), stored)


def test_a_stop_lets_what_is_under_way_finish() -> None:
    stored = stopping(nap, 1000, after=6, grace_s=30)
    assert stored.outcome.status == "interrupted"
    assert stored.outcome.cut_off == 0
    assert 6 <= len(stored.trials) == stored.outcome.recorded <= 14


def test_after_the_grace_what_is_under_way_is_cut_off_and_has_no_result() -> None:
    async def some_hang(configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        return await (hang() if planned.position % 2 else nap())

    stored = stopping(some_hang, 1000, after=3, grace_s=0.02)
    assert stored.outcome.status == "interrupted"
    assert stored.outcome.cut_off >= 1
    assert {trial.answer.status for trial in stored.trials} == {"success"}


def test_a_stop_after_the_last_trial_changes_nothing() -> None:
    assert stopping(nap, 4, after=4, grace_s=0).outcome.status == "finished"


def test_a_caller_that_is_cancelled_leaves_nothing_running() -> None:
    async def once() -> None:
        running = asyncio.create_task(run_trials(plan(9), LocalExecutor(3), BenchJob(bench(), Caller(hang)), lambda _: Receipt()))
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(once())
