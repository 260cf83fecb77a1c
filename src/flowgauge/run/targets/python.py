"""`python:package.module:function`: a function of the user's own, in this process.

It is called with the case's inputs by name, and with `config` where it takes
that. A coroutine function runs on the event loop and is cancelled at the
time-out; a plain one runs in a thread, which is left to itself then. What it
raises is a failed trial.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

from flowgauge.errors import Failed, UsageError
from flowgauge.model.bench import Answer, Case, Configuration, PlannedTrial
from flowgauge.model.play import Failure
from flowgauge.model.workflow import Json
from flowgauge.run.targets.caller import Price
from flowgauge.run.targets.importing import find_object
from flowgauge.run.targets.reported import Timing, answer_of, config_of
from flowgauge.run.targets.threads import Threads
from flowgauge.run.trial_results import failed_answer, tail


class PythonTarget:
    """`TargetCaller` of a function."""

    patience_s = 0.0

    def __init__(
        self, reference: str, *, max_concurrent: int, price: Price | None = None, function: Callable[..., Any] | None = None
    ) -> None:
        self._reference = reference
        self._function = function if function is not None else find_object(reference)
        if not callable(self._function):
            raise UsageError(f"{reference} is not a function.", remedy="Write package.module:function.")
        self._is_async = inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(
            getattr(self._function, "__call__", None)  # noqa: B004 - an object whose call is a coroutine function
        )
        self._takes_config = _takes(self._function, "config")
        self._threads = Threads(max_concurrent)
        self._price = price

    async def call(self, configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:  # noqa: ARG002
        """Call it once."""
        arguments = self._arguments(configuration, case)
        started_at, begun = time.time_ns() // 1_000_000, time.perf_counter()
        if not self._is_async:
            return await self._in_thread(arguments, started_at, begun)
        try:
            value = await self._function(**arguments)
        except BaseException as error:
            if isinstance(error, GeneratorExit) or _is_real(error):
                raise
            return self._failed(error, Timing(started_at, _since(begun)))
        return self._answer(value, Timing(started_at, _since(begun)))

    async def close(self) -> None:
        """Let the threads end."""
        self._threads.close()

    def _arguments(self, configuration: Configuration, case: Case) -> dict[str, Json]:
        if not self._takes_config or "config" in case.inputs:
            return case.inputs
        return {**case.inputs, "config": config_of(configuration.workflow_overrides)}

    async def _in_thread(self, arguments: dict[str, Json], started_at: int, begun: float) -> Answer:
        call = await self._threads.call(self._function, arguments)
        value = call.value
        waited_ms = (call.begun - begun) * 1000.0
        timing = Timing(started_at, call.duration_ms, waited_ms)
        if call.error is None and inspect.isawaitable(value):
            again = time.perf_counter()
            try:
                value = await value
            except Exception as error:  # noqa: BLE001 - whatever the user's code raises is this trial's failure
                return self._failed(error, Timing(started_at, call.duration_ms + _since(again), waited_ms))
            timing = Timing(started_at, call.duration_ms + _since(again), waited_ms)
        if call.error is not None:
            return self._failed(call.error, timing)
        return self._answer(value, timing)

    def _answer(self, value: Any, timing: Timing) -> Answer:
        try:
            return answer_of(value, self._reference, timing, self._price)
        except Failed as error:
            return self._failed(error, timing)

    def _failed(self, error: BaseException, timing: Timing) -> Answer:
        """A function may raise errors.Failed to say the kind of failure itself."""
        message = f"{self._reference} raised {type(error).__name__}: {error}".rstrip(": ")
        failure = error.failure if isinstance(error, Failed) else Failure(kind="code_error", message=message, detail=tail(error))
        return failed_answer(failure, started_at=timing.started_at, duration_ms=timing.duration_ms, queue_ms=timing.queue_ms)


def _takes(function: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters


def _is_real(error: BaseException) -> bool:
    """Was this task told to stop, or did the function raise CancelledError by itself?"""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1000.0
