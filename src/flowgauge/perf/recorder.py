"""What an agent is handed: its task, tools and models; every step it takes is written down on the way.

    def explorer(run):
        while True:
            names = run.act("list", path="/")
            ...
            return answer

Comes in: actions of the agent. Goes out: their results, and a trace. Refuses a
step beyond the budget, a tool that is not there, arguments that do not fit and
values that JSON cannot hold. A refusal ends the episode, whatever the agent catches.
"""

from __future__ import annotations

import inspect
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol

import msgspec

from flowgauge.model.exchange import Message, ModelRequest, ModelResponse
from flowgauge.model.workflow import Json
from flowgauge.perf.model import Budgets, IoEvent, LlmEntry, Termination, TraceStep

Ask = Callable[[ModelRequest], Awaitable[ModelResponse]]
Outside = Callable[[str, Json, Callable[[], Any]], Coroutine[Any, Any, Json]]
Wait = Callable[[Coroutine[Any, Any, ModelResponse]], ModelResponse]


class InvalidAction(Exception):
    """For tools to raise: what was asked is no action here. It ends the episode."""


class Stop(BaseException):
    """Ends an episode from inside. Not an Exception: an agent that catches everything does not catch this."""

    def __init__(self, termination: Termination, reason: str) -> None:
        super().__init__(reason)
        self.termination: Termination = termination
        self.reason = reason


class Watching(Protocol):
    """Who hears of files, connections and programs (`guest.audit.Audit`)."""

    def take(self) -> tuple[IoEvent, ...]:
        """What was touched since the last time."""

    def note(self, event: IoEvent) -> None:
        """Something that the interpreter does not tell of."""

    def pause(self, paused: bool) -> None:
        """While our own code works for the agent."""

    def mute(self, muted: bool) -> None:
        """While a call is made that is written down as a whole: what is refused still is."""


class Run:
    """One episode, seen by its agent."""

    def __init__(
        self,
        *,
        task: str,
        seed: int,
        inputs: Mapping[str, Json],
        budgets: Budgets,
        tools: Mapping[str, Callable[..., Any]],
        observation: Json,
        watching: Watching,
        ask: Ask,
        outside: Outside,
        wait: Wait,
    ) -> None:
        self.task = task
        self.seed = seed
        self.inputs = dict(inputs)
        self.random = random.Random(seed)
        self.observation = observation
        """What was seen last: the environment's first word, then the result of the last action."""
        self._budgets = budgets
        self._tools = tools
        self._watching = watching
        self._ask = ask
        self._outside = outside
        self._wait = wait
        self._ended = time.perf_counter()
        self.trace: list[TraceStep] = []
        self.llm_trace: list[LlmEntry] = []
        self.tool_calls = 0
        self.stopped: Stop | None = None

    @property
    def tools(self) -> tuple[str, ...]:
        """The actions that the environment knows."""
        return tuple(self._tools)

    def act(self, type: str, /, **args: Json) -> Any:  # noqa: A002 - the word that the trace has for it
        """Use a tool of the environment; a step. What the tool raises is recorded and raised here."""
        self._spend(tool=True)
        action = {"type": type, "args": args}
        seen = self.observation
        tool = self._tools.get(type)
        if tool is None:
            raise self._invalid(seen, action, f"There is no action '{type}'. There are: {', '.join(self._tools) or 'none'}.")
        try:
            inspect.signature(tool).bind(**args)
        except TypeError as error:
            raise self._invalid(seen, action, f"'{type}' cannot be called so: {error}.") from error
        try:
            result = tool(**args)
        except InvalidAction as error:
            raise self._invalid(seen, action, str(error)) from error
        except Exception as error:
            self._record(seen, action, {"error": f"{type_name(error)}: {error}"})
            raise
        self._record(seen, action, result)
        self.observation = result
        return result

    def step(self, action: Json, *, observation: Json = None, result: Json = None, tool: bool = False) -> None:
        """Write down a step that the agent took by itself; `tool` counts it as a tool call, too."""
        self._spend(tool=tool)
        self._record(observation, action, result)

    def complete(self, prompt: str, *, model: str, system: str = "", **settings: Json) -> str:
        """Ask a model (provider/model); its text. Settings are those of a workflow's config: temperature, max_tokens and so on."""
        self._watching.pause(True)
        try:
            response = self._wait(self._asked(prompt, model, system, settings))
        finally:
            self._watching.pause(False)
        return response.text

    async def acomplete(self, prompt: str, *, model: str, system: str = "", **settings: Json) -> str:
        """The same inside a coroutine function."""
        self._watching.pause(True)
        try:
            return (await self._asked(prompt, model, system, settings)).text
        finally:
            self._watching.pause(False)

    async def _asked(self, prompt: str, model: str, system: str, settings: Mapping[str, Json]) -> ModelResponse:
        provider, slash, name = model.partition("/")
        if not slash:
            raise ValueError(f"'{model}' names no model: write provider/model.")
        said = [Message(role="system", text=system)] if system else []
        messages = (*said, Message(role="user", text=prompt))
        request = ModelRequest(provider=provider, model=name, messages=messages, **{"seed": self.seed, **settings})
        self._watching.note(IoEvent(kind="model", target=model))
        response = await self._ask(request)
        self.llm_trace.append(llm_entry(request, response, len(self.trace) + 1))
        return response

    def outside(self, name: str, request: Json, call: Callable[[], Any]) -> Any:
        """Anything outside that is no model: `call` makes the call and answers with JSON; a replay answers in its place.

        It is known by its name and request. What it raises arrives as flowgauge.errors.Failed, live and replayed.
        """
        return _at_once(self._called(name, request, call))

    async def aoutside(self, name: str, request: Json, call: Callable[[], Any]) -> Any:
        """The same inside a coroutine function; `call` may be one, too."""
        return await self._called(name, request, call)

    async def _called(self, name: str, request: Json, call: Callable[[], Any]) -> Json:
        self._watching.note(IoEvent(kind="call", target=name))
        self._watching.mute(True)
        try:
            return await self._outside(name, request, call)
        finally:
            self._watching.mute(False)

    def _spend(self, *, tool: bool) -> None:
        budgets = self._budgets
        if budgets.steps is not None and len(self.trace) >= budgets.steps:
            raise self._stop("steps_exhausted", f"It asked for more than its {budgets.steps} steps.")
        if tool and budgets.tool_calls is not None and self.tool_calls >= budgets.tool_calls:
            raise self._stop("tool_calls_exhausted", f"It asked for more than its {budgets.tool_calls} tool calls.")
        self.tool_calls += tool

    def _invalid(self, seen: Json, action: Json, why: str) -> Stop:
        self._record(seen, action, {"error": why})
        return self._stop("invalid_action", f"Step {len(self.trace)}: {why}")

    def _stop(self, termination: Termination, reason: str) -> Stop:
        self.stopped = self.stopped or Stop(termination, reason)
        return self.stopped

    def _record(self, observation: Json, action: Json, result: Json) -> None:
        number = len(self.trace) + 1
        now = time.perf_counter()
        self.trace.append(
            TraceStep(
                step=number,
                observation=_kept(observation, number, "observation"),
                action=_kept(action, number, "action"),
                result=_kept(result, number, "result"),
                io_audit=self._watching.take(),
                elapsed_ms=(now - self._ended) * 1000,
            )
        )
        self._ended = now


def llm_entry(request: ModelRequest, response: ModelResponse, step: int) -> LlmEntry:
    """What is kept of an exchange: all that was said, and the tokens as the provider counts them."""
    usage = response.usage
    completion = response.text or (msgspec.json.encode(response.tool_calls).decode() if response.tool_calls else "")
    return LlmEntry(
        step=step,
        model=request.name,
        prompt="\n".join(f"{message.role}: {message.text}" for message in request.messages),
        completion=completion,
        tokens_prompt=usage.tokens_prompt,
        tokens_completion=usage.tokens_completion,
    )


def _at_once(coroutine: Coroutine[Any, Any, Json]) -> Json:
    """The value of a coroutine that waits for nothing. No event loop runs meanwhile, so a call may run its own."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise TypeError("What this calls has to be awaited: use aoutside in a coroutine function.")


def type_name(error: BaseException) -> str:
    """Of the class, as a traceback says it."""
    return type(error).__name__


def _kept(value: Json, step: int, field: str) -> Json:
    """As it is now: what the agent changes later does not change the trace."""
    try:
        return msgspec.Raw(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise TypeError(f"action_trace[{step - 1}].{field} cannot be written as JSON: {error}") from error
