"""One play under way: what its nodes may ask of it, what is known of it, why it must stop."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

from flowgauge.errors import FlowgaugeError
from flowgauge.model.exchange import ModelRequest, ModelResponse
from flowgauge.model.play import Failure, NodeRun, Play, PlayEvent
from flowgauge.model.ports import Journal, Receipt
from flowgauge.model.workflow import Json, Workflow
from flowgauge.nodes.context import Context, Ready, Services, fail
from flowgauge.nodes.inputs import checked_inputs
from flowgauge.run.attempts import holds, skip, try_node
from flowgauge.run.graph import Graph, Vertex
from flowgauge.run.history import History
from flowgauge.run.model_calls import ModelCalls
from flowgauge.run.schedule import run_graph

Listener = Callable[[PlayEvent], None]
OnRun = Callable[[NodeRun], None]
EventKind = Literal["play_started", "node_started", "node_finished", "node_retry", "text", "play_finished"]
StopKind = Literal["timeout", "cancelled"]
MAX_DEPTH = 50
"""Workflows inside workflows: deeper than this is one that calls itself."""
MAX_OWED = 64
"""Writes that nobody waits for: with more, the oldest is waited for, so that a slow disk slows the play down."""


class Playing:
    """The handle that nodes are given (`nodes.context.PlayHandle`), and the engine's own books."""

    def __init__(
        self,
        play: Play,
        graph: Graph,
        *,
        services: Services,
        journal: Journal,
        workflows: Mapping[str, Workflow],
        before: Sequence[NodeRun] = (),
        listener: Listener | None = None,
        on_run: OnRun | None = None,
    ) -> None:
        self.play = play
        self.graph = graph
        self.services = services
        self.clock = services.clock
        self.journal = journal
        self.history = History(before)
        self.retries = self.history.retries
        self.isolation = play.isolation
        self.models = ModelCalls(services, self.history.usage, self._emit_text if listener else None)
        if play.warnings:
            self.models.warnings.update(dict.fromkeys(play.warnings))
        if graph.config.budget_usd is not None:
            self.models.limit("", graph.config.budget_usd, self.history.spent_usd())
        self._workflows = workflows
        self._resolved: dict[tuple[str, Vertex], Graph] = {}
        self._listener = listener
        self._on_run = on_run
        self.owed: deque[Receipt] = deque()
        """Writes that nobody has waited for yet."""
        self._stop: StopKind | None = None
        self._task: asyncio.Task[object] | None = None
        self.cancels = 0
        """How often the play's task was cancelled by `stop`."""

    # ── what nodes ask ──────────────────────────────────────────────────────

    def complete(self, request: ModelRequest, context: Context) -> Awaitable[ModelResponse]:
        """One call to a model: within the budget, through the tape, counted as a step."""
        return self.models.complete(request, context)

    async def run_body(self, context: Context, path: str, roots: Mapping[str, Json]) -> Json:
        """The node inside another, such as the one under a map's `each`."""
        vertex = _vertex(context).body
        assert vertex is not None
        scope = {**context.scope, **roots}
        if not holds(self, vertex, path, scope):
            await skip(self, vertex, path)
            return None
        return await try_node(self, vertex, path, scope)

    async def run_workflow(self, ready: Ready, inputs: Mapping[str, Json], path: str) -> Json:
        """A sub-workflow, its nodes stored under this play as `path/node`; its own time limit and budget hold."""
        assert isinstance(ready, Graph)
        if path.count("/") >= MAX_DEPTH:
            raise fail("sub_workflow", f"Workflows are nested {MAX_DEPTH} deep. Does '{ready.workflow.name}' call itself?")
        try:
            values = checked_inputs(ready.workflow, inputs)
        except FlowgaugeError as error:
            raise fail("sub_workflow", str(error)) from error
        prefix = f"{path}/"
        if ready.config.budget_usd is not None:
            self.models.limit(prefix, ready.config.budget_usd, self.history.spent_usd(prefix))
        limit = asyncio.timeout(ready.config.timeout_s)
        try:
            async with limit:
                return await run_graph(self, ready, values, prefix)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise fail("timeout", f"Workflow '{ready.workflow.name}' took longer than its timeout_s {ready.config.timeout_s:g}.") from error

    def resolve(self, reference: str, context: Context) -> Graph:
        """A stored workflow, as pinned when the play started; made ready once for each node that names it."""
        vertex = _vertex(context)
        graph = self._resolved.get((reference, vertex))
        if graph is None:
            workflow = self._workflows.get(reference)
            if workflow is None:
                raise fail("sub_workflow", f"There is no stored workflow '{reference}'. Save it first: flowgauge workflow save FILE")
            graph = self._resolved[reference, vertex] = Graph(workflow, vertex.config, vertex.over)
        return graph

    def note_isolation(self, tier: str) -> None:
        """Which tier a python node ran in."""
        self.isolation = tier

    # ── the engine's books ──────────────────────────────────────────────────

    def record(self, run: NodeRun) -> Receipt:
        """Hand an attempt to the journal; the answer is done when it is on disk."""
        if run.attempt > 1:
            self.retries += 1
        receipt = self.journal.node_finished(self.play.sid, run)
        if self._on_run is not None:
            self._on_run(run)
        if self._listener is not None:
            self._emit("node_finished", run.node_id, run=run)
        return receipt

    def owe(self, receipt: Receipt) -> Receipt | None:
        """Remember a write that nobody waits for; the oldest of too many, to be waited for."""
        if self.owed and self.owed[-1] is receipt:
            return None
        self.owed.append(receipt)
        return self.owed.popleft() if len(self.owed) > MAX_OWED else None

    async def pay(self) -> None:
        """Every write that was owed is on disk, or its error is raised."""
        while self.owed:
            await self.owed.popleft()

    def started(self, path: str, attempt: int) -> None:
        """Tell followers that an attempt begins."""
        if self._listener is not None:
            self._emit("node_started" if attempt == 1 else "node_retry", path)

    def jitter(self) -> float:
        """Between a half and one, so that those who failed together do not return together."""
        return 0.5 + random.random() / 2

    # ── stopping ────────────────────────────────────────────────────────────

    def stop(self, kind: StopKind) -> None:
        """End the play now, from outside; the first reason stands."""
        self._stop = self._stop or kind
        if self._task is not None:
            self.cancels += 1
            self._task.cancel()

    def attach(self, task: asyncio.Task[object] | None) -> None:
        """The task that `stop` cancels."""
        self._task = task

    @property
    def stopped(self) -> bool:
        """Was the end asked for?"""
        return self._stop is not None

    def stop_failure(self) -> Failure:
        """Why running nodes are being cancelled."""
        if self._stop is None:
            return Failure(kind="cancelled", message="Cut off together with what it was part of.")
        if self._stop == "cancelled":
            return Failure(kind="cancelled", message="The play was cancelled.")
        return Failure(kind="timeout", message=f"The play took longer than timeout_s {self.graph.config.timeout_s:g}.")

    # ── events ──────────────────────────────────────────────────────────────

    def play_event(self, kind: Literal["play_started", "play_finished"], play: Play) -> None:
        """Tell followers that it begins, or that it is over."""
        if self._listener is not None:
            self._emit(kind, play=play)

    def _emit(self, kind: EventKind, node_id: str = "", *, run: NodeRun | None = None, play: Play | None = None, text: str = "") -> None:
        assert self._listener is not None
        now = self.clock.now_ms()
        self._listener(PlayEvent(kind=kind, play_sid=self.play.sid, at=now, node_id=node_id, run=run, play=play, text=text))

    def _emit_text(self, node_id: str, text: str) -> None:
        self._emit("text", node_id, text=text)


def _vertex(context: Context) -> Vertex:
    assert isinstance(context.parts, Vertex)
    return context.parts
