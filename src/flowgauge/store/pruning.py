"""Old things out of a store.

A bench goes whole: its trials, benchmarks and plays with it, once it is
finished and unless a baseline stands on it. The plays of a bench never go
without it. All other plays go by themselves, once they have ended; so do
benchmarks that no bench made, by subject. Snapshots of versions and agents stay
unless they are asked for: who lost one would take the next for the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, Select, delete, func, select

from flowgauge.errors import UsageError
from flowgauge.model.play import FINISHED
from flowgauge.store.database import now_ms
from flowgauge.store.events import Events
from flowgauge.store.removal import Removed, count_benches, hold_baselines, kept_benches, of_no_bench, remove_benches
from flowgauge.store.schema import answers, baselines, benches, benchmarks, node_runs, plays, workflow_versions
from flowgauge.store.workflows import find_workflow

_DAY_MS = 86_400_000
_BATCH = 500
_AFTER_ALL = "~"
_SNAPSHOT = "snapshot"
_Which = list[ColumnElement[bool]]


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What went, or would go. Plays and node runs of benches are counted in."""

    plays: int
    node_runs: int
    benches: int = 0
    trials: int = 0
    benchmarks: int = 0
    """Without snapshots."""
    snapshots: int = 0
    answers: int = 0
    events: int = 0
    dry_run: bool


class Pruning(Events):
    """The part of a Store that makes room."""

    def prune(
        self,
        *,
        keep_newest: int | None = None,
        younger_than_days: float | None = None,
        workflow: str | None = None,
        snapshots: bool = False,
        dry_run: bool = False,
    ) -> Pruned:
        """Delete plays and whole benches, but the newest N of each, or those younger than D days. Never one that has not ended.

        Of benchmarks without a bench the newest N of each subject stay. What a baseline stands on stays in any case. With
        `snapshots` those go alike. By age, and where no workflow is named, cached answers and events go too.
        """
        if (keep_newest is None) == (younger_than_days is None):
            raise UsageError("Say what to keep: the newest N plays and benches, or those younger than D days; one of the two.")
        if (keep_newest or 0) < 0 or (younger_than_days or 0) < 0:
            raise UsageError("What to keep cannot be less than nothing.")
        before_ms = None if younger_than_days is None else now_ms() - int(younger_than_days * _DAY_MS)
        with self._database.reading() as connection:
            old_plays = _old_plays(connection, keep_newest, before_ms, workflow)
            old_benches = _old_benches(connection, keep_newest, before_ms, workflow)
            old_benchmarks = _old_benchmarks(connection, keep_newest, before_ms, workflow, snapshots=snapshots)
            counted = _count(connection, old_plays)
            of_benches = count_benches(connection, select(benches.c.uid).where(*old_benches))
            alone, kept_apart = _count_benchmarks(connection, old_benchmarks)
        if not dry_run:
            self._delete_all(old_plays, old_benches, old_benchmarks)
        by_age = before_ms if workflow is None else None
        return Pruned(
            plays=counted[0] + of_benches.plays,
            node_runs=counted[1] + of_benches.node_runs,
            benches=of_benches.benches,
            trials=of_benches.trials,
            benchmarks=of_benches.benchmarks + alone,
            snapshots=kept_apart,
            answers=0 if by_age is None else self._answers(by_age, dry_run),
            events=0 if by_age is None else self.prune_events(by_age, dry_run=dry_run),
            dry_run=dry_run,
        )

    def _delete_all(self, old_plays: _Which, old_benches: _Which, old_benchmarks: _Which) -> None:
        """Few at a time, so that nobody else waits long for the lock."""
        for sids in self._batches(benchmarks.c.sid, old_benchmarks, _BATCH):
            self._delete_benchmarks(sids)
        for uids in self._batches(benches.c.uid, old_benches, 1):
            self._delete_bench(uids)
        for sids in self._batches(plays.c.sid, old_plays, _BATCH):
            self._delete_plays(sids)

    def _batches(self, key: Column[Any], old: _Which, size: int) -> Iterator[list[str]]:
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

    def _delete_benchmarks(self, sids: list[str]) -> None:
        with self._database.writing() as connection:
            hold_baselines(self._database.backend, connection)
            connection.execute(delete(benchmarks).where(benchmarks.c.sid.in_(sids), _no_baseline()))

    def _delete_bench(self, uids: list[str]) -> Removed:
        """Unless somebody took it up again, or set a baseline on it, a moment ago."""
        ended = select(benches.c.uid).where(benches.c.uid.in_(uids), benches.c.status == "finished", benches.c.uid.not_in(kept_benches()))
        with self._database.writing() as connection:
            hold_baselines(self._database.backend, connection)
            held = list(connection.scalars(ended.with_for_update()))
            return remove_benches(connection, select(benches.c.uid).where(benches.c.uid.in_(held)))

    def _answers(self, before_ms: int, dry_run: bool) -> int:
        old = answers.c.created_at < before_ms
        if dry_run:
            with self._database.reading() as connection:
                return connection.scalar(select(func.count()).select_from(answers).where(old)) or 0
        with self._database.writing() as connection:
            return connection.execute(delete(answers).where(old)).rowcount


def _old_plays(connection: Connection, keep_newest: int | None, before_ms: int | None, workflow: str | None) -> _Which:
    of_it = [of_no_bench(), *([] if workflow is None else [plays.c.workflow_sid == find_workflow(connection, workflow).sid])]
    conditions = [*of_it, plays.c.status.in_(tuple(FINISHED))]
    if before_ms is not None:
        return [*conditions, plays.c.started_at < before_ms]
    newest = select(plays.c.sid).where(*of_it).order_by(plays.c.sid.desc())
    return [*conditions, plays.c.sid < _last_kept(connection, newest, keep_newest or 0)]


def _old_benches(connection: Connection, keep_newest: int | None, before_ms: int | None, workflow: str | None) -> _Which:
    of_it: _Which = []
    if workflow is not None:
        versions = select(workflow_versions.c.sid).where(workflow_versions.c.workflow_sid == find_workflow(connection, workflow).sid)
        of_it = [benches.c.version_sid.in_(versions)]
    conditions = [*of_it, benches.c.status == "finished", benches.c.uid.not_in(kept_benches())]
    if before_ms is not None:
        return [*conditions, benches.c.finished_at < before_ms]
    newest = select(benches.c.uid).where(*of_it).order_by(benches.c.uid.desc())
    return [*conditions, benches.c.uid < _last_kept(connection, newest, keep_newest or 0)]


def _old_benchmarks(
    connection: Connection, keep_newest: int | None, before_ms: int | None, workflow: str | None, *, snapshots: bool
) -> _Which:
    """Of those that no bench made: these go with none."""
    of_it: _Which = [benchmarks.c.bench_uid == "", *([] if snapshots else [benchmarks.c.kind != _SNAPSHOT])]
    if workflow is not None:
        of_it.append(benchmarks.c.workflow_sid == find_workflow(connection, workflow).sid)
    if before_ms is not None:
        return [*of_it, _no_baseline(), benchmarks.c.created_at < before_ms]
    place = func.row_number().over(
        partition_by=(benchmarks.c.subject, benchmarks.c.config), order_by=(benchmarks.c.created_at.desc(), benchmarks.c.sid.desc())
    )
    ranked = select(benchmarks.c.sid, place.label("place")).where(*of_it).subquery()
    return [_no_baseline(), benchmarks.c.sid.in_(select(ranked.c.sid).where(ranked.c.place > (keep_newest or 0)))]


def _count_benchmarks(connection: Connection, old: _Which) -> tuple[int, int]:
    """Others, and snapshots."""
    kinds = connection.execute(select(benchmarks.c.kind, func.count()).where(*old).group_by(benchmarks.c.kind))
    counted = {str(kind): int(count) for kind, count in kinds}
    snapshots = counted.pop(_SNAPSHOT, 0)
    return sum(counted.values()), snapshots


def _no_baseline() -> ColumnElement[bool]:
    return benchmarks.c.sid.not_in(select(baselines.c.benchmark_sid))


def _last_kept(connection: Connection, newest: Select[tuple[str]], count: int) -> str:
    """The oldest key of those that stay; before all keys where there are fewer."""
    return (connection.scalar(newest.limit(1).offset(count - 1)) or "") if count else _AFTER_ALL


def _count(connection: Connection, old: _Which) -> tuple[int, int]:
    runs = select(func.count()).select_from(node_runs).where(node_runs.c.play_sid.in_(select(plays.c.sid).where(*old)))
    return connection.scalar(select(func.count()).select_from(plays).where(*old)) or 0, connection.scalar(runs) or 0
