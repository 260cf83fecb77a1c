"""What the two databases do differently: everything that is not a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import msgspec
from sqlalchemy import Connection, Engine, Table

from flowgauge.errors import StoreFailure
from flowgauge.store.bulk import Upsert
from flowgauge.store.migrations import Wording
from flowgauge.store.rows import Row


class Writer(Protocol):
    """The journal's own connection. A failed group is rolled back by `forget`."""

    def begin(self) -> None:
        """Open a transaction."""

    def put(self, upsert: Upsert, rows: Sequence[Row]) -> int:
        """Write rows of unlike keys; how many were inserted or changed."""

    def query(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Run a statement; what it answers."""

    def commit(self) -> None:
        """On disk when this returns."""

    def settle(self, written: int) -> None:
        """After a commit, with about how many bytes it was: what the database needs from time to time."""

    def forget(self) -> None:
        """Roll back."""

    def close(self) -> None:
        """Let go of the connection."""


class Engineering(msgspec.Struct, frozen=True, kw_only=True):
    """What `info` says about the database itself."""

    backend: str
    version: str
    size_bytes: int
    journal_mode: str
    wal_bytes: int | None = None
    wal_reset_bug: bool = False
    """SQLite before 3.51.3 can damage a file when two connections checkpoint at once; here only one ever does."""
    check: str
    """`ok`, or what is wrong."""


class Backend(Protocol):
    """A database that can hold a store."""

    place: str
    mark: str
    """The driver's placeholder."""
    wording: Wording

    @property
    def driver_error(self) -> type[Exception]:
        """The root of the driver's errors."""

    @property
    def row_errors(self) -> tuple[type[Exception], ...]:
        """Errors that one row's values cause."""

    def insert(self, table: Table) -> Any:
        """Core's insert of this dialect: it knows on_conflict_do_nothing."""

    def is_there(self) -> bool:
        """Whether there is anything to read yet."""

    def make_room(self) -> None:
        """Before the first write: folders."""

    def engine(self) -> Engine:
        """Connections for reads and small writes."""

    def migrating(self, connection: Connection) -> AbstractContextManager[None]:
        """Hold off every other process that would migrate."""

    def hold(self, connection: Connection, name: str) -> None:
        """Within a transaction that writes: until it ends, nobody else holds this name."""

    def tables(self, connection: Connection) -> frozenset[str]:
        """Which tables there are."""

    def writer(self) -> Writer:
        """A connection for the journal."""

    def failure(self, error: BaseException) -> StoreFailure:
        """What to tell the person."""

    def is_transient(self, error: BaseException) -> bool:
        """Whether trying again may help."""

    def batches(self, connection: Connection, sql: str, values: Sequence[object], size: int, /) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a query as the driver makes them, so many at a time; never all of them in memory."""

    def size_bytes(self, connection: Connection) -> int:
        """How much room it takes; quick."""

    def describe(self, connection: Connection) -> Engineering:
        """For `info`."""

    def vacuum(self) -> None:
        """Give back what deleted rows took."""

    def backup(self, path: Path, /) -> bool:
        """Copy the whole database to a new file; False where only an export can."""
