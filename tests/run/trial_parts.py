"""A bench, a target and a record for tests of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator
from typing import Any

import msgspec

from flowgauge.model.bench import Answer, Bench, Case, CheckResult, Configuration, PlannedTrial, Target, Trial
from flowgauge.run.executors.local import LocalExecutor
from flowgauge.run.trial_cache import AnswerCache
from flowgauge.run.trial_job import BenchJob, Score
from flowgauge.run.trials import TrialsOutcome, run_trials

Act = Callable[[Configuration, Case, PlannedTrial], Awaitable[Answer]]


class Verdict(msgspec.Struct, frozen=True):
    passed: bool | None = True
    failure_category: str = ""
    scores: dict[str, float] = {}
    checks: tuple[CheckResult, ...] = ()


class Receipt:
    """Done when the event is set, or with an error."""

    def __init__(self, held: asyncio.Event | None = None, error: Exception | None = None) -> None:
        self._held = held
        self._error = error

    def __await__(self) -> Generator[Any, None, None]:
        if self._held is not None:
            yield from self._held.wait().__await__()
        if self._error is not None:
            raise self._error


class Caller:
    patience_s = 0.0

    def __init__(self, act: Act) -> None:
        self._act = act
        self.calls = 0

    async def call(self, configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        self.calls += 1
        return await self._act(configuration, case, planned)

    async def close(self) -> None: ...


async def say_hello(*_where: object) -> Answer:
    return Answer(status="success", output="hello", duration_ms=1.0, cost_usd=0.01, cost_source="provider", scores={"own": 0.5})


async def hang(*_where: object) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError


def bench(timeout_s: float | None = None, **fields: Any) -> Bench:
    return Bench(
        name="b",
        target=Target(kind="python", reference="m:f", name="f", content="def f(): ..."),
        configs=(Configuration(name="c"), Configuration(name="d", workflow_overrides={"config": {"model": "x"}})),
        cases=(Case(name="k", inputs={"a": 1}),),
        timeout_s=timeout_s,
        **fields,
    )


def plan(count: int) -> Iterator[PlannedTrial]:
    return (PlannedTrial(f"run-{n}", n, "c", "k", n) for n in range(count))


class Stored(msgspec.Struct, frozen=True):
    outcome: TrialsOutcome
    trials: list[Trial]


def run(
    act: Act = say_hello,
    count: int = 1,
    *,
    definition: Bench | None = None,
    score: Score | None = None,
    cache: AnswerCache | None = None,
    most: int = 4,
    **options: Any,
) -> Stored:
    stored: list[Trial] = []

    def record(trial: Trial) -> Awaitable[object]:
        stored.append(trial)
        return Receipt()

    async def once() -> TrialsOutcome:
        job = BenchJob(definition or bench(), Caller(act), score=score, cache=cache)
        return await run_trials(plan(count), LocalExecutor(most), job, options.pop("record", record), **options)

    return Stored(asyncio.run(once()), stored)


def only(stored: Stored) -> Trial:
    assert len(stored.trials) == 1
    return stored.trials[0]


async def nap(*_: object) -> Answer:
    await asyncio.sleep(0.01)
    return await say_hello()


class Kept:
    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}

    async def get(self, key: str) -> Answer | None:
        return self.answers.get(key)

    def put(self, key: str, answer: Answer) -> None:
        self.answers[key] = answer
