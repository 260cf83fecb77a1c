"""SQLite: a file, WAL, and exactly one connection that checkpoints.

Every connection has automatic checkpoints off; the journal's writer does them,
under a lock that all processes share, because SQLite before 3.51.3 can damage
a file when two connections checkpoint at once. (The last connection to close
checkpoints too: it is alone by then.)
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, Table, create_engine, event, text
from sqlalchemy.dialects.sqlite import Insert, insert

from flowgauge.errors import StoreFailure
from flowgauge.store.address import FOLDER, SqliteAddress
from flowgauge.store.backend import Engineering
from flowgauge.store.bulk import Upsert
from flowgauge.store.failures import sqlite_failure, sqlite_transient
from flowgauge.store.filelock import locked
from flowgauge.store.migrations import SQLITE
from flowgauge.store.rows import Row

BUSY_S = 15.0
CHECKPOINT_BYTES = 4 << 20
TRUNCATE_BYTES = 64 << 20
_BUG_FIXED = (3, 51, 3)
_WAL_SINCE = (3, 7, 0)
WRITES = "flowgauge_writes"
"""Execution option: this transaction will write, so it takes the lock at once."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection as every one of ours is: durable, patient, never checkpointing by itself."""
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    return connection


class SqliteBackend:
    """See `backend.Backend`."""

    mark = "?"
    wording = SQLITE
    driver_error = sqlite3.Error
    row_errors = (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError)

    def __init__(self, address: SqliteAddress) -> None:
        self.path = address.path
        self.place = address.place
        self._wal = Path(f"{self.path}-wal")
        self._lock = Path(f"{self.path}-lock")

    def insert(self, table: Table) -> Insert:
        """Core's insert of this dialect."""
        return insert(table)

    def is_there(self) -> bool:
        """An empty file is not: SQLite makes one before its first write."""
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self.failure(error) from error

    def make_room(self) -> None:
        """The folder `.flowgauge` is made, and kept out of version control; any other must be there."""
        folder = self.path.parent
        if folder.name == FOLDER and not folder.is_dir():
            try:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / ".gitignore").write_text("*\n")
            except OSError as error:
                raise self.failure(error) from error
        if not folder.is_dir():
            raise StoreFailure(f"The store {self.place} cannot be made: there is no folder {folder}.", remedy=f"Run: mkdir -p {folder}")
        if not self.path.exists():
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))  # prompts and answers are their owner's own
            except OSError as error:
                raise self.failure(error) from error

    def engine(self) -> Engine:
        """Reads see one moment; a transaction marked WRITES has the write lock from its beginning."""
        engine = create_engine("sqlite+pysqlite://", creator=lambda: connect(self.path), poolclass=QueuePool, pool_size=4, max_overflow=28)
        event.listen(engine, "begin", _begin)
        return engine

    @contextmanager
    def migrating(self, connection: Connection) -> Iterator[None]:
        """A file lock around the change to WAL, for which SQLite waits for nobody."""
        with locked(self._lock, wait_s=BUSY_S) as mine:
            if not mine:
                raise self.failure(sqlite3.OperationalError("database is locked: another process has been migrating it"))
            raw = connection.connection.driver_connection
            if raw is not None and raw.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                raw.execute("PRAGMA journal_mode=WAL")
            yield

    def hold(self, _connection: Connection, _name: str) -> None:
        """Nothing to do: who writes is alone with the whole file."""

    def tables(self, connection: Connection) -> frozenset[str]:
        """Which tables there are."""
        return frozenset(connection.scalars(text("SELECT name FROM sqlite_master WHERE type = 'table'")))

    def writer(self) -> SqliteWriter:
        """A connection for the journal."""
        return SqliteWriter(connect(self.path), self._wal, self._lock)

    def failure(self, error: BaseException) -> StoreFailure:
        """What to tell the person."""
        return sqlite_failure(error, self.place)

    def is_transient(self, error: BaseException) -> bool:
        """Somebody else was writing."""
        return sqlite_transient(error)

    def batches(self, connection: Connection, sql: str, values: Sequence[Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
        """SQLite makes rows when it is asked for them."""
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        with closing(raw.execute(sql, values)) as cursor:
            while rows := cursor.fetchmany(size):
                yield rows

    def size_bytes(self, _connection: Connection) -> int:
        """The file and its WAL."""
        return _size(self.path) + _size(self._wal)

    def describe(self, connection: Connection) -> Engineering:
        """For `info`; reads the whole file once."""
        return Engineering(
            backend="sqlite",
            version=sqlite3.sqlite_version,
            size_bytes=_size(self.path),
            wal_bytes=_size(self._wal),
            journal_mode=str(connection.scalar(text("PRAGMA journal_mode"))),
            wal_reset_bug=_WAL_SINCE <= sqlite3.sqlite_version_info < _BUG_FIXED,
            check="; ".join(connection.scalars(text("PRAGMA quick_check(20)"))),
        )

    def vacuum(self) -> None:
        """Rebuild the file, then empty the WAL."""
        with closing(connect(self.path)) as connection, locked(self._lock, wait_s=BUSY_S) as mine:
            connection.execute("VACUUM")
            if mine:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def backup(self, path: Path) -> bool:
        """SQLite's online copy to a neighbour, then a name that must be new: whole or not at all."""
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        try:
            with closing(connect(self.path)) as source, closing(sqlite3.connect(name, isolation_level=None)) as target:
                source.backup(target)
                target.execute("PRAGMA journal_mode=DELETE")
            _to_disk(Path(name))
            os.link(name, path)
        finally:
            Path(name).unlink(missing_ok=True)
        return True


class SqliteWriter:
    """See `backend.Writer`."""

    def __init__(self, connection: sqlite3.Connection, wal: Path, lock: Path) -> None:
        self._connection = connection
        self._wal = wal
        self._lock = lock
        self._size_then = 0
        """Of the WAL, at the last checkpoint. After one it is written over and keeps its size, so that alone says little."""
        self._written = 0
        """Since then, about."""

    def begin(self) -> None:
        """With the write lock, so that waiting happens here and nowhere else."""
        self._connection.execute("BEGIN IMMEDIATE")

    def put(self, upsert: Upsert, rows: Sequence[Row]) -> int:
        """Write rows; how many were inserted or changed."""
        return sum(self._connection.execute(sql, values).rowcount for sql, values in upsert.parts(rows))

    def query(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Run a statement; what it answers."""
        return self._connection.execute(sql, values).fetchall()

    def commit(self) -> None:
        """On disk when this returns."""
        self._connection.execute("COMMIT")

    def settle(self, written: int) -> None:
        """Checkpoint once much is in the WAL, unless another process is at it."""
        size = _size(self._wal)
        self._written += written
        new = max(self._written, size - self._size_then)
        if size < CHECKPOINT_BYTES or (new < CHECKPOINT_BYTES and size < TRUNCATE_BYTES):
            return
        with locked(self._lock) as mine:
            if mine and size < TRUNCATE_BYTES:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            elif mine:
                self._truncate()
        self._size_then, self._written = _size(self._wal), 0

    def _truncate(self) -> None:
        """Waits for readers, so it is given little time: the journal must go on."""
        self._connection.execute("PRAGMA busy_timeout=100")
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            self._connection.execute(f"PRAGMA busy_timeout={int(BUSY_S * 1000)}")

    def forget(self) -> None:
        """Roll back."""
        self._connection.rollback()

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
