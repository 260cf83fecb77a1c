"""One node from its first attempt to its last: time-out, retry, repair, record.

Every attempt becomes a NodeRun, failed ones included. What an earlier run of
the same play has stored is not run again.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.play import Failure, NodeRun, NodeStatus
from flowgauge.model.workflow import FailureKind, Json, Retry
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.output import fenced_code
from flowgauge.run.graph import Graph, Vertex

if TYPE_CHECKING:
    from flowgauge.run.playing import Playing

_STATUS: dict[FailureKind, NodeStatus] = {"timeout": "timeout", "cancelled": "cancelled", "budget_exceeded": "budget_exceeded"}


async def try_node(playing: Playing, graph: Graph, vertex: Vertex, path: str, scope: Mapping[str, Json]) -> Json:
    """The node's output, stored. Raises Failed when no attempt is left."""
    done = playing.done.get(path)
    if done is not None:
        return done.output
    first = playing.attempts.get(path, 0) + 1
    last = max(first, vertex.retry.max + 1)
    memory: dict[str, Any] = {}
    backoff_ms = 0.0
    for attempt in range(first, last + 1):
        run = await _attempt(playing, vertex, path, scope, memory, attempt, backoff_ms)
        stored = playing.record(run)
        failure = run.error
        if failure is None:
            if vertex.dependents:
                await stored
            return run.output
        if attempt == last or failure.kind not in vertex.retry.on:
            break
        backoff_ms = await _back_off(playing, vertex.retry, attempt, failure)
        if vertex.retry.repair and "failing_code" in memory:
            await _repair(playing, graph, vertex, path, scope, memory, attempt, failure)
    assert failure is not None
    raise Failed(failure)


def holds(playing: Playing, vertex: Vertex, path: str, scope: Mapping[str, Json]) -> bool:
    """Does the node's own condition let it run? A condition that cannot be evaluated is the node's failure."""
    if vertex.when is None or path in playing.done:
        return True
    try:
        return vertex.when.evaluate(scope)
    except Failed as error:
        failure = msgspec.structs.replace(error.failure, node_id=path, message=f"when: {error.failure.message}")
        playing.record(NodeRun(node_id=path, status="failed", started_at=playing.clock.now_ms(), duration_ms=0.0, error=failure))
        raise Failed(failure) from error


async def skip(playing: Playing, vertex: Vertex, path: str) -> None:
    """Record that a node did not run, and why is in the graph."""
    if path not in playing.done:
        stored = playing.record(NodeRun(node_id=path, status="skipped", started_at=playing.clock.now_ms(), duration_ms=0.0))
        if vertex.dependents:
            await stored


async def _attempt(
    playing: Playing, vertex: Vertex, path: str, scope: Mapping[str, Json], memory: dict[str, Any], attempt: int, backoff_ms: float
) -> NodeRun:
    clock = playing.clock
    context = Context(node_id=path, play=playing, config=vertex.config, scope=scope, memory=memory, timeout_s=vertex.timeout_s)
    playing.started(path, attempt)
    started_at, begun = clock.now_ms(), clock.tick_ms()
    output: Json = None
    failure: Failure | None = None
    try:
        fields = {name: value.render(scope) for name, value in vertex.fields}
        if vertex.timeout_s is None:
            output = await vertex.kind.run(vertex.node, fields, context)
        else:
            async with asyncio.timeout(vertex.timeout_s):
                output = await vertex.kind.run(vertex.node, fields, context)
    except Failed as error:
        failure = error.failure
    except TimeoutError:
        failure = Failure(kind="timeout", message=f"The attempt took longer than timeout_s {vertex.timeout_s:g}.")
    except asyncio.CancelledError:
        kind = playing.stop_kind()
        playing.record(_run(path, attempt, started_at, clock.tick_ms() - begun, backoff_ms, context, None, playing.stop_failure(kind)))
        raise
    except Exception as error:  # noqa: BLE001 - a fault of ours must not lose the play: it is this node's failure, with its traceback
        tail = "".join(traceback.format_exception(error))[-4000:]
        failure = Failure(kind="internal", message=f"{type(error).__name__}: {error}", detail=tail)
    return _run(path, attempt, started_at, clock.tick_ms() - begun, backoff_ms, context, output, failure)


def _run(
    path: str,
    attempt: int,
    started_at: int,
    elapsed_ms: float,
    backoff_ms: float,
    context: Context,
    output: Json,
    failure: Failure | None,
) -> NodeRun:
    status: NodeStatus = "success" if failure is None else _STATUS.get(failure.kind, "failed")
    if failure is not None and not failure.node_id:
        failure = msgspec.structs.replace(failure, node_id=path)
    if not context.steps:
        return NodeRun(
            node_id=path,
            attempt=attempt,
            status=status,
            started_at=started_at,
            duration_ms=elapsed_ms,
            backoff_ms=backoff_ms,
            output=output,
            error=failure,
        )
    steps = context.steps
    usage = context.usage()
    queue_ms = sum(step.queue_ms for step in steps)
    return NodeRun(
        node_id=path,
        attempt=attempt,
        status=status,
        started_at=started_at,
        duration_ms=max(0.0, elapsed_ms - queue_ms),
        queue_ms=queue_ms,
        backoff_ms=backoff_ms,
        first_token_ms=next((step.first_token_ms for step in steps if step.first_token_ms is not None), None),
        model=next((step.name for step in steps if step.kind == "model"), ""),
        tokens_prompt=usage.tokens_prompt,
        tokens_completion=usage.tokens_completion,
        cost_usd=usage.cost_usd,
        cost_source=usage.cost_source,
        output=output,
        error=failure,
        steps=tuple(steps),
    )


async def _back_off(playing: Playing, retry: Retry, attempt: int, failure: Failure) -> float:
    """Wait before the next attempt; how long, in ms. What the server asks for is the least."""
    wait_s = min(retry.max_backoff_s, retry.backoff_s * 2 ** (attempt - 1)) * playing.jitter()
    wait_s = max(wait_s, failure.retry_after_s or 0.0)
    begun = playing.clock.tick_ms()
    await playing.clock.sleep(wait_s)
    return playing.clock.tick_ms() - begun


async def _repair(
    playing: Playing,
    graph: Graph,
    vertex: Vertex,
    path: str,
    scope: Mapping[str, Json],
    memory: dict[str, Any],
    attempt: int,
    failure: Failure,
) -> None:
    """Ask the node on call for better code; it is a node run of its own: `id/repair[1]`."""
    helper = graph.vertices[vertex.retry.repair]
    error = f"{failure.message}\n{failure.detail}".strip()
    wider = {**scope, "repair": {"code": memory["failing_code"], "error": error}}
    output = await try_node(playing, graph, helper, f"{path}/repair[{attempt}]", wider)
    code = fenced_code(str(output["text"]))
    if not code.strip():
        raise fail("invalid_output", f"The repair node {helper.id} answered without code.")
    memory["repaired_code"] = code
