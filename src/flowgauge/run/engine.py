"""The engine: a graph and a pending play in, a finished play out, everything stored on the way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from flowgauge.errors import Conflict, Failed
from flowgauge.model.play import Failure, NodeRun, Play, PlayStatus
from flowgauge.model.ports import Journal, Receipt
from flowgauge.model.workflow import FailureKind, Json, Workflow
from flowgauge.nodes.context import Services
from flowgauge.run.graph import Graph
from flowgauge.run.playing import Listener, OnRun, Playing
from flowgauge.run.schedule import run_graph

Later = Callable[[Iterable[Receipt]], None]
"""Is handed the writes that a play would wait for."""
_STATUS: dict[FailureKind, PlayStatus] = {"timeout": "timeout", "cancelled": "cancelled", "budget_exceeded": "budget_exceeded"}


class Engine:
    """Runs plays in this process. Many at once: nothing is shared between them but the services."""

    def __init__(self, services: Services, journal: Journal) -> None:
        self._services = services
        self._journal = journal
        self._running: dict[str, Playing] = {}

    async def play(
        self,
        graph: Graph,
        play: Play,
        *,
        workflows: Mapping[str, Workflow] | None = None,
        before: Sequence[NodeRun] = (),
        listener: Listener | None = None,
        on_run: OnRun | None = None,
        later: Later | None = None,
    ) -> Play:
        """Run to the end. `before` is what an earlier run of this play has stored. With `later` it does not wait for its end to be stored.

        `on_run` is handed every attempt as it ends; a `listener` is told that and more.
        A caller that is cancelled itself leaves the play unfinished, to be taken up again; use `cancel` to end it.
        """
        if play.sid in self._running:
            raise Conflict(f"Play {play.sid} is running here already.", remedy="Let it end, or cancel it.")
        playing = Playing(
            play,
            graph,
            services=self._services,
            journal=self._journal,
            workflows=workflows or {},
            before=before,
            listener=listener,
            on_run=on_run,
        )
        clock = self._services.clock
        began = clock.tick_ms()
        running = msgspec.structs.replace(play, status="running", started_at=play.started_at or clock.now_ms())
        self._running[play.sid] = playing
        try:
            playing.owe(self._journal.play_started(running))
            playing.play_event("play_started", running)
            output, failure = await self._run(playing)
            finished = _finished(running, playing, output, failure, play.duration_ms + clock.tick_ms() - began, self._services)
            end = self._journal.play_finished(finished)
            if later is None:
                await end
                await playing.pay()
            else:
                later((*playing.owed, end))
        finally:
            del self._running[play.sid]
        playing.play_event("play_finished", finished)
        return finished

    def cancel(self, play_sid: str) -> bool:
        """Stop a play that runs here; False where none of that sid does."""
        playing = self._running.get(play_sid)
        if playing is not None:
            playing.stop("cancelled")
        return playing is not None

    @property
    def running(self) -> tuple[str, ...]:
        """The plays under way here."""
        return tuple(self._running)

    async def _run(self, playing: Playing) -> tuple[Json, Failure | None]:
        limit = playing.graph.config.timeout_s
        task = asyncio.current_task()
        assert task is not None
        others = task.cancelling()
        playing.attach(task)
        timer = asyncio.get_running_loop().call_later(limit, playing.stop, "timeout") if limit else None
        output, failure = None, None
        try:
            output = await run_graph(playing, playing.graph, playing.play.inputs, "")
        except Failed as error:
            failure = error.failure
        except asyncio.CancelledError:
            if not playing.stopped:
                raise
        finally:
            playing.attach(None)
            if timer is not None:
                timer.cancel()
        if playing.stopped:
            await _absorb(task, playing.cancels, others)
            return None, playing.stop_failure()
        return output, failure


async def _absorb(task: asyncio.Task[object], own: int, others: int) -> None:
    """Take back the cancellations that a stop made, met or not; one that somebody else asked for stands."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
    for _ in range(own):
        task.uncancel()
    if task.cancelling() > others:
        raise asyncio.CancelledError


def _finished(running: Play, playing: Playing, output: Json, failure: Failure | None, duration_ms: float, services: Services) -> Play:
    usage = playing.models.usage
    status: PlayStatus = "success" if failure is None else _STATUS.get(failure.kind, "failed")
    return msgspec.structs.replace(
        running,
        status=status,
        output=output,
        duration_ms=duration_ms,
        retries=playing.retries,
        tokens_prompt=usage.tokens_prompt,
        tokens_completion=usage.tokens_completion,
        cost_usd=usage.cost_usd,
        cost_source=usage.cost_source,
        price_table=services.gateway.price_table if usage.cost_source in ("computed", "unpriced") else "",
        isolation=playing.isolation,
        error=failure,
        warnings=tuple(playing.models.warnings),
    )
