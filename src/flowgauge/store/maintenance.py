"""Looking after a store: what is in it, copies of it, and room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, delete, func, select

from flowgauge.errors import Conflict, StoreFailure, UsageError
from flowgauge.model.play import FINISHED
from flowgauge.store.backend import Engineering
from flowgauge.store.database import Database, now_ms
from flowgauge.store.schema import PORTABLE, node_runs, plays
from flowgauge.store.transfer import Exported, Imported, read_export, write_export
from flowgauge.store.workflows import find_workflow

_DAY_MS = 86_400_000
_BATCH = 500

KEPT: list[Callable[[], Select[tuple[str]]]] = []
"""Each answers with the sids of plays that may never be pruned. Empty until there are baselines."""


class StoreInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What `flowgauge store info` shows. `place` holds no password."""

    place: str
    exists: bool
    schema_version: int
    rows: dict[str, int]
    engine: Engineering


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What went, or would go."""

    plays: int
    node_runs: int
    dry_run: bool


class Maintenance:
    """The part of a Store that looks after it."""

    _database: Database

    def info(self) -> StoreInfo:
        """Counts every table and checks the file: takes as long as reading it."""
        with self._database.reading() as connection:
            rows = {table.name: connection.scalar(select(func.count()).select_from(table)) or 0 for table in PORTABLE}
            engine = self._database.backend.describe(connection)
        place, there = self._database.backend.place, self._database.backend.is_there()
        return StoreInfo(place=place, exists=there, schema_version=self._database.schema_version(), rows=rows, engine=engine)

    def backup(self, path: Path | str) -> Path:
        """A copy while others go on writing: an SQLite file, or of a PostgreSQL store an export. Whole or not at all."""
        target = Path(path)
        _refuse_existing(target)
        self._database.prepare()
        with self._database.translated(), _told(target):
            copied = self._database.backend.backup(target)
        if not copied:
            self.export(target)
        return target

    def export(self, path: Path | str) -> Exported:
        """Every row as a line of JSON, compressed where the name ends in .gz; one moment of the store."""
        target = Path(path)
        _refuse_existing(target)
        with _told(target):
            return write_export(self._database, target)

    def import_(self, path: Path | str) -> Imported:
        """What an export holds and this store does not. All of it or, where a line is damaged, nothing."""
        return read_export(self._database, Path(path))

    def vacuum(self) -> None:
        """Give back the room that deleted rows took."""
        self._database.prepare()
        with self._database.translated():
            self._database.backend.vacuum()

    def prune(
        self, *, keep_newest: int | None = None, younger_than_days: float | None = None, workflow: str | None = None, dry_run: bool = False
    ) -> Pruned:
        """Delete plays with their node runs, but the newest N, or those younger than D days. Never one that has not ended."""
        if (keep_newest is None) == (younger_than_days is None):
            raise UsageError("Say what to keep: the newest N plays, or those younger than D days; one of the two.")
        if (keep_newest or 0) < 0 or (younger_than_days or 0) < 0:
            raise UsageError("What to keep cannot be less than nothing.")
        old = self._old(keep_newest, younger_than_days, workflow)
        counted = self._count(old)
        if not dry_run:
            for sids in self._batches(old):
                self._delete(sids)
        return Pruned(plays=counted[0], node_runs=counted[1], dry_run=dry_run)

    def _old(self, keep_newest: int | None, younger_than_days: float | None, workflow: str | None) -> list[ColumnElement[bool]]:
        with self._database.reading() as connection:
            of_it = [] if workflow is None else [plays.c.workflow_sid == find_workflow(connection, workflow).sid]
            conditions = [*of_it, plays.c.status.in_(tuple(FINISHED)), *(plays.c.sid.not_in(kept()) for kept in KEPT)]
            if younger_than_days is not None:
                return [*conditions, plays.c.started_at < now_ms() - int(younger_than_days * _DAY_MS)]
            newest = select(plays.c.sid).where(*of_it).order_by(plays.c.sid.desc()).limit(1).offset(max((keep_newest or 0) - 1, 0))
            last_kept = connection.scalar(newest) if keep_newest else "~"
            return [*conditions, plays.c.sid < (last_kept or "")]

    def _count(self, old: list[ColumnElement[bool]]) -> tuple[int, int]:
        runs = select(func.count()).select_from(node_runs).where(node_runs.c.play_sid.in_(select(plays.c.sid).where(*old)))
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(plays).where(*old)) or 0, connection.scalar(runs) or 0

    def _batches(self, old: list[ColumnElement[bool]]) -> Iterator[list[str]]:
        """Few at a time, so that nobody else waits long for the lock."""
        while True:
            with self._database.reading() as connection:
                sids = list(connection.scalars(select(plays.c.sid).where(*old).limit(_BATCH)))
            if not sids:
                return
            yield sids

    def _delete(self, sids: list[str]) -> None:
        ended: Any = plays.c.status.in_(tuple(FINISHED))
        with self._database.writing() as connection:
            gone = delete(plays).where(plays.c.sid.in_(sids), ended).returning(plays.c.sid)
            connection.execute(delete(node_runs).where(node_runs.c.play_sid.in_(list(connection.scalars(gone)))))


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise Conflict(f"There is a file {path} already.", remedy="Choose another name, or delete it.")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of the file system while a file is written, as a person needs them."""
    try:
        yield
    except FileExistsError as error:
        raise Conflict(f"There is a file {path} already.", remedy="Choose another name, or delete it.") from error
    except OSError as error:
        raise StoreFailure(f"{path} cannot be written: {error.strerror}.", remedy="Choose another place.") from error
