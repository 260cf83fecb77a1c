"""The body of a test as a bench's target: called again and again, what it does becomes an answer.

An assertion that does not hold is a wrong answer; any other exception is the
code's error, raised on. What means something to pytest (skip, xfail, exit, an
interruption) ends the bench and is given back to pytest.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from flowgauge.errors import Failed
from flowgauge.model.play import Failure
from flowgauge.pytest_plugin import as_plain
from flowgauge.pytest_plugin.fixtures import NOTES
from flowgauge.run.trial_results import tail

if TYPE_CHECKING:
    from flowgauge.pytest_plugin.main_thread import MainThread

CHECK = {"type": "equals", "name": "assertions", "path": "output.assertion_error", "value": ""}
"""What makes a run right: nothing was asserted in vain."""
CONFIG = "flowgauge_config"
_WORDS_FOR_PYTEST = (pytest.skip.Exception, pytest.xfail.Exception, pytest.exit.Exception, KeyboardInterrupt)


class Body:
    """One test item."""

    def __init__(self, item: pytest.Function, stop: Callable[[], None]) -> None:
        self._item = item
        self._stop = stop
        self.word: BaseException | None = None
        """What the test said to pytest, where it did."""
        self.failures: list[BaseException] = []

    def target(self, main: MainThread[Any], *, in_threads: bool) -> Callable[..., Any]:
        """A function for the bench that has the test's name and source."""
        if self._is_for_the_loop():
            return self._named(self._on_the_loop)
        if in_threads:
            return self._named(self._once)

        async def in_main_thread(config: Mapping[str, Any], **_: Any) -> dict[str, Any]:
            asked = time.perf_counter()
            report, took_ms = await main.call(lambda: self._timed(config))
            return {**report, "queue_ms": max(0.0, (time.perf_counter() - asked) * 1000.0 - took_ms)}

        return self._named(in_main_thread)

    def _named(self, function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(self._item.function)
            async def target(**arguments: Any) -> Any:
                return await function(**arguments)
        else:

            @functools.wraps(self._item.function)
            def target(**arguments: Any) -> Any:
                return function(**arguments)

        target.__signature__ = signature  # type: ignore[attr-defined]  # the bench looks for `config` in it
        return target

    def _is_for_the_loop(self) -> bool:
        """A coroutine function that no other plugin runs."""
        return inspect.iscoroutinefunction(self._item.obj) and not self._is_anyio()

    def _is_anyio(self) -> bool:
        return "anyio_backend" in self._item.funcargs

    def _timed(self, config: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        begun = time.perf_counter()
        report = self._once(config)
        return report, (time.perf_counter() - begun) * 1000.0

    def _once(self, config: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        token = NOTES.set({})
        try:
            if inspect.iscoroutinefunction(self._item.obj):
                self._item.funcargs[CONFIG] = config
                as_plain(self._item)
            else:
                self._item.obj(**self._arguments(config))
            return self._report()
        except BaseException as error:  # noqa: BLE001 - sorted out there
            return self._said(error)
        finally:
            NOTES.reset(token)

    async def _on_the_loop(self, config: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        token = NOTES.set({})
        try:
            await self._item.obj(**self._arguments(config))
            return self._report()
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - sorted out there
            return self._said(error)
        finally:
            NOTES.reset(token)

    def _arguments(self, config: Mapping[str, Any]) -> dict[str, Any]:
        funcargs = {**self._item.funcargs, CONFIG: config}
        return {name: funcargs[name] for name in self._item._fixtureinfo.argnames}

    def _said(self, error: BaseException) -> dict[str, Any]:
        """A wrong answer is an answer; what is not one is raised."""
        if isinstance(error, _WORDS_FOR_PYTEST):
            self.word = self.word or error
            self._stop()
            raise Failed(Failure(kind="cancelled", message=f"The test said {type(error).__name__}: {error}".rstrip(": "))) from error
        self.failures.append(error)
        if isinstance(error, AssertionError | pytest.fail.Exception):
            return self._report(str(error) or type(error).__name__, tail(error))
        raise error

    def _report(self, assertion_error: str = "", traceback: str = "") -> dict[str, Any]:
        notes = NOTES.get() or {}
        output = {"assertion_error": assertion_error}
        if traceback:
            output["traceback"] = traceback
        if "output" in notes:
            output["output"] = notes["output"]
        return {**notes, "output": output}
