"""What dead owners left: found, claimed and finished, by whoever is there first.

Plays are taken up from their last stored node, benches from their last stored
trial. Only benches of workflows are taken up here: another target (a program, a
function) belongs to the folder that its command was started in. What cannot be
taken up is ended, and says why; so nothing stays `running` that nobody runs.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.host_benches import BackgroundBenches
from flowgauge.app.host_plays import BackgroundPlays
from flowgauge.app.plays import GONE, ReadyPlay, ended_play, taken_up
from flowgauge.errors import Conflict, FlowgaugeError, NotFound, StoreFailure
from flowgauge.model.play import Failure, Play
from flowgauge.model.redaction import MARK
from flowgauge.run.targets.workflow import moment_of_bench

if TYPE_CHECKING:
    from flowgauge.app.workspace import Workspace
    from flowgauge.store.benches import RunningBench

MOST_TIMES = 20
"""A play that was taken up so often is not tried again: it may be what ends its owners."""
AT_ONCE = 200
"""Plays that may wait here when more are taken: the rest is for other hosts, or a later look."""


NOBODY = Failure(kind="internal", message="The play was stored, and could not be begun. Start it again.")


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What one look did."""

    plays: tuple[str, ...] = ()
    benches: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    """Plays of trials whose bench is over."""


class Recovery:
    """Looks, claims, hands over. Benches first: a play that waits for one finds it under way."""

    def __init__(self, workspace: Workspace, plays: BackgroundPlays, benches: BackgroundBenches) -> None:
        self._workspace = workspace
        self._plays = plays
        self._benches = benches
        self._claimed: dict[str, Play] = {}
        """Not handed over yet: the store failed in between."""
        self._idle: frozenset[str] = frozenset()
        """Plays of this host that it was not running at the last look."""

    async def look(self) -> Recovered:
        """Once. Raises StoreFailure; what was claimed by then is handed over by the next look."""
        store = self._workspace.store
        running = await asyncio.to_thread(store.running_benches)
        benches = [bench.record.uid for bench in running if not bench.alive and await self._bench(bench)]
        moments = {bench.record.created_at for bench in running}
        ended: list[str] = []
        room = AT_ONCE - self._plays.queued
        for play in await asyncio.to_thread(store.abandoned_plays, room) if room > 0 else ():
            moment = moment_of_bench(play.sid)
            if moment is None:
                await asyncio.to_thread(self._claim, play)
            elif moment not in moments and await asyncio.to_thread(self._cut_off, play):
                ended.append(play.sid)
        plays = [sid for sid in tuple(self._claimed) if await self._play(sid)]
        return Recovered(plays=tuple(plays), benches=tuple(benches), ended=tuple(ended))

    async def end_idle(self) -> None:
        """A play of this host that it does not run: the store failed when it was begun, after it had written it. Not before two looks."""
        store, engine = self._workspace.store, self._workspace.engine
        held = await asyncio.to_thread(store.plays_held, self._workspace.owner.sid)
        own = {*self._plays.under_way(), *self._claimed, *engine.running}
        moments = self._benches.moments()
        idle = frozenset(sid for sid in held if sid not in own and moment_of_bench(sid) not in moments)
        for sid in idle & self._idle:
            await self._plays.end(await asyncio.to_thread(store.get_play, sid), NOBODY)
        self._idle = idle

    async def let_lost_go(self) -> None:
        """After a long silence (a suspended machine), others may have taken what this host still runs: let go of that."""
        store, owner_sid = self._workspace.store, self._workspace.owner.sid
        if plays := self._plays.under_way():
            self._plays.forget(await asyncio.to_thread(store.plays_lost, owner_sid, plays))
        if benches := self._benches.under_way():
            running = await asyncio.to_thread(store.running_benches)
            self._benches.forget(
                bench.record.uid for bench in running if bench.record.uid in benches and bench.record.owner_sid != owner_sid
            )

    async def _bench(self, bench: RunningBench) -> bool:
        """Goes on, or is over."""
        record = bench.record
        if record.definition.target.kind == "workflow" and not bench.cancel_requested:
            try:
                await self._benches.go_on(record.uid)
                return True
            except StoreFailure:
                raise
            except FlowgaugeError as error:
                self._benches.note(record.uid, f"It cannot be taken up: {error}")
        await asyncio.to_thread(self._give_up, record.uid)
        return False

    def _give_up(self, uid: str) -> None:
        """For a bench that nobody alive holds. It can still be resumed by a command."""
        store, owner_sid = self._workspace.store, self._workspace.owner.sid
        with contextlib.suppress(Conflict, NotFound):
            _, how = store.claim_bench(uid, owner_sid)
            if how != "held":
                store.finish_bench(uid, "interrupted", owner_sid=owner_sid)

    def _claim(self, play: Play) -> None:
        if play.sid not in self._plays.under_way() and self._workspace.store.claim_play(play.sid, self._workspace.owner.sid):
            self._claimed[play.sid] = play

    async def _play(self, sid: str) -> bool:
        """One that is claimed: goes on, or is ended with the reason."""
        play = self._claimed[sid]
        ready = await asyncio.to_thread(self._ready, play)
        del self._claimed[sid]
        if isinstance(ready, ReadyPlay):
            self._plays.go_on(ready)
            return True
        await self._plays.end(msgspec.structs.replace(play, owner_sid=self._workspace.owner.sid, resumed=play.resumed + 1), ready)
        return False

    def _ready(self, play: Play) -> ReadyPlay | Failure:
        if play.resumed >= MOST_TIMES:
            return Failure(kind="internal", message=f"The play was taken up {play.resumed} times after its owner died, and not again.")
        if MARK in msgspec.json.encode(play.inputs).decode():
            message = "The play's owner died, and its inputs held a secret that is not stored. Start it again."
            return Failure(kind="internal", message=message)
        try:
            return taken_up(self._workspace, play)
        except StoreFailure:
            raise
        except FlowgaugeError as error:
            return Failure(kind="internal", message=f"The play's owner died, and it cannot be taken up: {error}")

    def _cut_off(self, play: Play) -> bool:
        """The play of a trial is its bench's to finish. Where that is not running, the play is over; a resumed bench runs it on."""
        store = self._workspace.store
        if not store.claim_play(play.sid, ""):
            return False
        try:
            store.journal.play_finished(ended_play(play, store.get_node_runs(play.sid), GONE)).wait()
        except Conflict:
            return False  # its bench was taken up meanwhile
        return True
