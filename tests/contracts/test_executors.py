"""What every executor promises; each test runs on all of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.contracts.executor_jobs import CasesJob, plan

from flowgauge.errors import StoreFailure
from flowgauge.model.bench import PlannedTrial, Trial
from flowgauge.run.executors.executor import READY_LIMIT, Executor
from flowgauge.run.executors.local import LocalExecutor
from flowgauge.run.executors.process import ProcessExecutor

Make = Callable[[int], Executor]
EXECUTORS: dict[str, Make] = {"local": LocalExecutor, "process": lambda most: ProcessExecutor(most, workers=2)}


@pytest.fixture(params=EXECUTORS)
def make(request: pytest.FixtureRequest) -> Make:
    return EXECUTORS[request.param]


@pytest.fixture
def job(tmp_path: Path) -> CasesJob:
    return CasesJob(str(tmp_path / "starts.log"))


async def collect(executor: Executor, planned: Iterator[PlannedTrial], job: CasesJob) -> list[Trial]:
    async with aclosing(executor.run(planned, job)) as trials:
        return [trial async for trial in trials]


def run(executor: Make, planned: Iterator[PlannedTrial], job: CasesJob, most: int = 4) -> list[Trial]:
    async def once() -> list[Trial]:
        return await collect(executor(most), planned, job)

    return asyncio.run(once())


def most_at_once(trials: list[Trial]) -> int:
    steps = sorted([(t.answer.output["begun"], 1) for t in trials] + [(t.answer.output["ended"], -1) for t in trials])
    under_way, most = 0, 0
    for _, change in steps:
        under_way += change
        most = max(most, under_way)
    return most


def test_ten_thousand_trials_that_do_nothing_come_back_once_each(make: Make) -> None:
    trials = run(make, plan(*["nothing"] * 10_000), CasesJob(""), most=50)
    assert sorted(trial.position for trial in trials) == list(range(10_000))


def test_every_trial_is_started_once(make: Make, job: CasesJob) -> None:
    run(make, plan(*["sleep"] * 40), job)
    assert Counter(Path(job.log).read_text().split()) == {f"run-{n}": 1 for n in range(40)}


def test_an_empty_plan_ends_at_once(make: Make, job: CasesJob) -> None:
    assert run(make, plan(), job) == []


@pytest.mark.parametrize("most", [1, 3, 7])
def test_no_more_than_asked_for_are_under_way_and_no_fewer(make: Make, job: CasesJob, most: int) -> None:
    trials = run(make, plan(*["sleep"] * 30), job, most=most)
    assert most_at_once(trials) == most


def test_an_executor_can_be_used_again(make: Make, job: CasesJob) -> None:
    async def twice() -> list[int]:
        executor = make(3)
        return [len(await collect(executor, plan(*["sleep"] * count), job)) for count in (5, 7)]

    assert asyncio.run(twice()) == [5, 7]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        pytest.param("raise", "no luck", id="an error"),
        pytest.param("exit", "SystemExit: 7", id="sys.exit"),
        pytest.param("cancel_itself", "CancelledError", id="a cancellation that nobody asked for"),
        pytest.param("misery", "worse than an error", id="an error that is no Exception"),
        pytest.param("no_such_case", "no attribute", id="a fault of the job's own"),
    ],
)
def test_what_a_job_raises_is_a_failed_trial_among_others(make: Make, job: CasesJob, case: str, message: str) -> None:
    trials = {trial.case: trial for trial in run(make, plan("sleep", case, "nothing"), job)}
    assert trials["sleep"].answer.status == trials["nothing"].answer.status == "success"
    failure = trials[case].answer.error
    assert failure is not None
    assert (trials[case].failure_category, message in failure.message) == ("internal", True), failure.message


def test_a_store_that_fails_ends_the_run(make: Make, job: CasesJob) -> None:
    with pytest.raises(StoreFailure, match="disk is full"):
        run(make, plan("nothing", "lose_the_store", *["sleep"] * 1000), job)


def test_the_plan_is_taken_from_as_slots_become_free(make: Make, job: CasesJob) -> None:
    taken: list[int] = []

    def lazily() -> Iterator[PlannedTrial]:
        for planned in plan(*["sleep"] * 1000):
            taken.append(planned.position)
            yield planned

    async def only_some() -> None:
        async with aclosing(make(4).run(lazily(), job)) as trials:
            async for trial in trials:
                if trial.position >= 20:
                    break

    asyncio.run(only_some())
    assert len(taken) < 60


def test_a_consumer_that_is_slow_holds_the_executor_back(make: Make) -> None:
    async def slowly() -> tuple[int, int]:
        taken = 0

        def counted() -> Iterator[PlannedTrial]:
            nonlocal taken
            for planned in plan(*["nothing"] * 5000):
                taken += 1
                yield planned

        seen = 0
        async with aclosing(make(4).run(counted(), CasesJob(""))) as trials:
            async for _ in trials:
                seen += 1
                if seen == 1:
                    await asyncio.sleep(0.3)
                    at_pause = taken
        return at_pause, seen

    at_pause, seen = asyncio.run(slowly())
    assert at_pause <= READY_LIMIT + 100
    assert seen == 5000


def test_a_cancelled_executor_yields_what_is_over_and_ends(make: Make, job: CasesJob) -> None:
    async def cut() -> list[Trial]:
        executor = make(4)
        seen = []
        async with aclosing(executor.run(plan("sleep", "sleep", "hang", "hang", *["sleep"] * 3, *["hang"] * 10), job)) as trials:
            async for trial in trials:
                seen.append(trial)
                if len(seen) == 5:
                    executor.cancel()
        return seen

    trials = asyncio.run(cut())
    assert {trial.case for trial in trials} == {"sleep"}
    assert len(trials) == 5


def test_a_target_that_refuses_to_stop_does_not_hold_up_the_end(make: Make, job: CasesJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowgauge.run.trial_time.STUBBORN_S", 0.05)

    async def cut() -> list[str]:
        executor = make(2)
        seen = []
        async with aclosing(executor.run(plan("nothing", "refuse_to_stop"), job)) as trials:
            async for trial in trials:
                seen.append(trial.case)
                executor.cancel()
        return seen

    # Not asyncio.run: it would wait for the task that refuses, and so would any program that ends its loop that way.
    loop = asyncio.new_event_loop()
    try:
        assert loop.run_until_complete(cut()) == ["nothing"]
    finally:
        job.stubborn = False
        for task in asyncio.all_tasks(loop):
            task.cancel()
            loop.run_until_complete(asyncio.wait([task]))
        loop.close()


def test_closing_the_iterator_cuts_off_what_is_under_way(make: Make, job: CasesJob) -> None:
    async def leave() -> int:
        async with aclosing(make(3).run(plan("nothing", "hang", "hang", "hang"), job)) as trials:
            async for _ in trials:
                break
        return len(asyncio.all_tasks())

    assert asyncio.run(leave()) == 1


def test_a_plan_that_raises_ends_the_run_with_its_error(make: Make, job: CasesJob) -> None:
    def broken() -> Iterator[PlannedTrial]:
        yield from plan("nothing")
        raise LookupError("no more cases")

    with pytest.raises(LookupError, match="no more cases"):
        run(make, broken(), job)
