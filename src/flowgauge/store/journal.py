"""Durable writes in groups (model.ports.Journal).

Plays, node runs and trials come in from any thread or event loop; one writer thread
takes all that has gathered, writes it in one transaction and wakes who waits.
While it commits, the next group gathers. Somebody who waits for a write has it
written at once; where nobody does, or only with patience, a group gathers for a
moment longer, because a commit costs about as much for one row as for fifty.
Values are encoded at once, in the caller: what is stored is what was handed in,
even if it is changed later. Writes become durable in the order of the calls.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
import weakref
from collections import deque
from contextlib import suppress

from flowgauge.errors import StoreFailure
from flowgauge.model.bench import Answer, Trial
from flowgauge.model.play import NodeRun, Play
from flowgauge.store.backend import Backend, Writer
from flowgauge.store.bulk import hot_sql
from flowgauge.store.database import Database, now_ms
from flowgauge.store.group import EventBatch, Group, Receipt, answer_subject, trial_subject
from flowgauge.store.rows import TRIAL_COLUMNS, Row, RowEncoder

ROWS_LIMIT = 20_000
BYTES_LIMIT = 64 << 20
GROUP_BYTES = 16 << 20
GATHER_S = 0.02
"""From the begin of one write to that of the next, where nobody is in a hurry."""
GATHER_BYTES = 1 << 20
"""So much is written at once, all the same."""
PAGE_BYTES = 4096
"""What a row costs besides what it holds: the page that it is put into is written whole."""
RETRIES_S = (0.01, 0.05, 0.2, 0.5, 1.0, 2.0, 4.0)
PATIENCE_S = 30.0
"""After this long a passing error is no longer taken for one."""
EVENTS_KEPT = 100_000
"""The newest; older ones are news no more."""
EVENTS_BETWEEN_LOOKS = 1000
"""How many more there may be for a moment."""
_UNWRITABLE = (OSError, OverflowError, ValueError, TypeError)
"""What the drivers raise beside their own errors, for a number or a text that no column holds."""
_OUTPUT_OF_PLAY, _INPUTS_OF_PLAY, _OWNER_OF_PLAY = 8, 5, 20
_OUTPUT_OF_RUN, _STEPS_OF_RUN = 14, 16
_CHECKS_OF_TRIAL, _OUTPUT_OF_TRIAL, _NODES_OF_TRIAL = (TRIAL_COLUMNS.index(name) for name in ("checks", "output", "nodes"))


class Journal:
    """See `model.ports.Journal`. One to a store; made by it."""

    def __init__(self, database: Database, encoder: RowEncoder) -> None:
        self._database = database
        self._encoder = encoder
        self._lock = threading.Lock()
        self._groups: deque[Group] = deque([Group()])
        self._writing: Group | None = None
        self._wake: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._ready = False
        """Its thread runs, here and now: asked before every write, so it is a flag."""
        self._pid = os.getpid()
        _journals.add(self)
        self.queued_rows = 0
        self.queued_bytes = 0
        self.commits = 0

    def play_started(self, play: Play) -> Receipt:
        """A play's first record; a play that is there already is taken over."""
        row = self._encoder.play(play, now_ms())
        size = len(row[_INPUTS_OF_PLAY] or "")
        with self._lock:
            group = self._open_group()
            if play.sid in group.finished:
                group = self._next_group()
            group.started[play.sid] = row
            return self._added(group, size, play.sid)

    def node_finished(self, play_sid: str, run: NodeRun) -> Receipt:
        """One attempt; the same attempt written twice is the same row."""
        row = self._encoder.node_run(play_sid, run)
        size = len(row[_OUTPUT_OF_RUN] or "") + len(row[_STEPS_OF_RUN] or "")
        with self._lock:
            group = self._open_group()
            group.runs[play_sid, run.node_id, run.attempt] = row
            return self._added(group, size, play_sid)

    def play_finished(self, play: Play) -> Receipt:
        """A play's end. Awaiting raises Conflict where another owner has taken the play over."""
        row = self._encoder.play(play, now_ms())
        size = len(row[_OUTPUT_OF_PLAY] or "") + len(row[_INPUTS_OF_PLAY] or "")
        with self._lock:
            group = self._open_group()
            group.finished[play.sid] = row
            return self._added(group, size, play.sid)

    def trial_finished(self, bench_uid: str, trial: Trial, *, replace: bool = False) -> Receipt:
        """A trial's result, after its play. The first that was written stays, unless `replace`: a replay changes nothing.

        Its receipt is patient: a bench goes on while it waits. At its end, `hurry`.
        """
        row = self._encoder.trial(bench_uid, trial)
        size = len(row[_OUTPUT_OF_TRIAL] or "") + len(row[_CHECKS_OF_TRIAL] or "") + len(row[_NODES_OF_TRIAL] or "")
        key = (bench_uid, trial.run_id)
        with self._lock:
            group = self._open_group()
            if replace:
                group.trials.pop(key, None)
                group.retried[key] = row
            elif key not in group.retried:
                group.trials.setdefault(key, row)
            return self._added(group, size, trial_subject(key), patient=True)

    def answer_cached(self, key: str, answer: Answer) -> Receipt:
        """What a target answered, to be used again."""
        row = (key, now_ms(), self._encoder.json(answer, key))
        with self._lock:
            group = self._open_group()
            group.answers[key] = row
            return self._added(group, len(row[2]), answer_subject(key))

    def events_published(self, batch: EventBatch) -> Receipt:
        """News for listeners, with whatever else is being written. Patient: news can wait a moment, and must not cost a commit."""
        size = sum(len(row[-1] or "") for row in batch.rows)
        with self._lock:
            group = self._open_group()
            group.events.append(batch)
            return self._added(group, size, batch.subject, patient=True)

    async def room(self) -> None:
        """Wait until less is queued than the bounds allow. Whoever writes much asks before each write.

        A write that fails makes room too; its own waiters are told.
        """
        while self._crowded():
            with suppress(StoreFailure):
                await self._oldest()

    def wait_for_room(self) -> None:
        """The same, for a thread without an event loop."""
        while self._crowded():
            self._oldest().join()

    def hurry(self) -> None:
        """Write what has gathered now."""
        for group in self._unresolved():
            group.press()

    async def flush(self) -> None:
        """Wait until all that was asked for is on disk."""
        groups = self._unresolved()
        answers = await asyncio.gather(*groups, return_exceptions=True)
        for failure in answers:
            if isinstance(failure, BaseException):
                raise failure

    def wait(self) -> None:
        """The same, for a thread without an event loop."""
        failure: StoreFailure | None = None
        for group in self._unresolved():
            try:
                group.join()
                group.answer_all()
            except StoreFailure as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Write what is queued, then stop. May be called twice; blocks, so not from an event loop."""
        with self._lock:
            self._closed, self._ready = True, False
            thread = self._thread
        if thread is not None and self._pid == os.getpid():
            self.hurry()
            self._wake.put(False)
            thread.join()

    def _open_group(self) -> Group:
        if not self._ready:
            self._get_ready()
        group = self._groups[-1]
        return group if group.size < GROUP_BYTES else self._next_group()

    def _next_group(self) -> Group:
        self._groups[-1].press()
        group = Group()
        self._groups.append(group)
        return group

    def _added(self, group: Group, size: int, sid: str, *, patient: bool = False) -> Receipt:
        group.rows += 1
        group.size += size
        self.queued_rows += 1
        self.queued_bytes += size
        if group.rows == 1:
            self._wake.put(True)
        if group.size >= GATHER_BYTES:
            group.press()
        return Receipt(group, sid, patient)

    def _get_ready(self) -> None:
        if self._closed or os.getpid() != self._pid:
            self._database.check_usable()
            raise StoreFailure(f"The journal of {self._database.backend.place} is closed.", remedy="Open the store again.")
        self._database.prepare()
        writer = GroupWriter(self._database.backend)
        self._thread = threading.Thread(target=self._run, args=(writer,), name="flowgauge-journal", daemon=True)
        self._thread.start()
        self._ready = True
        weakref.finalize(self, _drain, self._wake, self._thread)

    def forked(self) -> None:
        """In the child of a fork there is no thread that writes."""
        self._ready = False

    def _crowded(self) -> bool:
        return self.queued_rows >= ROWS_LIMIT or self.queued_bytes >= BYTES_LIMIT

    def _oldest(self) -> Group:
        with self._lock:
            return self._writing or self._groups[0]

    def _unresolved(self) -> list[Group]:
        with self._lock:
            return [group for group in (self._writing, *self._groups) if group is not None and group.rows]

    def _run(self, writer: GroupWriter) -> None:
        begun_s = float("-inf")
        try:
            while self._wake.get():
                self._groups[0].gather(begun_s + GATHER_S - time.monotonic())
                begun_s = time.monotonic()
                self._write(writer, self._take())
        finally:
            self._ready = False
            writer.close()

    def _take(self) -> Group:
        with self._lock:
            group = self._groups.popleft()
            if not self._groups:
                self._groups.append(Group())
            self._writing = group
            return group

    def _write(self, writer: GroupWriter, group: Group) -> None:
        failure: StoreFailure | None = StoreFailure("The journal's writer stopped unexpectedly.", remedy="Report this with its traceback.")
        try:
            failure = writer.write(group)
            self.commits += failure is None
        finally:
            with self._lock:
                self._writing = None
                self.queued_rows -= group.rows
                self.queued_bytes -= group.size
            group.resolve(failure)


class GroupWriter:
    """The writer thread's own: a connection, and patience with what passes."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._sql = hot_sql(backend.mark)
        self._writer: Writer | None = None

    def write(self, group: Group) -> StoreFailure | None:
        """One transaction; None when it is on disk. Trying again is harmless: every row is an upsert."""
        deadline = time.monotonic() + PATIENCE_S
        for pause_s in (*RETRIES_S, None):
            try:
                self._transaction(group)
            except (self._backend.driver_error, *_UNWRITABLE) as error:
                self.close()
                if pause_s is None or time.monotonic() > deadline or not self._backend.is_transient(error):
                    return self._given_up(group, error)
                time.sleep(pause_s)
            else:
                self._settle(group.size + group.rows * PAGE_BYTES)
                return None
        return None

    def _given_up(self, group: Group, error: BaseException) -> StoreFailure | None:
        """A row that no column holds must not take the rest of its group with it."""
        parts = group.parts()
        if len(parts) == 1 or not isinstance(error, (*self._backend.row_errors, *_UNWRITABLE)):
            return self._backend.failure(error)
        for part in parts:
            if (failure := self.write(part)) is not None:
                group.failed |= dict.fromkeys(part.subjects(), failure)
            group.lost |= part.lost
        return None

    def close(self) -> None:
        """A connection that failed is not used again."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(self._backend.driver_error):
                writer.forget()
            with suppress(self._backend.driver_error):
                writer.close()

    def _settle(self, written: int) -> None:
        """The group is on disk by now: what goes wrong here is met, and told, by the next group."""
        try:
            if self._writer is not None:
                self._writer.settle(written)
        except (self._backend.driver_error, OSError):
            self.close()

    def _transaction(self, group: Group) -> None:
        if self._writer is None:
            self._writer = self._backend.writer()
        writer = self._writer
        both = group.started.keys() & group.finished.keys()
        ends = [row for sid, row in group.finished.items() if sid not in both]
        writer.begin()
        writer.put(self._sql.start, [row for sid, row in group.started.items() if sid not in both])
        writer.put(self._sql.node, list(group.runs.values()))
        writer.put(self._sql.whole, [row for sid, row in group.finished.items() if sid in both])
        if writer.put(self._sql.finish, ends) < len(ends):
            group.lost = self._holders(writer, ends)
        writer.put(self._sql.trial, list(group.trials.values()))
        writer.put(self._sql.retried, list(group.retried.values()))
        writer.put(self._sql.answer, list(group.answers.values()))
        if group.events:
            self._put_events(writer, group.events)
        writer.commit()

    def _put_events(self, writer: Writer, batches: list[EventBatch]) -> None:
        """Last of all: who has the counter keeps others from it until the commit, so ids are seen in the order in which they were given."""
        rows = [row for batch in batches for row in batch.rows]
        last_id = int(writer.query(self._sql.count_events, (len(rows),))[0][0])
        first_id = last_id - len(rows) + 1
        writer.put(self._sql.event, [(number, *row) for number, row in enumerate(rows, first_id)])
        for batch in batches:
            first_id += len(batch.rows)
            batch.last_id = first_id - 1
        if last_id // EVENTS_BETWEEN_LOOKS != (last_id - len(rows)) // EVENTS_BETWEEN_LOOKS:
            writer.query(self._sql.old_events, (last_id - EVENTS_KEPT,))

    def _holders(self, writer: Writer, ends: list[Row]) -> dict[str, str]:
        """Who holds the plays whose end was not taken."""
        lost: dict[str, str] = {}
        for row in ends:
            found = writer.query(self._sql.holder, (row[0],))
            if found and found[0][0] not in ("", row[_OWNER_OF_PLAY]):
                lost[row[0]] = found[0][0]
        return lost


_journals: weakref.WeakSet[Journal] = weakref.WeakSet()


def _forked() -> None:
    for journal in _journals:
        journal.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _drain(wake: queue.SimpleQueue[bool], thread: threading.Thread) -> None:
    """At exit, or when the journal is dropped: the thread writes what is queued and ends."""
    wake.put(False)
    if thread is not threading.current_thread():
        thread.join()
