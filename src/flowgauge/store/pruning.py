"""Old things out of a store.

A bench goes whole: its trials, benchmarks and plays with it, once it is
finished and unless a baseline stands on it. The plays of a bench never go
without it. All other plays go by themselves, once they have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, Select, delete, func, select

from flowgauge.errors import UsageError
from flowgauge.model.play import FINISHED
from flowgauge.store.database import Database, now_ms
from flowgauge.store.removal import KEPT_BENCHES, Removed, count_benches, of_no_bench, remove_benches
from flowgauge.store.schema import answers, benches, node_runs, plays, workflow_versions
from flowgauge.store.workflows import find_workflow

_DAY_MS = 86_400_000
_BATCH = 500
_AFTER_ALL = "~"

KEPT: list[Callable[[], Select[tuple[str]]]] = []
"""Each answers with the sids of plays that may never be pruned."""


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What went, or would go. Plays and node runs of benches are counted in."""

    plays: int
    node_runs: int
    benches: int = 0
    trials: int = 0
    benchmarks: int = 0
    answers: int = 0
    dry_run: bool


class Pruning:
    """The part of a Store that makes room."""

    _database: Database

    def prune(
        self, *, keep_newest: int | None = None, younger_than_days: float | None = None, workflow: str | None = None, dry_run: bool = False
    ) -> Pruned:
        """Delete plays and whole benches, but the newest N of each, or those younger than D days. Never one that has not ended.

        By age, and where no workflow is named, cached answers go too.
        """
        if (keep_newest is None) == (younger_than_days is None):
            raise UsageError("Say what to keep: the newest N plays and benches, or those younger than D days; one of the two.")
        if (keep_newest or 0) < 0 or (younger_than_days or 0) < 0:
            raise UsageError("What to keep cannot be less than nothing.")
        before_ms = None if younger_than_days is None else now_ms() - int(younger_than_days * _DAY_MS)
        with self._database.reading() as connection:
            old_plays = _old_plays(connection, keep_newest, before_ms, workflow)
            old_benches = _old_benches(connection, keep_newest, before_ms, workflow)
            counted = _count(connection, old_plays)
            of_benches = count_benches(connection, select(benches.c.uid).where(*old_benches))
        if not dry_run:
            self._delete_all(old_plays, old_benches)
        return Pruned(
            plays=counted[0] + of_benches.plays,
            node_runs=counted[1] + of_benches.node_runs,
            benches=of_benches.benches,
            trials=of_benches.trials,
            benchmarks=of_benches.benchmarks,
            answers=self._answers(before_ms, dry_run) if workflow is None and before_ms is not None else 0,
            dry_run=dry_run,
        )

    def _delete_all(self, old_plays: list[ColumnElement[bool]], old_benches: list[ColumnElement[bool]]) -> None:
        """Few at a time, so that nobody else waits long for the lock."""
        for uids in self._batches(benches.c.uid, old_benches, 1):
            self._delete_bench(uids)
        for sids in self._batches(plays.c.sid, old_plays, _BATCH):
            self._delete_plays(sids)

    def _batches(self, key: Column[Any], old: list[ColumnElement[bool]], size: int) -> Iterator[list[str]]:
        while True:
            with self._database.reading() as connection:
                found = list(connection.scalars(select(key).where(*old).limit(size)))
            if not found:
                return
            yield found

    def _delete_plays(self, sids: list[str]) -> None:
        ended: Any = plays.c.status.in_(tuple(FINISHED))
        with self._database.writing() as connection:
            gone = delete(plays).where(plays.c.sid.in_(sids), ended).returning(plays.c.sid)
            connection.execute(delete(node_runs).where(node_runs.c.play_sid.in_(list(connection.scalars(gone)))))

    def _delete_bench(self, uids: list[str]) -> Removed:
        """Unless somebody took it up again a moment ago."""
        ended = select(benches.c.uid).where(benches.c.uid.in_(uids), benches.c.status == "finished")
        with self._database.writing() as connection:
            held = list(connection.scalars(ended.with_for_update()))
            return remove_benches(connection, select(benches.c.uid).where(benches.c.uid.in_(held)))

    def _answers(self, before_ms: int, dry_run: bool) -> int:
        old = answers.c.created_at < before_ms
        if dry_run:
            with self._database.reading() as connection:
                return connection.scalar(select(func.count()).select_from(answers).where(old)) or 0
        with self._database.writing() as connection:
            return connection.execute(delete(answers).where(old)).rowcount


def _old_plays(connection: Connection, keep_newest: int | None, before_ms: int | None, workflow: str | None) -> list[ColumnElement[bool]]:
    of_it = [of_no_bench(), *([] if workflow is None else [plays.c.workflow_sid == find_workflow(connection, workflow).sid])]
    conditions = [*of_it, plays.c.status.in_(tuple(FINISHED)), *(plays.c.sid.not_in(kept()) for kept in KEPT)]
    if before_ms is not None:
        return [*conditions, plays.c.started_at < before_ms]
    newest = select(plays.c.sid).where(*of_it).order_by(plays.c.sid.desc())
    return [*conditions, plays.c.sid < _last_kept(connection, newest, keep_newest or 0)]


def _old_benches(connection: Connection, keep_newest: int | None, before_ms: int | None, workflow: str | None) -> list[ColumnElement[bool]]:
    of_it: list[ColumnElement[bool]] = []
    if workflow is not None:
        versions = select(workflow_versions.c.sid).where(workflow_versions.c.workflow_sid == find_workflow(connection, workflow).sid)
        of_it = [benches.c.version_sid.in_(versions)]
    conditions = [*of_it, benches.c.status == "finished", *(benches.c.uid.not_in(kept()) for kept in KEPT_BENCHES)]
    if before_ms is not None:
        return [*conditions, benches.c.finished_at < before_ms]
    newest = select(benches.c.uid).where(*of_it).order_by(benches.c.uid.desc())
    return [*conditions, benches.c.uid < _last_kept(connection, newest, keep_newest or 0)]


def _last_kept(connection: Connection, newest: Select[tuple[str]], count: int) -> str:
    """The oldest key of those that stay; before all keys where there are fewer."""
    return (connection.scalar(newest.limit(1).offset(count - 1)) or "") if count else _AFTER_ALL


def _count(connection: Connection, old: list[ColumnElement[bool]]) -> tuple[int, int]:
    runs = select(func.count()).select_from(node_runs).where(node_runs.c.play_sid.in_(select(plays.c.sid).where(*old)))
    return connection.scalar(select(func.count()).select_from(plays).where(*old)) or 0, connection.scalar(runs) or 0
