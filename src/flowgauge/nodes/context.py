"""What a running node is handed: its config, its play, and the services of the process.

A node asks its play for everything that reaches outside, so that the play can
count it, hold it to the budget, record it or answer it from a recording.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from flowgauge.errors import Failed
from flowgauge.model.play import Failure, Step, Usage
from flowgauge.model.workflow import Config, FailureKind, Json, Node, Workflow

if TYPE_CHECKING:
    from flowgauge.model.exchange import ModelRequest, ModelResponse
    from flowgauge.model.ports import Clock, Gateway, Operations, Sandbox, Tape

Answer = TypeVar("Answer")


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


class PlayHandle(Protocol):
    """What a node may ask of the play that it is part of."""

    services: Services

    async def complete(self, request: ModelRequest, context: Context) -> ModelResponse:
        """One call to a model: within the budget, through the tape, counted."""

    async def run_body(self, node: Node, path: str, context: Context, roots: Mapping[str, Json]) -> Json:
        """Another node in this one's scope, with further roots (`item`, `index`, `repair`)."""

    async def run_workflow(self, workflow: Workflow, inputs: Mapping[str, Json], path: str) -> Json:
        """A sub-workflow, its nodes stored under this play."""

    def resolve(self, reference: str) -> Workflow:
        """A stored workflow by name or sid, as pinned when the play started."""

    def note_isolation(self, tier: str) -> None:
        """Which tier a python node ran in."""


class Context:
    """One attempt of one node. `memory` outlives the attempt: a retry goes on from what is in it."""

    __slots__ = ("config", "config_values", "memory", "node_id", "play", "scope", "steps", "timeout_s")

    def __init__(
        self,
        *,
        node_id: str,
        play: PlayHandle,
        config: Config,
        scope: Mapping[str, Json],
        memory: dict[str, Any],
        timeout_s: float | None,
    ) -> None:
        self.node_id = node_id
        self.play = play
        self.config = config
        self.scope = scope
        self.memory = memory
        self.timeout_s = timeout_s
        self.steps: list[Step] = []

    @property
    def services(self) -> Services:
        """Shorthand: the process's services."""
        return self.play.services

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """One call to a model."""
        return await self.play.complete(request, self)

    async def exchange(self, kind: str, request: Json, perform: Callable[[], Awaitable[Answer]], answer: type[Answer]) -> Answer:
        """Anything else that reaches outside: through the tape."""
        return await self.services.tape.exchange(kind, request, perform, answer)

    def usage(self) -> Usage:
        """The sum over this attempt's own steps."""
        total = Usage()
        for step in self.steps:
            total = total.plus(step.usage)
        return total


def fail(kind: FailureKind, message: str, *, detail: str = "", retry_after_s: float | None = None) -> Failed:
    """The error for a failed attempt; raise what it returns."""
    return Failed(Failure(kind=kind, message=message, detail=detail, retry_after_s=retry_after_s))
