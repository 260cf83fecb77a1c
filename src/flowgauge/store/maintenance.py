"""Looking after a store: what is in it, copies of it, and room on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from sqlalchemy import func, select

from flowgauge.errors import Conflict, StoreFailure
from flowgauge.store.backend import Engineering
from flowgauge.store.database import Database
from flowgauge.store.schema import PORTABLE
from flowgauge.store.transfer import Exported, Imported, read_export, write_export


class StoreInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What `flowgauge store info` shows. `place` holds no password."""

    place: str
    exists: bool
    schema_version: int
    rows: dict[str, int]
    engine: Engineering


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

    def size_bytes(self) -> int:
        """How much room it takes."""
        with self._database.reading() as connection:
            return self._database.backend.size_bytes(connection)

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
