"""Runs a graph: every node as soon as what it needs is done, several at once.

A node that is ready goes on in the task that made it ready; only further ones
get a task of their own. A node starts when all that it needs is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.play import Failure
from flowgauge.model.workflow import Json
from flowgauge.nodes.branch import BranchNode
from flowgauge.nodes.together import first_error
from flowgauge.run.attempts import holds, skip, try_node
from flowgauge.run.graph import Graph, Vertex

if TYPE_CHECKING:
    from flowgauge.run.playing import Playing


def run_graph(playing: Playing, graph: Graph, inputs: Mapping[str, Json], prefix: str) -> Awaitable[Json]:
    """The graph's output. Raises Failed with the first failure, when all that could run has run."""
    return _GraphRun(playing, graph, inputs, prefix).run()


class _GraphRun:
    __slots__ = (
        "_broken",
        "_dropped",
        "_failure",
        "_graph",
        "_group",
        "_outputs",
        "_playing",
        "_prefix",
        "_scope",
        "_skipped",
        "_slots",
        "_waiting",
    )

    def __init__(self, playing: Playing, graph: Graph, inputs: Mapping[str, Json], prefix: str) -> None:
        self._playing = playing
        self._graph = graph
        self._prefix = prefix
        self._outputs: dict[str, Json] = {}
        self._scope: dict[str, Json] = {"inputs": inputs, "nodes": self._outputs, "config": graph.config_values}
        self._waiting = dict(graph.needed)
        self._skipped: set[str] = set()
        self._broken: set[str] = set()
        """Nodes that failed, and nodes that could not run because of them."""
        self._dropped: set[str] = set()
        """Nodes that a branch did not choose."""
        self._failure: Failure | None = None
        most = graph.config.max_concurrent_nodes
        self._slots = asyncio.Semaphore(most) if most else None
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> Json:
        roots = self._graph.roots
        if len(self._graph.vertices) == 1:
            await self._one(roots[0])
        else:
            await self._all(roots)
        if self._failure is not None:
            raise Failed(self._failure)
        return self._answer()

    def _answer(self) -> Json:
        if self._graph.output is None:
            return dict(self._outputs)
        try:
            return self._graph.output.render(self._scope)
        except Failed as error:
            raise Failed(msgspec.structs.replace(error.failure, message=f"output: {error.failure.message}")) from error

    async def _all(self, roots: tuple[Vertex, ...]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for root in roots:
                    group.create_task(self._chain(root))
        except BaseExceptionGroup as several:
            raise first_error(several) from None

    async def _chain(self, vertex: Vertex) -> None:
        following: Vertex | None = vertex
        while following is not None:
            await self._one(following)
            ready = self._release(following)
            following = ready[0] if ready else None
            for other in ready[1:]:
                assert self._group is not None
                self._group.create_task(self._chain(other))

    async def _one(self, vertex: Vertex) -> None:
        if self._playing.stopped or (self._failure is not None and self._graph.config.on_node_failure != "continue"):
            return
        path = f"{self._prefix}{vertex.id}"
        try:
            if self._is_skipped(vertex, path):
                self._skipped.add(vertex.id)
                self._outputs[vertex.id] = None
                self._drop(vertex, ())
                await skip(self._playing, vertex, path)
            elif self._slots is None:
                await self._run(vertex, path)
            else:
                async with self._slots:
                    await self._run(vertex, path)
        except Failed as error:
            self._failure = self._failure or error.failure
            self._broken.add(vertex.id)
            self._outputs[vertex.id] = None

    async def _run(self, vertex: Vertex, path: str) -> None:
        output = await try_node(self._playing, vertex, path, self._scope)
        self._outputs[vertex.id] = output
        if isinstance(vertex.node, BranchNode):
            self._drop(vertex, output["chosen"])

    def _drop(self, vertex: Vertex, chosen: Iterable[str]) -> None:
        """A branch leaves out what it did not choose; one that is skipped itself chooses nothing."""
        if isinstance(vertex.node, BranchNode):
            self._dropped |= vertex.node.targets().difference(chosen)

    def _is_skipped(self, vertex: Vertex, path: str) -> bool:
        """Not chosen by a branch, or in need of what failed or did not run at all, or its condition does not hold."""
        if path in self._playing.history.done:
            return False
        if self._broken and not self._broken.isdisjoint(vertex.needs):
            self._broken.add(vertex.id)
            return True
        if vertex.id in self._dropped or (vertex.needs and self._skipped.issuperset(vertex.needs)):
            return True
        return not holds(self._playing, vertex, path, self._scope)

    def _release(self, vertex: Vertex) -> list[Vertex]:
        ready = []
        for node_id in vertex.dependents:
            self._waiting[node_id] -= 1
            if self._waiting[node_id] == 0 and node_id not in self._graph.on_call:
                ready.append(self._graph.vertices[node_id])
        return ready
