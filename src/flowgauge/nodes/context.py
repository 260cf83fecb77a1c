"""What a running node is handed: its config, its play, and the services of the process.

A node asks its play for everything that reaches outside, so that the play can
count it, hold it to the budget, record it or answer it from a recording.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from flowgauge.errors import Failed
from flowgauge.model.play import Failure, Step, Usage
from flowgauge.model.workflow import Config, FailureKind, Json, Workflow

if TYPE_CHECKING:
    from flowgauge.model.exchange import ModelRequest, ModelResponse
    from flowgauge.model.ports import Clock, Gateway, Operations, Sandbox, Tape

Answer = TypeVar("Answer")
StepKind = Literal["model", "tool", "http", "command", "python"]

UNFORGIVING: frozenset[FailureKind] = frozenset({"budget_exceeded", "cancelled", "not_recorded"})
"""Failures that end the play whatever a node does about failed items and tools: to go on would be to pretend."""


_NO_USAGE = Usage()


class Services(Protocol):
    """The process's own: made once, shared by all plays."""

    gateway: Gateway
    clock: Clock
    tape: Tape
    operations: Operations

    async def sandbox(self) -> Sandbox:
        """The pool of python workers, started when first asked for."""

    async def http(self) -> Any:
        """The shared aiohttp session."""


class Ready(Protocol):
    """A workflow made ready to run; what else it is only the engine knows."""

    @property
    def workflow(self) -> Workflow:
        """What it was made from."""


class Parts(Protocol):
    """What the engine has made ready, once, of the things inside a node."""

    @property
    def embedded(self) -> Mapping[str, Ready]:
        """The workflows kept inside the node: by the tool's name, or as ``""`` the node's own."""


class PlayHandle(Protocol):
    """What a node may ask of the play that it is part of."""

    services: Services

    def complete(self, request: ModelRequest, context: Context) -> Awaitable[ModelResponse]:
        """One call to a model: within the budget, through the tape, counted."""

    async def run_body(self, context: Context, path: str, roots: Mapping[str, Json]) -> Json:
        """The node inside the one that asks, in its scope and with further roots (`item`, `index`)."""

    async def run_workflow(self, ready: Ready, inputs: Mapping[str, Json], path: str) -> Json:
        """A sub-workflow, its nodes stored under this play as `path/node`."""

    def resolve(self, reference: str, context: Context) -> Ready:
        """A stored workflow by name or sid, as pinned when the play started."""

    def note_isolation(self, tier: str) -> None:
        """Which tier a python node ran in."""


class Context:
    """One attempt of one node. `memory` outlives the attempt: a retry goes on from what is in it."""

    __slots__ = ("config", "memory", "node_id", "parts", "play", "scope", "steps", "timeout_s")

    def __init__(
        self,
        *,
        node_id: str,
        play: PlayHandle,
        parts: Parts,
        config: Config,
        scope: Mapping[str, Json],
        memory: dict[str, Any],
        timeout_s: float | None,
    ) -> None:
        self.node_id = node_id
        self.play = play
        self.parts = parts
        self.config = config
        self.scope = scope
        self.memory = memory
        self.timeout_s = timeout_s
        self.steps: list[Step] = []

    @property
    def services(self) -> Services:
        """Shorthand: the process's services."""
        return self.play.services

    def complete(self, request: ModelRequest) -> Awaitable[ModelResponse]:
        """One call to a model."""
        return self.play.complete(request, self)

    async def exchange(self, kind: str, request: Json, perform: Callable[[], Awaitable[Answer]], answer: type[Answer]) -> Answer:
        """Anything else that reaches outside: through the tape."""
        return await self.services.tape.exchange(kind, request, perform, answer)

    def step(self, kind: StepKind, name: str, request: Json = None) -> StepUnderWay:
        """A step to be measured by `with`; it is recorded whatever comes of it."""
        return StepUnderWay(self, kind, name, request)

    def workflow(self, reference: str, key: str = "") -> Ready:
        """The workflow meant: the one kept inside the node, else the one pinned by the play."""
        return self.parts.embedded.get(key) or self.play.resolve(reference, self)

    def usage(self) -> Usage:
        """The sum over this attempt's own steps."""
        total = _NO_USAGE
        for step in self.steps:
            total = total.plus(step.usage)
        return total


class StepUnderWay:
    """A step between its begin and its end; what is known of it is set on the way."""

    __slots__ = (
        "_begun", "_context", "_kind", "_name", "_request", "_started_at",
        "duration_ms", "error", "first_token_ms", "queue_ms", "response", "usage",
    )  # fmt: skip

    def __init__(self, context: Context, kind: StepKind, name: str, request: Json) -> None:
        self._context = context
        self._kind: StepKind = kind
        self._name = name
        self._request = request
        self.duration_ms: float | None = None
        self.error = ""
        self.first_token_ms: float | None = None
        self.queue_ms = 0.0
        self.response: Json = None
        self.usage = _NO_USAGE

    def __enter__(self) -> StepUnderWay:
        """Start the clock."""
        clock = self._context.services.clock
        self._started_at, self._begun = clock.now_ms(), clock.tick_ms()
        return self

    def elapsed_ms(self) -> float:
        """Since the begin."""
        return self._context.services.clock.tick_ms() - self._begun

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Record it."""
        if isinstance(error, Failed):
            self.error = error.failure.message
            self.queue_ms = self.queue_ms or error.queue_ms
            self.usage = error.usage or self.usage
        elif error is not None:
            self.error = f"{type(error).__name__}: {error}".rstrip(": ")
        duration_ms = max(0.0, self.elapsed_ms() - self.queue_ms) if self.duration_ms is None else self.duration_ms
        self._context.steps.append(
            Step(
                kind=self._kind,
                name=self._name,
                started_at=self._started_at,
                duration_ms=duration_ms,
                usage=self.usage,
                first_token_ms=self.first_token_ms,
                queue_ms=self.queue_ms,
                request=self._request,
                response=self.response,
                error=self.error,
            )
        )


def fail(kind: FailureKind, message: str, *, detail: str = "", retry_after_s: float | None = None) -> Failed:
    """The error for a failed attempt; raise what it returns."""
    return Failed(Failure(kind=kind, message=message, detail=detail, retry_after_s=retry_after_s))
