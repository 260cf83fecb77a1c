"""Plays in the background: so many at once, the others wait their turn.

A play is on disk before its start is answered, so that none is lost; one that
waits is `pending`. A play whose task is cut off without a wish to cancel it is
let go: its owner is released, and the next host takes it up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.plays import ReadyPlay, ended_play, run_ready
from flowgauge.app.tracing import send_play, trace_id_here
from flowgauge.errors import Conflict, StoreFailure
from flowgauge.model.play import Failure, Play, PlayEvent
from flowgauge.run.trial_results import failure_of

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from flowgauge.app.workspace import Workspace

MOST_WAITING = 10_000
CANCELLED = Failure(kind="cancelled", message="The play was cancelled before it began.")


class _Entry:
    """One play here, from its start to its end."""

    __slots__ = ("cancelled", "ready", "running", "task")

    def __init__(self, ready: ReadyPlay) -> None:
        self.ready = ready
        self.running = False
        self.cancelled = False
        self.task: asyncio.Task[None]


class BackgroundPlays:
    """Of one host."""

    def __init__(self, workspace: Workspace, tell: Callable[[PlayEvent], None], most: int) -> None:
        self._workspace = workspace
        self._tell = tell
        self._most = most
        self._slots = asyncio.Semaphore(most)
        self._entries: dict[str, _Entry] = {}
        self._unstored: dict[str, tuple[Play, Failure]] = {}
        """Ends that the store has not taken yet."""

    @property
    def running(self) -> int:
        """How many have a slot."""
        return sum(entry.running for entry in self._entries.values())

    @property
    def queued(self) -> int:
        """How many wait for one."""
        return len(self._entries) - self.running

    async def start(self, ready: ReadyPlay) -> Play:
        """On disk when this returns, running or pending. Who asked may go away: the play goes on. Conflict where too many wait."""
        if len(self._entries) >= self._most + MOST_WAITING:
            raise Conflict(f"{MOST_WAITING} plays wait for their turn already.", remedy="Ask again when some of them have ended.")
        free = len(self._entries) < self._most
        moment = self._workspace.services.clock.now_ms()
        play = msgspec.structs.replace(ready.play, status="running" if free else "pending", started_at=moment)
        receipt = self._workspace.store.journal.play_started(play)
        self._begin(msgspec.structs.replace(ready, play=play), receipt)
        await receipt
        return play

    def go_on(self, ready: ReadyPlay) -> None:
        """With a play that was claimed from an owner who is gone."""
        self._begin(ready, None)

    def cancel(self, sid: str) -> bool:
        """Stop a play that runs or waits here; False where none of that sid does."""
        if self._workspace.engine.cancel(sid):
            return True
        entry = self._entries.get(sid)
        if entry is not None:
            entry.cancelled = True
            entry.task.cancel()
        return entry is not None

    def cancel_queued(self, asked: list[str]) -> None:
        """Those of them that wait here; the workspace itself looks after what runs."""
        for sid in asked:
            if (entry := self._entries.get(sid)) is not None and not entry.running:
                self.cancel(sid)

    async def store_ends(self) -> None:
        """Try again what the store did not take."""
        for sid, (play, failure) in list(self._unstored.items()):
            if sid not in self._entries:
                del self._unstored[sid]
                await self.end(play, failure)

    def forget(self, lost: Iterable[str]) -> None:
        """Let go of what another has taken."""
        for sid in lost:
            if (entry := self._entries.get(sid)) is not None:
                entry.task.cancel()

    def under_way(self) -> frozenset[str]:
        """Sids of all that runs or waits here."""
        return frozenset(self._entries)

    async def let_go(self, grace_s: float) -> tuple[str, ...]:
        """Nothing more begins; what runs may end within the grace. Says which plays are left for others."""
        for entry in self._entries.values():
            if not entry.running:
                entry.task.cancel()
        tasks = {entry.task for entry in self._entries.values()}
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        left = tuple(self._entries)
        for entry in self._entries.values():
            entry.task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return left

    async def end(self, play: Play, failure: Failure) -> None:
        """Store the end of a play of this host that the engine did not, and tell it."""
        try:
            runs = await asyncio.to_thread(self._workspace.store.get_node_runs, play.sid)
            ended = msgspec.structs.replace(ended_play(play, runs, failure), owner_sid=play.owner_sid)
            await self._workspace.store.journal.play_finished(ended)
        except Conflict:
            return  # another has taken it, and will end it
        except StoreFailure:
            self._unstored[play.sid] = play, failure
            return
        self._tell(PlayEvent(kind="play_finished", play_sid=play.sid, at=self._workspace.services.clock.now_ms(), play=ended))

    def _begin(self, ready: ReadyPlay, receipt: Awaitable[None] | None) -> None:
        entry = self._entries[ready.play.sid] = _Entry(ready)
        entry.task = asyncio.create_task(self._run(entry, receipt), name=f"play {ready.play.sid}")

    async def _run(self, entry: _Entry, receipt: Awaitable[None] | None) -> None:
        play = entry.ready.play
        try:
            if receipt is not None:
                await receipt
            failure = await self._played(entry)
            if failure is not None:
                await self.end(play, failure)
            elif trace_id := trace_id_here():
                await asyncio.to_thread(self._trace, trace_id, play.sid)
        except StoreFailure:
            return  # its start was not stored: whoever asked is told
        finally:
            del self._entries[play.sid]

    def _trace(self, trace_id: str, sid: str) -> None:
        store = self._workspace.store
        play = store.get_play(sid)
        send_play(trace_id, store.get_workflow(play.workflow_sid).name, play, store.get_node_runs(sid))

    async def _played(self, entry: _Entry) -> Failure | None:
        """Why the engine did not end it, where it did not."""
        try:
            async with self._slots:
                entry.running = True
                await run_ready(self._workspace, entry.ready, self._tell)
        except asyncio.CancelledError:
            if not entry.cancelled:
                raise
            return CANCELLED
        except Conflict:
            return None  # another has taken it, and will end it
        except Exception as error:  # noqa: BLE001 - a play that cannot be run has failed, and its error is stored with it
            return failure_of(error)
        return None
