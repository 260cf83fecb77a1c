"""Benches in the background: so many at once, the others wait their turn.

A bench is stored, and owned, before its start is answered. One that a play
waits for (`run`) takes no slot, so that a bench inside a bench cannot wait for
itself. A bench whose task is cut off without a wish to stop it is let go, and
taken up by the next host; one that was stopped, or failed, is `interrupted`
and left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.app.bench import Begun, BenchOutcome, BenchRequest, Follower, Started, begin_bench, finish_begun, summary_of
from flowgauge.app.plays import ended_play
from flowgauge.errors import Conflict, FlowgaugeError, NotFound, StoreFailure
from flowgauge.model.bench import BenchRecord, Trial
from flowgauge.model.play import Failure
from flowgauge.run.targets.workflow import moment_of_bench
from flowgauge.run.trials import TrialsOutcome

if TYPE_CHECKING:
    from flowgauge.app.workspace import Workspace
    from flowgauge.store.store import Store

GRACE_S = 2.0
"""How long trials under way may still take once their bench is stopped."""
BETWEEN_NEWS_S = 0.25
REMEMBERED = 1000
CUT_OFF = Failure(kind="cancelled", message="The play was cut off when its bench was stopped.")
Tell = Callable[[str, BenchRecord, dict[str, Any]], None]
"""Kind of event, whose, and what."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a bench here is."""

    done: int
    total: int
    queued: bool


class _Entry(Follower):
    """One bench here, from its begin to its end."""

    def __init__(self, begun: Begun, tell: Tell) -> None:
        self.record = begun.record
        self.begun = begun
        self.stop = asyncio.Event()
        self.running = False
        self.done = 0
        self.task: asyncio.Task[BenchOutcome | None]
        self._tell = tell
        self._told_at = 0.0

    def started(self, started: Started) -> None:
        self.done = started.done
        self._tell("bench_started", self.record, {"name": self.record.name, "done": self.done, "total": self.record.total})

    def trial(self, trial: Trial) -> None:
        """Told a few times a second at the most: a listener wants to see it move, not every step."""
        self.done += 1
        now = time.monotonic()
        if now - self._told_at >= BETWEEN_NEWS_S:
            self._told_at = now
            news = {"done": self.done, "total": self.record.total, "run_id": trial.run_id, "status": trial.answer.status, "ok": trial.ok}
            self._tell("trial_finished", self.record, news)


class BackgroundBenches:
    """Of one host."""

    def __init__(self, workspace: Workspace, tell: Tell, most: int) -> None:
        self._workspace = workspace
        self._tell = tell
        self._slots = asyncio.Semaphore(most)
        self._entries: dict[str, _Entry] = {}
        self._unstored: set[str] = set()
        self._failed: dict[str, str] = {}
        self.letting_go = False
        """Whoever waits for a bench is cancelled because the host stops: the bench goes on elsewhere."""

    @property
    def running(self) -> int:
        """How many are measured now."""
        return sum(entry.running for entry in self._entries.values())

    @property
    def queued(self) -> int:
        """How many wait for a slot."""
        return len(self._entries) - self.running

    async def start(self, request: BenchRequest) -> BenchRecord:
        """Stored when this returns. Raises what is wrong with the request. Who asked may go away meanwhile: the bench goes on."""
        return (await self._begun(request, self._slots)).record

    async def run(self, request: BenchRequest) -> BenchOutcome:
        """To its end, without a slot. With a `bench_id`, one that is under way here is joined, and one that has ended is given as it is."""
        entry = self._named(request.bench_id)
        if entry is None:
            if (ended := await asyncio.to_thread(self._ended, request.bench_id)) is not None:
                return ended
            entry = await self._begun(request, None)
        try:
            outcome = await asyncio.shield(entry.task)
        except asyncio.CancelledError:
            if entry.task.cancelled() and not _is_cancelled():
                raise Conflict(
                    f"The bench {entry.record.bench_id} was taken over by another process.", remedy="Look at it there."
                ) from None
            if not self.letting_go:
                entry.stop.set()  # whoever waits for it was cancelled, not the host
            raise
        if outcome is None:
            raise Conflict(f"The bench {entry.record.bench_id} was not finished: {self.failure(entry.record.uid) or 'it was stopped'}.")
        return outcome

    async def go_on(self, uid: str) -> None:
        """With a bench whose owner is gone. Raises Conflict where another was faster, or it cannot be taken up from what is stored."""
        await self._begun(BenchRequest(resume=uid, grace_s=GRACE_S), self._slots)

    def stop(self, uid: str) -> bool:
        """What was measured stays; False where it does not run here."""
        entry = self._entries.get(uid)
        if entry is not None:
            entry.stop.set()
            if not entry.running:
                entry.task.cancel()
        return entry is not None

    def progress(self, uid: str) -> Progress | None:
        """None where it does not run here."""
        entry = self._entries.get(uid)
        return Progress(done=entry.done, total=entry.record.total, queued=not entry.running) if entry else None

    async def over(self, uid: str) -> None:
        """Until it does not run here any more, however it ended."""
        if (entry := self._entries.get(uid)) is not None:
            await asyncio.wait({entry.task})

    def failure(self, uid: str) -> str:
        """Why a bench of this host could not go on; empty where nothing is known of that."""
        return self._failed.get(uid, "")

    def under_way(self) -> frozenset[str]:
        """Uids of all that runs or waits here."""
        return frozenset(self._entries)

    def moments(self) -> frozenset[int]:
        """When they were created: what the plays of their trials are known by."""
        return frozenset(entry.record.created_at for entry in self._entries.values())

    def forget(self, lost: Iterable[str]) -> None:
        """Let go of what another has taken."""
        for uid in lost:
            if (entry := self._entries.get(uid)) is not None:
                entry.task.cancel()

    async def store_ends(self) -> None:
        """Try again what the store did not take."""
        for uid in self._unstored - self._entries.keys():
            self._unstored.discard(uid)
            await self._interrupted(uid)

    async def let_go(self) -> tuple[str, ...]:
        """Cut off; they are taken up by the next host. Says which."""
        left = tuple(entry.record.bench_id for entry in self._entries.values())
        tasks = [entry.task for entry in self._entries.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return left

    async def _begun(self, request: BenchRequest, slots: asyncio.Semaphore | None) -> _Entry:
        """Begun in a task of its own: a caller who goes away must not leave a bench that is owned and not run."""
        return await asyncio.shield(asyncio.create_task(self._begin(request, slots)))

    async def _begin(self, request: BenchRequest, slots: asyncio.Semaphore | None) -> _Entry:
        begun = await begin_bench(self._workspace, request)
        entry = self._entries[begun.record.uid] = _Entry(begun, self._tell)
        entry.task = asyncio.create_task(self._run(entry, request, slots), name=f"bench {begun.record.bench_id}")
        return entry

    async def _run(self, entry: _Entry, request: BenchRequest, slots: asyncio.Semaphore | None) -> BenchOutcome | None:
        record, outcome = entry.record, None
        try:
            async with slots or contextlib.nullcontext():
                entry.running = True
                outcome = await finish_begun(self._workspace, request, entry.begun, follower=entry, stop=entry.stop)
        except asyncio.CancelledError:
            if not entry.stop.is_set():
                raise
            await self._interrupted(record.uid)
        except Exception as error:  # noqa: BLE001 - the task has no other reader: the error is kept, and told
            self.note(record.uid, f"{error}" if isinstance(error, FlowgaugeError) else f"{type(error).__name__}: {error}")
            await self._interrupted(record.uid)
        finally:
            del self._entries[record.uid]
        await self._end_cut_off(record)
        self._tell("bench_finished", record, self._news(entry, outcome))
        return outcome

    def _news(self, entry: _Entry, outcome: BenchOutcome | None) -> dict[str, Any]:
        status = outcome.record.status if outcome else "interrupted"
        sids = [benchmark.sid for benchmark in outcome.benchmarks] if outcome else []
        return {
            "status": status,
            "done": entry.done,
            "total": entry.record.total,
            "benchmark_sids": sids,
            "error": self.failure(entry.record.uid),
        }

    async def _interrupted(self, uid: str) -> None:
        """Not running any more, and not to be taken up by itself."""
        try:
            await asyncio.to_thread(self._workspace.store.finish_bench, uid, "interrupted", owner_sid=self._workspace.owner.sid)
        except (Conflict, NotFound):
            return  # another has it, or it was deleted
        except StoreFailure:
            self._unstored.add(uid)

    async def _end_cut_off(self, record: BenchRecord) -> None:
        """Plays that a stopped bench left in the middle: they do not run any more. A bench that is resumed runs them on."""
        store, owner_sid = self._workspace.store, self._workspace.owner.sid
        with contextlib.suppress(StoreFailure):  # what is left is found by the next look for what nobody runs, once this host is gone
            for sid in await asyncio.to_thread(store.plays_held, owner_sid):
                if moment_of_bench(sid) == record.created_at and sid not in self._workspace.engine.running:
                    await asyncio.to_thread(_end_play, store, sid)

    def note(self, uid: str, words: str) -> None:
        """Why a bench could not go on."""
        self._failed[uid] = words
        while len(self._failed) > REMEMBERED:
            del self._failed[next(iter(self._failed))]

    def _named(self, bench_id: str) -> _Entry | None:
        return next((entry for entry in self._entries.values() if bench_id and entry.record.bench_id == bench_id), None)

    def _ended(self, bench_id: str) -> BenchOutcome | None:
        """A bench of that id that is finished, as it is stored."""
        if not bench_id:
            return None
        store = self._workspace.store
        with contextlib.suppress(NotFound):
            record = store.get_bench(bench_id)
            if record.bench_id == bench_id and record.status == "finished":
                made = store.list_benchmarks(limit=1000, bench=record.uid).items
                ran = TrialsOutcome(status="finished", recorded=0)
                return BenchOutcome(record=record, how="continued", ran=ran, summary=summary_of(store, record), benchmarks=made)
        return None


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _end_play(store: Store, sid: str) -> None:
    play = store.get_play(sid)
    ended = msgspec.structs.replace(ended_play(play, store.get_node_runs(sid), CUT_OFF), owner_sid=play.owner_sid)
    with contextlib.suppress(Conflict):
        store.journal.play_finished(ended).wait()
