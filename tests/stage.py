"""A stage to play workflows on: the real engine, sandbox, gateway and mock provider, with a journal in memory.

`run(workflow, …)` plays once and gives back what happened. `on_stage(…)` is the
same for tests that must do something while the play is under way.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from typing import Any

import msgspec

from flowgauge.app.services import ProcessServices
from flowgauge.model.exchange import ModelRequest
from flowgauge.model.ids import PLAY, new_sid
from flowgauge.model.play import NodeRun, Play, PlayEvent
from flowgauge.model.workflow import Json, Workflow
from flowgauge.nodes.codec import workflow_from_value
from flowgauge.providers.gateway import LiveGateway
from flowgauge.providers.limits.settings import Limits
from flowgauge.providers.mock.profiles import BUILT_IN, Latency, Profile, Script
from flowgauge.providers.mock.provider import MockProvider
from flowgauge.providers.prices.table import PriceTable
from flowgauge.providers.provider import Reply
from flowgauge.providers.recordings.tapes import Live
from flowgauge.run.engine import Engine
from flowgauge.run.graph import Graph

INSTANT = Latency(kind="fixed", median_ms=0.0)


class Receipt:
    """Done at once, or when the journal lets go; may be awaited by many."""

    def __init__(self, held: asyncio.Event | None, error: Exception | None) -> None:
        self._held = held
        self._error = error

    def __await__(self) -> Generator[Any, None, None]:
        if self._held is not None:
            yield from self._held.wait().__await__()
        self.result()

    def done(self) -> bool:
        return self._held is None or self._held.is_set()

    def result(self) -> None:
        if self._error is not None:
            raise self._error


class MemoryJournal:
    """`model.ports.Journal` in memory. `hold` keeps writes from becoming durable; `fault` makes them fail."""

    def __init__(
        self, *, hold: Callable[[NodeRun], asyncio.Event | None] | None = None, fault: Callable[[NodeRun], Exception | None] | None = None
    ):
        self._hold = hold
        self._fault = fault
        self.plays: dict[str, Play] = {}
        self.rows: dict[tuple[str, int], NodeRun] = {}
        self.log: list[str] = []
        """In the order of the writes: `play_started`, `a#1`, …"""

    @property
    def runs(self) -> list[NodeRun]:
        return list(self.rows.values())

    def play_started(self, play: Play) -> Receipt:
        self.plays[play.sid] = play
        self.log.append("play_started")
        return Receipt(None, None)

    def node_finished(self, play_sid: str, run: NodeRun) -> Receipt:
        assert play_sid in self.plays
        self.rows[run.node_id, run.attempt] = run
        self.log.append(f"{run.node_id}#{run.attempt}")
        return Receipt(self._hold(run) if self._hold else None, self._fault(run) if self._fault else None)

    def play_finished(self, play: Play) -> Receipt:
        self.plays[play.sid] = play
        self.log.append("play_finished")
        return Receipt(None, None)


class StillClock:
    """`model.ports.Clock` whose time passes only in `sleep`."""

    def __init__(self) -> None:
        self.now_s = 1_700_000_000.0
        self.sleeps: list[float] = []

    def now_ms(self) -> int:
        return int(self.now_s * 1000)

    def tick_ms(self) -> float:
        return self.now_s * 1000

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now_s += seconds
        await asyncio.sleep(0)


class ListeningMock(MockProvider):
    """The product's mock, and what it was asked."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        super().__init__(profiles=profiles)
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> Reply:
        self.requests.append(request)
        return await super().complete(request, on_text=on_text)


class Stage(msgspec.Struct, frozen=True):
    """What a test may look at."""

    engine: Engine
    journal: MemoryJournal
    services: ProcessServices
    model: ListeningMock
    events: list[PlayEvent]

    async def play(
        self,
        workflow: Mapping[str, Any] | Workflow,
        inputs: Mapping[str, Json] | None = None,
        *,
        workflows: Mapping[str, Workflow] | None = None,
        before: Sequence[NodeRun] = (),
        sid: str = "",
    ) -> Play:
        value = workflow if isinstance(workflow, Workflow) else make(workflow)
        play = Play(sid=sid or new_sid(PLAY), workflow_sid="wf_1", version_sid="wv_1", inputs=dict(inputs or {}))
        return await self.engine.play(Graph(value), play, workflows=workflows, before=before, listener=self.events.append)

    def run_of(self, path: str, attempt: int | None = None) -> NodeRun:
        """The last attempt at a path, or the one asked for."""
        found = [run for run in self.journal.runs if run.node_id == path and attempt in (None, run.attempt)]
        assert found, f"{path} did not run; there are {[run.node_id for run in self.journal.runs]}"
        return found[-1]

    def status(self) -> dict[str, str]:
        """How the last attempt of every node ended."""
        return {run.node_id: run.status for run in self.journal.runs}


class Played(msgspec.Struct, frozen=True):
    """A play that is over."""

    play: Play
    stage: Stage

    @property
    def output(self) -> Any:
        assert self.play.status == "success", self.play.error
        return self.play.output

    @property
    def error(self) -> Any:
        assert self.play.error is not None, f"the play ended with {self.play.status}: {self.play.output}"
        return self.play.error

    def run_of(self, path: str, attempt: int | None = None) -> NodeRun:
        return self.stage.run_of(path, attempt)


def make(value: Mapping[str, Any]) -> Workflow:
    """A workflow from plain values; it needs no name here."""
    return workflow_from_value({"name": "w", **value})


def node(kind: str = "call", /, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


@contextlib.asynccontextmanager
async def on_stage(
    *,
    answers: Sequence[Script] = (),
    profiles: Mapping[str, Profile] | None = None,
    journal: MemoryJournal | None = None,
    clock: StillClock | None = None,
) -> AsyncIterator[Stage]:
    """Everything that a play needs; `answers` are what mock/default says."""
    known = {**BUILT_IN, "default": Profile(answers=tuple(answers), latency=INSTANT), **(profiles or {})}
    model = ListeningMock(known)
    async with LiveGateway(providers={"mock": model}, limits=Limits(), prices=PriceTable(mock_profiles=known)) as gateway:
        services = ProcessServices(gateway, Live(), isolation="process")
        if clock is not None:
            services.clock = clock
        book = journal or MemoryJournal()
        try:
            yield Stage(Engine(services, book), book, services, model, [])
        finally:
            await services.close()


def run(workflow: Mapping[str, Any] | Workflow, inputs: Mapping[str, Json] | None = None, **settings: Any) -> Played:
    """Play a workflow to its end."""
    playing = {name: settings.pop(name) for name in ("workflows", "before", "sid") if name in settings}

    async def once() -> Played:
        async with on_stage(**settings) as stage:
            return Played(await stage.play(workflow, inputs, **playing), stage)

    return asyncio.run(once())
