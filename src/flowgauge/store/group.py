"""Writes that become durable together, and how to wait for them.

A receipt is two references; a future is made only when a receipt is awaited
before its group is on disk, so a write that nobody awaits can neither leak nor
warn.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from typing import Any

from flowgauge.errors import Conflict, StoreFailure
from flowgauge.store.rows import TRIAL_COLUMNS, Row

TrialKey = tuple[str, str]
"""Bench uid and run id."""
_PLAY_OF_TRIAL = TRIAL_COLUMNS.index("play_sid")


def trial_subject(key: TrialKey) -> str:
    """By which a receipt knows a trial."""
    return f"{key[0]}/{key[1]}"


def answer_subject(key: str) -> str:
    """By which a receipt knows a cached answer."""
    return f"answer {key}"


class EventBatch:
    """Events that are written together; the writer says under which ids."""

    __slots__ = ("last_id", "rows")

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.last_id = 0

    @property
    def subject(self) -> str:
        """By which a receipt knows it."""
        return f"events {id(self)}"


class Group:
    """Filled under the journal's lock, then written once, then resolved once."""

    __slots__ = (
        "_done", "_failure", "_lock", "_pressing", "_thread", "_waiters", "answers", "events", "failed", "finished", "lost", "retried",
        "rows", "runs", "size", "started", "trials",
    )  # fmt: skip

    def __init__(self) -> None:
        self.started: dict[str, Row] = {}
        self.runs: dict[tuple[str, str, int], Row] = {}
        self.finished: dict[str, Row] = {}
        self.trials: dict[TrialKey, Row] = {}
        self.retried: dict[TrialKey, Row] = {}
        self.answers: dict[str, Row] = {}
        self.events: list[EventBatch] = []
        self.lost: dict[str, str] = {}
        """Plays whose end was not taken, because another owner holds them."""
        self.failed: dict[str, StoreFailure] = {}
        """Plays, trials and answers with a row that the database refuses; the others of the group are stored."""
        self.rows = 0
        self.size = 0
        self._lock = threading.Lock()
        self._pressing = threading.Event()
        self._done = False
        self._failure: StoreFailure | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._thread: threading.Event | None = None

    def __await__(self) -> Generator[Any, None, None]:
        """Done when all of it is on disk; StoreFailure when some of it never will be."""
        yield from self.joined()
        self.answer_all()

    def joined(self, *, patient: bool = False) -> Generator[Any, None, None]:
        """Until it has been written or given up; says nothing of which."""
        if not self._done and (future := self._waiter()) is not None:
            if not patient:
                self.press()
            yield from future

    def join(self, timeout_s: float | None = None, *, patient: bool = False) -> None:
        """The same, for a thread without an event loop."""
        if self._done:
            return
        if not patient:
            self.press()
        if not self._event().wait(timeout_s):
            raise StoreFailure(f"The store has not answered within {timeout_s} s.", remedy="Wait longer, or look at the disk.")

    @property
    def done(self) -> bool:
        """It has been written or given up."""
        return self._done

    def press(self) -> None:
        """Somebody waits for it."""
        if not self._pressing.is_set():
            self._pressing.set()

    def gather(self, patience_s: float) -> None:
        """Let it grow so long, unless somebody presses."""
        if patience_s > 0.0:
            self._pressing.wait(patience_s)

    def parts(self) -> list[Group]:
        """The same writes, a group to each play with its trial, and to whatever has no play."""
        parts: dict[str, Group] = {}
        for sid, row in self.started.items():
            parts.setdefault(sid, Group()).started[sid] = row
        for key, row in self.runs.items():
            parts.setdefault(key[0], Group()).runs[key] = row
        for sid, row in self.finished.items():
            parts.setdefault(sid, Group()).finished[sid] = row
        for of, row in self.trials.items():
            parts.setdefault(row[_PLAY_OF_TRIAL] or trial_subject(of), Group()).trials[of] = row
        for of, row in self.retried.items():
            parts.setdefault(row[_PLAY_OF_TRIAL] or trial_subject(of), Group()).retried[of] = row
        for name, row in self.answers.items():
            parts.setdefault(answer_subject(name), Group()).answers[name] = row
        for batch in self.events:
            parts.setdefault(batch.subject, Group()).events.append(batch)
        return list(parts.values())

    def subjects(self) -> set[str]:
        """What receipts for these writes ask after."""
        plays = {*self.started, *self.finished, *(key[0] for key in self.runs)}
        trials = {trial_subject(key) for key in (*self.trials, *self.retried)}
        return plays | trials | {answer_subject(name) for name in self.answers} | {batch.subject for batch in self.events}

    def resolve(self, failure: StoreFailure | None) -> None:
        """Tell every waiter: one call into each event loop."""
        with self._lock:
            self._done, self._failure = True, failure
            waiters, self._waiters = self._waiters, []
            if self._thread:
                self._thread.set()
        by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        for future in waiters:
            by_loop.setdefault(future.get_loop(), []).append(future)
        for loop, futures in by_loop.items():
            _wake_in(loop, futures)

    def _waiter(self) -> asyncio.Future[None] | None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._done:
                return None
            self._waiters.append(future)
        return future

    def _event(self) -> threading.Event:
        with self._lock:
            self._thread = self._thread or threading.Event()
            if self._done:
                self._thread.set()
            return self._thread

    def answer(self, sid: str) -> None:
        """Raise what went wrong with the writes of a play, a trial or an answer. A new error each time: many may be told."""
        if (failure := self._failure or self.failed.get(sid)) is not None:
            raise StoreFailure(failure.message, remedy=failure.remedy) from failure
        if (holder := self.lost.get(sid)) is not None:
            raise Conflict(
                f"The play {sid} was taken over by {holder}; its end was not stored again.",
                remedy=f"Look at it with: flowgauge play show {sid}",
            )

    def answer_all(self) -> None:
        """Raise what went wrong with any of it; an end that was not this owner's to write is no failure here."""
        if self._failure is not None or self.failed:
            failure = self._failure or next(iter(self.failed.values()))
            raise StoreFailure(failure.message, remedy=failure.remedy) from failure


class Receipt:
    """For one write: answers for its own play or trial only, whatever became of others in the group."""

    __slots__ = ("_group", "_patient", "_sid")

    def __init__(self, group: Group, sid: str, patient: bool = False) -> None:
        self._group = group
        self._sid = sid
        self._patient = patient

    def __await__(self) -> Generator[Any, None, None]:
        """Done when it is on disk; StoreFailure when it will never be; Conflict for the end of a play that another owner holds."""
        yield from self._group.joined(patient=self._patient)
        self._group.answer(self._sid)

    def done(self) -> bool:
        """It was written, or will never be."""
        return self._group.done

    def result(self) -> None:
        """Once it is done: raises what awaiting it would."""
        self._group.answer(self._sid)

    def wait(self, timeout_s: float | None = None, *, patient: bool = False) -> None:
        """The same, for a thread without an event loop."""
        self._group.join(timeout_s, patient=patient)
        self._group.answer(self._sid)


def _wake_in(loop: asyncio.AbstractEventLoop, futures: list[asyncio.Future[None]]) -> None:
    try:
        loop.call_soon_threadsafe(_wake, futures)
    except RuntimeError:
        if not loop.is_closed():
            raise


def _wake(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
