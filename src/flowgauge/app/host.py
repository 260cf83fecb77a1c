"""The host: a process that lives on, runs plays and benches in the background, and tells what happens.

async with open_host(db) as host:
    play = await host.start_play(version, inputs)      # running or queued; on disk when this returns
    answer = await host.call("play_get", {"sid": play.sid})

It takes up what dead owners left, when it starts and from then on. When it
stops it lets go of what is unfinished, for the next host or another one. Two
hosts on one store never run the same play or bench: the store's leases decide.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from flowgauge.app.host_benches import BackgroundBenches, Progress
from flowgauge.app.host_events import EventLog, Hub, MemoryLog, data_of
from flowgauge.app.host_plays import BackgroundPlays
from flowgauge.app.plays import cancel_play, make_ready
from flowgauge.app.recovery import Recovered, Recovery
from flowgauge.app.schedule_runs import ScheduleRuns
from flowgauge.app.services import Isolation
from flowgauge.app.struct_types import ready_structs
from flowgauge.app.workspace import Workspace, open_workspace
from flowgauge.errors import Conflict, StoreFailure
from flowgauge.model.play import FINISHED, PlayEvent
from flowgauge.model.service import Event, Running, Scope
from flowgauge.model.workflow import Json, WorkflowVersion

if TYPE_CHECKING:
    from flowgauge.app.bench import BenchOutcome, BenchRequest
    from flowgauge.model.bench import BenchRecord
    from flowgauge.model.play import Play
    from flowgauge.store.store import Store

log = logging.getLogger(__name__)
MAX_PLAYS, MAX_BENCHES = 100, 4
LOOK_S = 1.0
"""How often a host looks for what dead owners left, and for requests to cancel what waits here."""
STOP_S = 3.0
"""How long running plays may still take once the host is told to stop."""


class ForNodes:
    """`model.ports.Operations` of a host: what `operation` nodes may call. Who can save a workflow must not get to do more by it."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def call(self, name: str, arguments: Mapping[str, Json]) -> Any:
        """Raises NotAllowed for what only an admin may."""
        return await self._host.call(name, arguments, scope="run")


class Host:
    """What operations are handed."""

    def __init__(
        self, workspace: Workspace, *, log: EventLog | None = None, max_plays: int = MAX_PLAYS, max_benches: int = MAX_BENCHES
    ) -> None:
        ready_structs()
        self.workspace = workspace
        self.hub = Hub(log or MemoryLog())
        self.stopping = False
        self.plays = BackgroundPlays(workspace, self._play_event, max_plays)
        self.benches = BackgroundBenches(workspace, self._bench_event, max_benches)
        self.recovery = Recovery(workspace, self.plays, self.benches)
        self.schedules = ScheduleRuns(self)
        workspace.services.operations = self.for_nodes = ForNodes(self)

    @property
    def store(self) -> Store:
        """The store; called through `asyncio.to_thread`."""
        return self.workspace.store

    async def call(self, name: str, arguments: Mapping[str, Json], *, scope: Scope = "admin") -> Any:
        """An operation by name, plain values in and out. Raises NotFound, BadParameter, NotAllowed, or what the operation raises."""
        from flowgauge.app.operations.calling import call

        return await call(self, name, arguments, scope=scope)

    def running(self) -> Running:
        """What is under way here."""
        return Running(
            plays=self.plays.running,
            plays_queued=self.plays.queued,
            benches=self.benches.running,
            benches_queued=self.benches.queued,
        )

    # ── plays ───────────────────────────────────────────────────────────────

    async def start_play(
        self, version: WorkflowVersion, inputs: Mapping[str, Json], *, config: dict[str, Any] | None = None, name: str = ""
    ) -> Play:
        """On disk when this returns; runs in the background. Raises BadInputs before anything is stored."""
        self._check_open()
        return await self.plays.start(await make_ready(self.workspace, version, inputs, config=config, name=name))

    async def cancel_play(self, sid: str) -> Play:
        """Ask for its end, wherever it runs. A play that has ended stays as it is."""
        play = await asyncio.to_thread(self.store.get_play, sid)
        if play.status in FINISHED or self.plays.cancel(sid):
            return play
        await asyncio.to_thread(cancel_play, self.store, sid)
        return await asyncio.to_thread(self.store.get_play, sid)

    # ── benches ─────────────────────────────────────────────────────────────

    async def start_bench(self, request: BenchRequest) -> BenchRecord:
        """Stored when this returns; runs in the background. Raises what is wrong with the request."""
        self._check_open()
        return await self.benches.start(request)

    async def run_bench(self, request: BenchRequest) -> BenchOutcome:
        """To its end. Takes no slot, so that a play (benchmark_flow) can wait for it.

        With a `bench_id` it may be asked for again: what is under way here is joined, what has ended is given as it is.
        """
        self._check_open()
        return await self.benches.run(request)

    async def cancel_bench(self, ref: str) -> BenchRecord:
        """Ask for its end, wherever it runs; what was measured stays. A bench that has ended stays as it is."""
        record = await asyncio.to_thread(self.store.get_bench, ref)
        if record.status == "running" and not self.benches.stop(record.uid):
            await asyncio.to_thread(self._stop_elsewhere, record.uid)
            return await asyncio.to_thread(self.store.get_bench, record.uid)
        return record

    def bench_progress(self, uid: str) -> Progress | None:
        """How far a bench is that runs or waits here."""
        return self.benches.progress(uid)

    def _stop_elsewhere(self, uid: str) -> None:
        """A bench without a living owner is over here and now."""
        _, how = self.store.claim_bench(uid, self.workspace.owner.sid)
        if how == "held":
            self.store.request_bench_cancel(uid)
        else:
            self.store.finish_bench(uid, "interrupted", owner_sid=self.workspace.owner.sid)

    # ── events ──────────────────────────────────────────────────────────────

    def publish(self, kind: str, *, play_sid: str = "", bench_id: str = "", data: Json = None) -> None:
        """Tell listeners. Never blocks."""
        self.hub.publish(kind, play_sid=play_sid, bench_id=bench_id, data=data)

    def listen(self, after_id: int | None = None) -> AsyncGenerator[Event, None]:
        """All events after that id, then on and on; None: from now."""
        return self.hub.listen(after_id)

    def _play_event(self, event: PlayEvent) -> None:
        if event.kind != "text":
            self.publish(event.kind, play_sid=event.play_sid, data=data_of(event))

    def _bench_event(self, kind: str, record: BenchRecord, data: dict[str, Json]) -> None:
        self.publish(kind, bench_id=record.bench_id, data=data)

    # ── the life of it ──────────────────────────────────────────────────────

    async def recover(self) -> Recovered:
        """Take up what dead owners left."""
        found = await self.recovery.look()
        for sid in found.plays:
            self.publish("play_recovered", play_sid=sid)
        return found

    async def watch(self) -> None:
        """Until it is cancelled. A store that fails for a while is asked again."""
        looked_at = time.time()
        while True:
            try:
                if time.time() - looked_at > self.workspace.lease_s:
                    await self.recovery.let_lost_go()
                looked_at = time.time()
                await self._look_after()
                await self.recover()
            except StoreFailure as error:
                log.warning("the store does not answer: %s", error)
            except Exception:
                log.exception("looking for what others left has failed")  # and is tried again: a host without it would leave plays behind
            await asyncio.sleep(LOOK_S)

    async def _look_after(self) -> None:
        await self.plays.store_ends()
        await self.benches.store_ends()
        await self.recovery.end_idle()
        if self.plays.queued:
            self.plays.cancel_queued(await asyncio.to_thread(self.store.cancel_requests, self.workspace.owner.sid))

    async def stop(self, grace_s: float = STOP_S) -> None:
        """Nothing more begins; what does not end within the grace is left for the next host."""
        self.stopping = True
        await self.schedules.stop()
        self.benches.letting_go = True
        plays = await self.plays.let_go(grace_s)
        benches = await self.benches.let_go()
        for bench_id in benches:
            self.publish("bench_interrupted", bench_id=bench_id)
        for sid in plays:
            self.publish("play_interrupted", play_sid=sid)
        await self.hub.close()

    def _check_open(self) -> None:
        if self.stopping:
            raise Conflict("The server is stopping.", remedy="Ask again when it is back.")


@contextlib.asynccontextmanager
async def open_host(
    db: str | None = None,
    *,
    lease_s: float | None = None,
    isolation: Isolation = "auto",
    max_plays: int = MAX_PLAYS,
    max_benches: int = MAX_BENCHES,
    stop_s: float = STOP_S,
) -> AsyncIterator[Host]:
    """Open, take up what dead owners left, serve, and let go of what is unfinished at the end."""
    async with open_workspace(db, isolation=isolation, lease_s=lease_s) as workspace:
        host = Host(workspace, log=workspace.store, max_plays=max_plays, max_benches=max_benches)
        loops = {"host": host.watch, "events": host.hub.run, "schedules": host.schedules.run}
        own = [asyncio.create_task(loop(), name=name) for name, loop in loops.items()]
        try:
            yield host
        finally:
            for task in own:
                task.cancel()
            await asyncio.gather(*own, return_exceptions=True)
            await host.stop(stop_s)
