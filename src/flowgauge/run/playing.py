"""One play under way: what its nodes may ask of it, what it has spent, why it must stop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from flowgauge.errors import Failed, FlowgaugeError
from flowgauge.model.exchange import ModelRequest, ModelResponse
from flowgauge.model.play import Failure, NodeRun, Play, PlayEvent, Step, Usage
from flowgauge.model.ports import Journal
from flowgauge.model.workflow import FailureKind, Json, Node, Workflow
from flowgauge.nodes.context import Context, Services, fail
from flowgauge.nodes.inputs import checked_inputs
from flowgauge.run.attempts import holds, skip, try_node
from flowgauge.run.budget import Budget
from flowgauge.run.graph import Graph, Vertex
from flowgauge.run.schedule import run_graph

Listener = Callable[[PlayEvent], None]
_PLACE = ("base_url", "api_key_env", "timeout_s")
"""Where and how long: no part of what was asked, so no part of a recording's key."""


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
    ) -> None:
        self.play = play
        self.graph = graph
        self.services = services
        self.clock = services.clock
        self.journal = journal
        self.done = {run.node_id: run for run in before if run.status in ("success", "skipped")}
        self.attempts = _attempts(before)
        self.budget = Budget(graph.config.budget_usd, _spent(before))
        self.retries = sum(run.attempt > 1 for run in before)
        self.isolation = play.isolation
        self.warnings: dict[str, None] = dict.fromkeys(play.warnings)
        self._workflows = workflows
        self._graphs: dict[int, Graph] = {}
        self._bodies: dict[int, Vertex] = {}
        self._listener = listener
        self._stop: FailureKind | None = None
        self._task: asyncio.Task[object] | None = None

    # ── what nodes ask ──────────────────────────────────────────────────────

    async def complete(self, request: ModelRequest, context: Context) -> ModelResponse:
        """One call to a model: within the budget, through the tape, counted as a step."""
        estimate = self._estimate(request)
        self.budget.reserve(estimate)
        started_at, begun = self.clock.now_ms(), self.clock.tick_ms()
        usage, response, error = Usage(), None, ""
        on_text = (lambda text: self._emit_text(context.node_id, text)) if self._listener and request.stream else None
        try:
            response = await self.services.tape.exchange(
                "model", _key(request), lambda: self.services.gateway.complete(request, on_text=on_text), ModelResponse
            )
            usage = response.usage
        except Failed as failed:
            error = failed.failure.message
            raise
        finally:
            self.budget.settle(estimate, usage)
            context.steps.append(
                Step(
                    kind="model",
                    name=request.name,
                    started_at=started_at,
                    duration_ms=response.duration_ms if response else self.clock.tick_ms() - begun,
                    usage=usage,
                    first_token_ms=response.first_token_ms if response else None,
                    queue_ms=response.queue_ms if response else 0.0,
                    request=_shown(request),
                    response={"text": response.text, "tool_calls": response.tool_calls, "finish": response.finish} if response else None,
                    error=error,
                )
            )
        return response

    async def run_body(self, node: Node, path: str, context: Context, roots: Mapping[str, Json]) -> Json:
        """A node inside another, such as the one under a map's `each`."""
        vertex = self._bodies.get(id(node))
        if vertex is None:
            vertex = self._bodies[id(node)] = Vertex(node, context.config, (), ())
        scope = {**context.scope, **roots}
        if not holds(self, vertex, path, scope):
            await skip(self, vertex, path)
            return None
        return await try_node(self, self.graph, vertex, path, scope)

    async def run_workflow(self, workflow: Workflow, inputs: Mapping[str, Json], path: str) -> Json:
        """A sub-workflow, its nodes stored under this play as `path/node`."""
        graph = self._graphs.get(id(workflow))
        if graph is None:
            graph = self._graphs[id(workflow)] = Graph(workflow)
        try:
            values = checked_inputs(workflow, inputs)
        except FlowgaugeError as error:
            raise fail("sub_workflow", str(error)) from error
        return await run_graph(self, graph, values, f"{path}/")

    def resolve(self, reference: str) -> Workflow:
        """A stored workflow, as pinned when the play started."""
        workflow = self._workflows.get(reference)
        if workflow is None:
            raise fail("sub_workflow", f"There is no stored workflow '{reference}'. Save it first: flowgauge workflow save FILE")
        return workflow

    def note_isolation(self, tier: str) -> None:
        """Which tier a python node ran in."""
        self.isolation = tier

    # ── the engine's books ──────────────────────────────────────────────────

    def record(self, run: NodeRun) -> Awaitable[None]:
        """Hand an attempt to the journal; the answer is done when it is on disk."""
        if run.attempt > 1:
            self.retries += 1
        stored = self.journal.node_finished(self.play.sid, run)
        if self._listener is not None:
            self._emit("node_finished", run.node_id, run=run)
        return stored

    def started(self, path: str, attempt: int) -> None:
        """Tell followers that an attempt begins."""
        if self._listener is not None:
            self._emit("node_started" if attempt == 1 else "node_retry", path)

    def jitter(self) -> float:
        """Between a half and one, so that those who failed together do not return together."""
        return 0.5 + random.random() / 2

    def stop(self, kind: FailureKind) -> None:
        """End the play now, from outside; the first reason stands."""
        self._stop = self._stop or kind
        if self._task is not None:
            self._task.cancel()

    def attach(self, task: asyncio.Task[object] | None) -> None:
        """The task that `stop` cancels."""
        self._task = task

    @property
    def stopped(self) -> bool:
        """Was the end asked for?"""
        return self._stop is not None

    def stop_kind(self) -> FailureKind:
        """Why running nodes are being cancelled."""
        return self._stop or "cancelled"

    def stop_failure(self, kind: FailureKind) -> Failure:
        """The same, in words."""
        limit = self.graph.config.timeout_s
        words = f"The play took longer than timeout_s {limit:g}." if kind == "timeout" and limit else "The play was cancelled."
        return Failure(kind=kind, message=words)

    def finish_event(self, play: Play) -> None:
        """Tell followers that it is over."""
        if self._listener is not None:
            self._emit("play_finished", play=play)

    def start_event(self, play: Play) -> None:
        """Tell followers that it begins."""
        if self._listener is not None:
            self._emit("play_started", play=play)

    def _emit(self, kind: str, node_id: str = "", *, run: NodeRun | None = None, play: Play | None = None, text: str = "") -> None:
        assert self._listener is not None
        event = PlayEvent(
            kind=kind,  # type: ignore[arg-type]
            play_sid=self.play.sid,
            at=self.clock.now_ms(),
            node_id=node_id,
            run=run,
            play=play,
            text=text,
        )
        self._listener(event)

    def _emit_text(self, node_id: str, text: str) -> None:
        self._emit("text", node_id, text=text)

    def _estimate(self, request: ModelRequest) -> float:
        if not self.budget.limited:
            return 0.0
        estimate = self.services.gateway.estimate_usd(request)
        if estimate is None:
            self.warnings[f"{request.name} has no known price: budget_usd does not bound its calls."] = None
        return estimate or 0.0


def _key(request: ModelRequest) -> Json:
    values = msgspec.to_builtins(request)
    return {name: value for name, value in values.items() if name not in _PLACE}


def _shown(request: ModelRequest) -> Json:
    """What is worth keeping of a request: the newest message and how many came before."""
    last = request.messages[-1]
    shown: dict[str, Json] = {"messages": len(request.messages), "last": {"role": last.role, "text": last.text}}
    if len(request.messages) <= 2:
        shown["system"] = request.messages[0].text if request.messages[0].role == "system" else ""
    return shown


def _attempts(before: Sequence[NodeRun]) -> dict[str, int]:
    most: dict[str, int] = {}
    for run in before:
        most[run.node_id] = max(run.attempt, most.get(run.node_id, 0))
    return most


def _spent(before: Sequence[NodeRun]) -> Usage:
    total = Usage()
    for run in before:
        own = Usage(
            tokens_prompt=run.tokens_prompt, tokens_completion=run.tokens_completion, cost_usd=run.cost_usd, cost_source=run.cost_source
        )
        total = total.plus(own)
    return total
