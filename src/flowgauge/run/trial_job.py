"""What is done for one planned trial: the target is called, its answer is scored, a Trial comes out.

Whatever the target does (raises, hangs, exits, cancels itself) becomes a result.
Two things get through: a cancellation from outside, which leaves no result, and
StoreFailure, because then nothing that follows could be kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import msgspec

from flowgauge.errors import StoreFailure, UsageError
from flowgauge.model.bench import Answer, Bench, Case, CheckResult, Configuration, PlannedTrial, Trial
from flowgauge.model.play import Failure
from flowgauge.run.targets.caller import TargetCaller
from flowgauge.run.trial_cache import AnswerCache, cache_key
from flowgauge.run.trial_results import failed_answer, failure_of, trial_of
from flowgauge.run.trial_time import in_time


class Recipe(msgspec.Struct, frozen=True):
    """How another process makes the same job.

    `factory` is package.module:function; it is called with `payload` and gives
    an async context manager whose value is the TrialJob.
    """

    factory: str
    payload: bytes


class TrialJob(Protocol):
    """What an executor runs for every planned trial."""

    async def run(self, planned: PlannedTrial) -> Trial:
        """One trial. Raises only CancelledError (cut off from outside) and StoreFailure."""

    def recipe(self) -> Recipe:
        """How another process makes the same job. Raises UsageError where it cannot leave this one."""


class Scored(Protocol):
    """What checks made of an answer."""

    @property
    def passed(self) -> bool | None: ...  # noqa: D102 - as Trial has it
    @property
    def failure_category(self) -> str: ...  # noqa: D102
    @property
    def scores(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def checks(self) -> tuple[CheckResult, ...]: ...  # noqa: D102


Score = Callable[[PlannedTrial, Case, Answer], "Scored | Awaitable[Scored]"]
"""At once where nothing outside is asked; only answers that succeeded are scored."""


class BenchJob:
    """The job of a bench (TrialJob): its target, its checks, its time limit, its cache."""

    def __init__(
        self,
        bench: Bench,
        caller: TargetCaller,
        *,
        score: Score | None = None,
        cache: AnswerCache | None = None,
        recipe: Recipe | None = None,
    ) -> None:
        self._bench = bench
        self._configs = {item.name: item for item in bench.configs}
        self._cases = {item.name: item for item in bench.cases}
        self._caller = caller
        self._score = score
        self._cache = cache
        self._recipe = recipe
        self._timeout_s = bench.timeout_s + caller.patience_s if bench.timeout_s is not None else None

    def recipe(self) -> Recipe:
        """How another process makes it."""
        if self._recipe is None:
            raise UsageError("This bench cannot be handed to other processes.", remedy="Run it with the local executor.")
        return self._recipe

    async def run(self, planned: PlannedTrial) -> Trial:
        """Call, score, measure."""
        configuration, case = self._configs[planned.config], self._cases[planned.case]
        if self._cache is None:
            answer = await self._answer(configuration, case, planned)
        else:
            answer = await self._cached(self._cache, configuration, case, planned)
        if self._score is None or answer.status != "success":
            return trial_of(planned, answer)
        begun = time.perf_counter()
        try:
            scored = self._score(planned, case, answer)
            if isinstance(scored, Awaitable):
                scored = await scored
        except StoreFailure:
            raise
        except Exception as error:  # noqa: BLE001 - a fault of a check must not cost the bench: the answer stands, unjudged
            return _unscored(planned, answer, error, begun)
        return Trial(
            run_id=planned.run_id,
            position=planned.position,
            config=planned.config,
            case=planned.case,
            repetition=planned.repetition,
            answer=answer,
            passed=scored.passed,
            failure_category=scored.failure_category,
            scores={**answer.scores, **scored.scores} if answer.scores else dict(scored.scores),
            checks=scored.checks,
            score_ms=(time.perf_counter() - begun) * 1000.0,
        )

    async def _cached(self, cache: AnswerCache, configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        key = cache_key(self._bench, configuration, case, planned)
        kept = await cache.get(key)
        if kept is not None:
            return msgspec.structs.replace(kept, cached=True, play_sid="")  # the play is the bench's that made it
        answer = await self._answer(configuration, case, planned)
        if answer.status == "success":
            cache.put(key, answer)
        return answer

    async def _answer(self, configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        if self._timeout_s is None:
            return await self._guarded(configuration, case, planned)
        started_at, begun = time.time_ns() // 1_000_000, time.perf_counter()
        answer = await in_time(self._guarded(configuration, case, planned), self._timeout_s)
        if answer is not None:
            return answer
        failure = Failure(kind="timeout", message=f"The target did not answer within timeout_s {self._bench.timeout_s:g}.")
        return failed_answer(failure, started_at=started_at, duration_ms=(time.perf_counter() - begun) * 1000.0)

    async def _guarded(self, configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        try:
            return await self._caller.call(configuration, case, planned)
        except (StoreFailure, GeneratorExit):
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return failed_answer(failure_of(error, "code_error"))
        except BaseException as error:  # noqa: BLE001 - SystemExit and its like out of a target must not end the bench
            return failed_answer(failure_of(error))


def _unscored(planned: PlannedTrial, answer: Answer, error: Exception, begun: float) -> Trial:
    check = CheckResult(name="scoring", type="internal", error=f"{type(error).__name__}: {error}")
    trial = trial_of(planned, answer)
    score_ms = (time.perf_counter() - begun) * 1000.0
    return msgspec.structs.replace(trial, failure_category="check_error", checks=(check,), score_ms=score_ms)
