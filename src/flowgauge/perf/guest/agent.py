"""Runs one episode of an agent: makes its environment, calls it, judges what it gives back.

Nothing is raised for what the agent does: whatever it is, it is how the episode ended.
"""

from __future__ import annotations

import asyncio
import errno
import inspect
import random
import re
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from flowgauge.model.workflow import Json
from flowgauge.nodes.output import as_json
from flowgauge.perf.guest.audit import Audit, Refused
from flowgauge.perf.guest.ending import Ended
from flowgauge.perf.guest.judging import Validate, judged
from flowgauge.perf.guest.services import EpisodeServices
from flowgauge.perf.loading import load_function
from flowgauge.perf.model import Termination
from flowgauge.perf.orders import PreparedRow
from flowgauge.perf.recorder import Run, Stop, type_name

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
"""In the text of an error it says nothing, and differs in every process."""
_HANDED = ("run", "task", "seed", "inputs")


class AgentPlayer:
    """One row of a scenario, its functions loaded."""

    def __init__(self, prepared: PreparedRow, folder: Path, audit: Audit) -> None:
        row = prepared.row
        self._prepared = prepared
        self._audit = audit
        self._agent = load_function(row.agent, folder)
        self._environment = load_function(row.environment, folder) if row.environment else None
        self._validator = load_function(row.validator, folder) if row.validator else None
        self._takes = _parameters(self._agent)

    def play(self, seed: int, services: EpisodeServices, loop: asyncio.AbstractEventLoop) -> Ended:
        """From the first seed to the verdict."""
        random.seed(seed)
        begun = perf_counter()
        run: Run | None = None
        try:
            environment = self._made(seed)
            run = self._run(environment, seed, services, loop)
            output = self._called(run, loop)
            termination, reason = self._judged(output, environment, seed)
        except BaseException as error:  # noqa: BLE001 - sys.exit and the like are the agent's own doing, too
            output = None
            termination, reason = _ending_of(error)
        finally:
            self._audit.end()
        wall_clock_s = perf_counter() - begun
        if run is not None and run.stopped is not None:
            termination, reason = run.stopped.termination, run.stopped.reason
        elif self._audit.refused:
            termination, reason = "sandbox_violation", _violation(self._audit)
        return Ended(
            termination=termination,
            reason=_ADDRESS.sub("0x…", reason),
            output=output if termination in ("completed", "wrong_answer") else None,
            trace=tuple(run.trace) if run else (),
            llm_trace=tuple(run.llm_trace) if run else (),
            io_audit=self._audit.take(),
            tool_calls=run.tool_calls if run else 0,
            wall_clock_s=wall_clock_s,
        )

    def _made(self, seed: int) -> Any:
        return None if self._environment is None else self._environment(seed=seed, inputs=dict(self._prepared.row.inputs))

    def _run(self, environment: Any, seed: int, services: EpisodeServices, loop: asyncio.AbstractEventLoop) -> Run:
        row = self._prepared.row
        return Run(
            task=row.task,
            seed=seed,
            inputs=row.inputs,
            budgets=self._prepared.budgets,
            tools=_tools(environment),
            observation=_part(environment, "observation"),
            watching=self._audit,
            ask=services.ask,
            outside=services.outside,
            wait=loop.run_until_complete,
        )

    def _called(self, run: Run, loop: asyncio.AbstractEventLoop) -> Json:
        handed = {"run": run, "task": run.task, "seed": run.seed, "inputs": run.inputs}
        self._audit.begin(self._prepared.row.allow)
        try:
            value = self._agent(**{name: handed[name] for name in self._takes})
            if inspect.isawaitable(value):
                value = loop.run_until_complete(_awaited(value))
        finally:
            self._audit.end()
        return as_json(value, "The agent")

    def _judged(self, output: Json, environment: Any, seed: int) -> tuple[Termination, str]:
        row = self._prepared.row
        validators: dict[str, Validate] = {}
        own = _part(environment, "validate")
        if callable(own):
            validators["environment"] = own
        if self._validator is not None:
            validators["validator"] = partial(self._validator, inputs=dict(row.inputs), seed=seed)
        return judged(row, output, validators)


def _parameters(agent: Callable[..., Any]) -> tuple[str, ...]:
    """Which of run, task, seed and inputs the agent asks for."""
    parameters = inspect.signature(agent).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return _HANDED
    return tuple(parameter.name for parameter in parameters if parameter.name in _HANDED)


def _part(environment: Any, name: str) -> Any:
    return environment.get(name) if isinstance(environment, Mapping) else getattr(environment, name, None)


def _tools(environment: Any) -> Mapping[str, Callable[..., Any]]:
    """A mapping of names to functions, or a list of functions that are called as they are."""
    tools = _part(environment, "tools") or {}
    return tools if isinstance(tools, Mapping) else {tool.__name__: tool for tool in tools}


async def _awaited(value: Any) -> Any:
    return await value


def _ending_of(error: BaseException) -> tuple[Termination, str]:
    if isinstance(error, Stop):
        return error.termination, error.reason
    if isinstance(error, MemoryError):
        return "memory_limit", "It ran out of the memory that it may use."
    if isinstance(error, Refused):
        return "sandbox_violation", str(error)
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "file_limit", "It wrote a file beyond the limit of a file's size."
    if isinstance(error, SystemExit):
        return "error", f"It called sys.exit({error.code!r})."
    return "error", f"{type_name(error)}: {error}{_place(error)}"


def _place(error: BaseException) -> str:
    """The innermost line of code that is not ours."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/flowgauge/perf/" not in frame.filename or "/builtin/" in frame.filename
    ]
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""


def _violation(audit: Audit) -> str:
    first = audit.refused[0]
    more = f", and {len(audit.refused) - 1} more" if len(audit.refused) > 1 else ""
    return f"It was refused: {first.kind} {first.target}{more}."
