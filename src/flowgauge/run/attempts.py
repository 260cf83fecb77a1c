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

from flowgauge.errors import BudgetExhausted, Failed, FlowgaugeError, StoreFailure
from flowgauge.model.play import Failure, NodeRun, NodeStatus
from flowgauge.model.workflow import FailureKind, Json, Retry
from flowgauge.nodes.context import Context, fail
from flowgauge.run.graph import Vertex
from flowgauge.run.history import NEVER
from flowgauge.run.repair import recall_repair, repair

if TYPE_CHECKING:
    from flowgauge.run.playing import Playing

_STATUS: dict[FailureKind, NodeStatus] = {"timeout": "timeout", "cancelled": "cancelled", "budget_exceeded": "budget_exceeded"}
_DETAIL_CHARS = 4000


async def try_node(playing: Playing, vertex: Vertex, path: str, scope: Mapping[str, Json]) -> Json:
    """The node's output, stored where others wait for it. Raises Failed when no attempt is left."""
    history = playing.history
    if path in history.done:
        return history.done[path]
    past = history.past.get(path, NEVER)
    last = past.attempt + max(1, vertex.retry.max + 1 - past.failures)
    memory: dict[str, Any] = {}
    if past.failure is not None and vertex.helper is not None:
        await recall_repair(playing, vertex, path, scope, memory, past)
    backoff_ms = 0.0
    for attempt in range(past.attempt + 1, last + 1):
        run = await _attempt(playing, vertex, path, scope, memory, attempt, backoff_ms)
        receipt = playing.record(run)
        if vertex.dependents:
            await receipt
        elif (oldest := playing.owe(receipt)) is not None:
            await oldest
        failure = run.error
        if failure is None:
            if path != vertex.id:
                history.done[path] = run.output
            return run.output
        past = history.past[path] = past.after(run)
        if attempt == last or playing.stopped or failure.kind not in vertex.retry.on or _refused(failure):
            break
        backoff_ms = await _back_off(playing, vertex.retry, attempt, failure)
        if vertex.helper is not None:
            await repair(playing, vertex, path, scope, memory, attempt, failure)
    assert failure is not None
    raise Failed(failure)


def holds(playing: Playing, vertex: Vertex, path: str, scope: Mapping[str, Json]) -> bool:
    """Does the node's own condition let it run? A condition that cannot be evaluated is the node's failure."""
    if vertex.when is None or path in playing.history.done:
        return True
    try:
        return vertex.when.evaluate(scope)
    except Failed as error:
        failure = msgspec.structs.replace(error.failure, node_id=path, message=f"when: {error.failure.message}")
        attempt = playing.history.past.get(path, NEVER).attempt + 1
        now = playing.clock.now_ms()
        run = NodeRun(node_id=path, attempt=attempt, status="failed", started_at=now, duration_ms=0.0, error=failure)
        playing.owe(playing.record(run))
        raise Failed(failure) from error


async def skip(playing: Playing, vertex: Vertex, path: str) -> None:
    """Record that a node did not run; why is in the graph."""
    if path in playing.history.skipped:
        return
    receipt = playing.record(NodeRun(node_id=path, status="skipped", started_at=playing.clock.now_ms(), duration_ms=0.0))
    if vertex.dependents:
        await receipt
    elif (oldest := playing.owe(receipt)) is not None:
        await oldest


async def _attempt(
    playing: Playing, vertex: Vertex, path: str, scope: Mapping[str, Json], memory: dict[str, Any], attempt: int, backoff_ms: float
) -> NodeRun:
    clock = playing.clock
    context = Context(
        node_id=path, play=playing, parts=vertex, config=vertex.config, scope=scope, memory=memory, timeout_s=vertex.timeout_s
    )
    playing.started(path, attempt)
    started_at, begun = clock.now_ms(), clock.tick_ms()
    output: Json = None
    failure: Failure | None = None
    try:
        fields = {name: value.render(scope) for name, value in vertex.fields}
        if vertex.timeout_s is None:
            output = await vertex.kind.run(vertex.node, fields, context)
        else:
            output = await _in_time(vertex, vertex.timeout_s, fields, context)
    except StoreFailure:
        raise  # the journal of a node inside this one: there is nowhere to write this one's failure either
    except asyncio.CancelledError as error:
        if _is_real():
            elapsed_ms = clock.tick_ms() - begun
            playing.owe(playing.record(_run(path, attempt, started_at, elapsed_ms, backoff_ms, context, None, playing.stop_failure())))
            raise
        failure = Failure(kind="code_error", message="The node's own code was cancelled from inside.", detail=_tail(error))
    except Exception as error:  # noqa: BLE001 - a fault of ours must not lose the play: it is this node's failure, with its traceback
        failure = _failure_of(error)
    return _run(path, attempt, started_at, clock.tick_ms() - begun, backoff_ms, context, output, failure)


async def _in_time(vertex: Vertex, timeout_s: float, fields: Mapping[str, Json], context: Context) -> Json:
    """The output, if it comes in time. An answer that came although the node was told to stop is late all the same."""
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            output = await vertex.kind.run(vertex.node, fields, context)
    except Exception as error:
        if not limit.expired():
            raise
        raise _late(timeout_s) from error
    if limit.expired():
        raise _late(timeout_s)
    return output


def _late(timeout_s: float) -> Failed:
    return fail("timeout", f"The attempt took longer than timeout_s {timeout_s:g}.")


def _is_real() -> bool:
    """Was this task asked to stop, or did a CancelledError come out of the node's own code?"""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failure_of(error: Exception) -> Failure:
    if isinstance(error, Failed):
        return error.failure
    if isinstance(error, BudgetExhausted):
        return Failure(kind="budget_exceeded", message=str(error))
    if isinstance(error, FlowgaugeError):
        return Failure(kind="tool_error", message=str(error))
    return Failure(kind="internal", message=f"{type(error).__name__}: {error}", detail=_tail(error))


def _tail(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-_DETAIL_CHARS:]


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


LONGEST_WAIT_S = 600.0
"""A server that asks for a longer wait has refused."""


def _refused(failure: Failure) -> bool:
    return (failure.retry_after_s or 0.0) > LONGEST_WAIT_S


async def _back_off(playing: Playing, retry: Retry, attempt: int, failure: Failure) -> float:
    """Wait before the next attempt; how long, in ms. What the server asks for is the least."""
    wait_s = min(retry.max_backoff_s, retry.backoff_s * 2 ** min(attempt - 1, 30)) * playing.jitter()
    wait_s = max(wait_s, failure.retry_after_s or 0.0)
    begun = playing.clock.tick_ms()
    await playing.clock.sleep(wait_s)
    return playing.clock.tick_ms() - begun
