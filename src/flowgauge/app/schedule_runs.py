"""Runs schedules inside a host: finds what is due, measures it, judges it, tells it.

Of all hosts on one store one runs a due moment: it claims it first. A moment is
one bench of a name that only it has, so whoever takes a run over from a dead
host goes on with the same bench. What is running when the host stops is left to
the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from flowgauge.app.schedule_gate import Judged, judge_bench
from flowgauge.app.schedule_hook import tell
from flowgauge.app.schedule_moments import first_moment, is_out_of_reach, last_moment, moment_after
from flowgauge.app.schedule_words import in_utc, late_words, news_of, skipped_words
from flowgauge.errors import Conflict, FlowgaugeError, NotFound, StoreFailure
from flowgauge.model.bench import BenchRecord
from flowgauge.model.service import Schedule

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.store.store import Store

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")
LOOK_S = 1.0
"""How often a host looks for what is due, and for what dead hosts left."""
ELSEWHERE_S = 1.0
"""How often the end of a bench is looked for that another host runs."""


class ScheduleRuns:
    """Of one host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._tasks: dict[str, asyncio.Task[Judged]] = {}
        self._looked_at = 0

    @property
    def _store(self) -> Store:
        return self._host.store

    @property
    def _owner_sid(self) -> str:
        return self._host.workspace.owner.sid

    def _now_ms(self) -> int:
        return self._host.workspace.services.clock.now_ms()

    async def run(self) -> None:
        """Until it is cancelled. A store that fails for a while is asked again."""
        while True:
            try:
                await self.look()
            except StoreFailure as error:
                log.warning("schedules wait, because the store does not answer: %s", error)
            except Exception:
                log.exception("looking for what is due has failed")  # and is tried again: without it no schedule would run
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Once: begin what is due, take over what dead hosts left."""
        now_ms = self._now_ms()
        if not self._looked_at or now_ms < self._looked_at:
            await asyncio.to_thread(self._bring_near, now_ms)
        self._looked_at = now_ms
        for due in await asyncio.to_thread(self._store.due_schedules, now_ms):
            await self._begin(due, now_ms)
        for left, before_sid in await asyncio.to_thread(self._store.left_schedules):
            if await asyncio.to_thread(self._store.take_over_schedule, left, before_sid, self._owner_sid):
                self._start(left)

    async def run_now(self, ref: str) -> Schedule:
        """Begin it; its next moment stays as it is. Conflict where it is running."""
        schedule = await asyncio.to_thread(self._claim_now, ref)
        self._start(schedule)
        return schedule

    async def run_to_end(self, ref: str) -> Judged:
        """The same, and wait for its end. Who is cancelled meanwhile ends it."""
        schedule = await self.run_now(ref)
        task = self._tasks[schedule.sid]
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._stop_by_hand(schedule)
            raise

    async def stop(self) -> None:
        """What is running is left to the next host."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ── beginning ───────────────────────────────────────────────────────────

    def _bring_near(self, now_ms: int) -> None:
        """The clock was set back: next moments that it would take too long to reach are planned again."""
        for schedule in self._store.enabled_schedules():
            with _told_of(schedule):
                if is_out_of_reach(schedule, now_ms):
                    self._store.move_moment(schedule, first_moment(schedule, now_ms))
                    log.warning("the schedule %s is planned again, because the clock was set back", schedule.name)

    async def _begin(self, due: Schedule, now_ms: int) -> None:
        with _told_of(due):
            moment_ms, missed = last_moment(due, now_ms)
            next_at = moment_after(due, now_ms)
            late = late_words(moment_ms, now_ms, missed)
            too_late = bool(due.late_s) and now_ms - moment_ms > due.late_s * 1000
            if too_late and await asyncio.to_thread(self._store.miss_moment, due, moment_ms, next_at, late):
                self._publish("schedule_missed", due, moment_ms, words=late)
            elif not too_late and await asyncio.to_thread(self._store.claim_schedule, due, moment_ms, next_at, self._owner_sid):
                self._start(msgspec.structs.replace(due, next_at=next_at, running_at=moment_ms), late)
            elif await asyncio.to_thread(self._store.skip_moment, due, next_at):
                self._publish("schedule_skipped", due, moment_ms, words="It was still running when this moment came.")

    def _claim_now(self, ref: str) -> Schedule:
        """What a dead host left is gone on with."""
        schedule, moment_ms = self._store.get_schedule(ref), self._now_ms()
        if self._store.begin_schedule(schedule.sid, moment_ms, self._owner_sid):
            return msgspec.structs.replace(schedule, running_at=moment_ms)
        for left, before_sid in self._store.left_schedules():
            if left.sid == schedule.sid and self._store.take_over_schedule(left, before_sid, self._owner_sid):
                return left
        running_at = self._store.get_schedule(schedule.sid).running_at
        since = f" since {in_utc(running_at)}" if running_at else ""
        raise Conflict(f"The schedule {schedule.name} is running{since}.", remedy="Let it end.")

    def _start(self, schedule: Schedule, late: str = "") -> None:
        self._tasks[schedule.sid] = asyncio.create_task(self._run(schedule, late), name=f"schedule {schedule.name}")

    # ── one moment ──────────────────────────────────────────────────────────

    async def _run(self, schedule: Schedule, late: str) -> Judged:
        try:
            judged = await self._judged(schedule)
            judged = msgspec.structs.replace(judged, words=" ".join(part for part in (judged.words, late) if part))
            return await self._kept(schedule, await self._told(schedule, judged))
        finally:
            del self._tasks[schedule.sid]

    async def _judged(self, schedule: Schedule) -> Judged:
        """Never raises: what cannot be run or judged is an error in words."""
        from flowgauge.app.schedule_requests import bench_id_of

        bench_id = bench_id_of(schedule)
        self._publish("schedule_started", schedule, schedule.running_at, bench_id=bench_id)
        try:
            record = await self._ended(await self._begun(schedule, bench_id))
            judged = await self._asked(judge_bench, self._store, schedule, record)
            why = self._host.benches.failure(record.uid) if record.status == "interrupted" else ""
            return msgspec.structs.replace(judged, words=f"{judged.words} {why}".rstrip())
        except FlowgaugeError as error:
            return Judged(status="error", words=str(error), bench_id=bench_id)
        except Exception as error:
            log.exception("the schedule %s has failed", schedule.name)
            return Judged(status="error", words=f"Flowgauge itself failed: {type(error).__name__}: {error}.", bench_id=bench_id)

    async def _begun(self, schedule: Schedule, bench_id: str) -> str:
        """The uid of the moment's bench: a new one, or the one that another host began."""
        from flowgauge.app.operations.benches import benchmark_start
        from flowgauge.app.schedule_requests import params_of

        there = await asyncio.to_thread(_bench_called, self._store, bench_id)
        return there.uid if there else (await benchmark_start(self._host, params_of(schedule.request, bench_id))).uid

    async def _ended(self, uid: str) -> BenchRecord:
        """Wherever it runs: another host may have taken it up."""
        while True:
            await self._host.benches.over(uid)
            record = await self._asked(self._store.get_bench, uid)
            if record.status != "running":
                return record
            await asyncio.sleep(ELSEWHERE_S)

    async def _told(self, schedule: Schedule, judged: Judged) -> Judged:
        if not (judged.is_bad and schedule.webhook):
            return judged
        workspace = self._host.workspace
        failed = await tell(
            schedule.webhook,
            news_of(schedule, judged),
            key=f"{schedule.sid}-{schedule.running_at}",
            redact=workspace.redact,
            clock=workspace.services.clock,
        )
        return msgspec.structs.replace(judged, words=f"{judged.words} {failed}".rstrip())

    async def _kept(self, schedule: Schedule, judged: Judged) -> Judged:
        """Told only by the one who could store it: another may have taken it over."""
        with contextlib.suppress(NotFound):
            skipped = skipped_words((await self._asked(self._store.get_schedule, schedule.sid)).skipped)
            judged = msgspec.structs.replace(judged, words=f"{judged.words} {skipped}".rstrip())
        mine = schedule.sid, schedule.running_at, self._owner_sid
        told = {"status": judged.status, "bench_id": judged.bench_id, "words": judged.words}
        if await self._asked(self._store.finish_schedule, *mine, **told):
            at = schedule.running_at
            self._publish("schedule_finished", schedule, at, bench_id=judged.bench_id, status=judged.status, words=judged.words)
        return judged

    async def _stop_by_hand(self, schedule: Schedule) -> None:
        from flowgauge.app.schedule_requests import bench_id_of

        with contextlib.suppress(FlowgaugeError):  # nothing of it was begun, or it has just ended
            await self._host.cancel_bench(bench_id_of(schedule))
        await self._kept(schedule, Judged(status="error", words="It was stopped by hand.", bench_id=bench_id_of(schedule)))

    def _publish(self, kind: str, schedule: Schedule, moment_ms: int, *, bench_id: str = "", **told: str) -> None:
        self._host.publish(kind, bench_id=bench_id, data={"schedule": schedule.name, "moment": moment_ms, **told})

    async def _asked(self, ask: Callable[..., Answer], *arguments: Any, **named: Any) -> Answer:
        """Of a store that may fail for a while: what was measured must not be lost for that."""
        while True:
            try:
                return await asyncio.to_thread(ask, *arguments, **named)
            except StoreFailure as error:
                log.warning("a schedule waits, because the store does not answer: %s", error)
            await asyncio.sleep(LOOK_S)


def _bench_called(store: Store, bench_id: str) -> BenchRecord | None:
    try:
        found = store.get_bench(bench_id)
    except NotFound:
        return None
    return found if found.bench_id == bench_id else None


@contextlib.contextmanager
def _told_of(schedule: Schedule) -> Iterator[None]:
    """One schedule that cannot be planned must not keep the others from running."""
    try:
        yield
    except StoreFailure:
        raise
    except FlowgaugeError as error:
        log.warning("the schedule %s cannot be run: %s", schedule.name, error)
