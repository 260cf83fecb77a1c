"""What nodes and model calls of one episode are handed: the worker's services, with a mock and a tape of the episode's own.

The mock provider answers by how often it was asked the same: one that lives
longer than an episode would answer by what ran before it.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Awaitable, Callable, Generator, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.exchange import ModelRequest, ModelResponse
from flowgauge.model.play import NodeRun, Play
from flowgauge.model.ports import Clock, Gateway, Operations, Receipt, Sandbox, Tape
from flowgauge.model.redaction import Redactor
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import Services, fail
from flowgauge.nodes.output import as_json
from flowgauge.perf import orders
from flowgauge.perf.model import LlmEntry
from flowgauge.perf.recorder import llm_entry, type_name
from flowgauge.providers.gateway import LiveGateway
from flowgauge.providers.mock.profiles import Profile
from flowgauge.providers.mock.provider import MockProvider
from flowgauge.providers.recordings import tapes
from flowgauge.run.model_calls import recording_key

Answer = TypeVar("Answer")


class WorkerServices(Services, Protocol):
    """What the worker opens once and closes at its end."""

    async def close(self) -> None:
        """Stop what was started."""


class EpisodeServices:
    """`nodes.context.Services` of one episode."""

    def __init__(self, shared: Services, tape: Tape, profiles: dict[str, Profile]) -> None:
        self._shared = shared
        self.clock: Clock = shared.clock
        self.operations: Operations = shared.operations
        self.gateway: Gateway = EpisodeGateway(shared.gateway, profiles)
        self.listening = Listening(tape)
        self.tape: Tape = self.listening

    async def sandbox(self) -> Sandbox:
        """The worker's."""
        return await self._shared.sandbox()

    async def http(self) -> Any:
        """The worker's."""
        return await self._shared.http()

    async def ask(self, request: ModelRequest) -> ModelResponse:
        """For agents: one call to a model, through the tape."""
        return await self.tape.exchange("model", recording_key(request), lambda: self.gateway.complete(request), ModelResponse)

    async def outside(self, name: str, request: Json, call: Callable[[], Any]) -> Json:
        """For agents: one call of their own, through the tape."""

        async def perform() -> Any:
            try:
                value = call()
                return as_json(await value if inspect.isawaitable(value) else value, name)
            except Failed:
                raise
            except Exception as error:
                raise fail("tool_error", f"{type_name(error)}: {error}") from error

        anything: Any = Any
        return await self.tape.exchange("call", {"name": name, "request": request}, perform, anything)


class EpisodeGateway:
    """`model.ports.Gateway`: mock models are the episode's own, all others the worker's."""

    def __init__(self, shared: Gateway, profiles: dict[str, Profile]) -> None:
        self._shared = shared
        self._own = LiveGateway(providers={"mock": MockProvider(profiles=profiles)})

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelResponse:
        """One exchange."""
        return await self._of(request).complete(request, on_text=on_text)

    def estimate_usd(self, request: ModelRequest) -> float | None:
        """What the request would cost at the least."""
        return self._shared.estimate_usd(request)

    @property
    def price_table(self) -> str:
        """Which prices were used."""
        return self._shared.price_table

    def _of(self, request: ModelRequest) -> Gateway:
        return self._own if request.provider == "mock" and not request.base_url else self._shared


class Listening:
    """`model.ports.Tape` around another: notes what is said to models, live or from a recording."""

    live = False
    """Everything is listened to: nobody may go past it."""

    def __init__(self, inner: Tape) -> None:
        self._inner = inner
        self.entries: list[LlmEntry] = []

    async def exchange(self, kind: str, request: Json, perform: Callable[[], Awaitable[Answer]], answer: type[Answer]) -> Answer:
        """As the inner one does."""
        result = await self._inner.exchange(kind, request, perform, answer)
        if isinstance(result, ModelResponse):
            self.entries.append(llm_entry(msgspec.convert(request, ModelRequest), result, 0))
        return result


class NoJournal:
    """`model.ports.Journal` of plays that are kept as artifacts, not in the store."""

    def play_started(self, play: Play) -> Receipt:
        """Nothing to write."""
        del play
        return DONE

    def node_finished(self, play_sid: str, run: NodeRun) -> Receipt:
        """Nothing to write."""
        del play_sid, run
        return DONE

    def play_finished(self, play: Play) -> Receipt:
        """Nothing to write."""
        del play
        return DONE


class _Done:
    """The receipt for nothing."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()

    def done(self) -> bool:
        """At once."""
        return True

    def result(self) -> None:
        """Nothing can go wrong."""


DONE = _Done()


@contextlib.contextmanager
def opened_tape(order: orders.Tape | None, redact: Redactor) -> Iterator[Tape]:
    """Live, recording, or answering from a recording."""
    if order is None:
        yield tapes.Live()
    elif order.mode == "record":
        with tapes.Recorder(Path(order.path), redact=redact) as recorder:
            yield recorder
    else:
        with tapes.Replayer(Path(order.path), redact=redact) as replayer:
            yield replayer
