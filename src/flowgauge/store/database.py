"""One open database: transactions for reads and small writes, and its schema.

An up-to-date database costs one small read to open. A file that is not there
reads as an empty store, and is made by the first write. Refuses to be used
after a fork: connections do not survive one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from sqlalchemy import Connection, Engine, StaticPool, create_engine, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from flowgauge.errors import StoreFailure
from flowgauge.store.backend import Backend
from flowgauge.store.migrations import SQLITE, migrate, newest
from flowgauge.store.schema import meta, metadata
from flowgauge.store.sqlite import WRITES


class Database:
    """Thread-safe. Every error of a driver leaves it as a StoreFailure."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._pid = os.getpid()
        self._ready = False
        self._closed = False
        self._preparing = threading.Lock()
        if backend.is_there():
            self.prepare()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads, and sees one moment of the database on SQLite."""
        self.check_usable()
        engine = self._engine if self._there() else self._nothing
        with self.translated(), engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on disk when it is left without an error."""
        self.check_usable()
        self.prepare()
        with self.translated(), self._engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A long read that sees one moment on every database, and streams."""
        self.check_usable()
        engine = self._engine if self._there() else self._nothing
        level = {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        with self.translated(), engine.connect().execution_options(yield_per=200, **level) as connection:
            yield connection

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Around whatever talks to a driver."""
        try:
            yield
        except DBAPIError as error:
            raise self.backend.failure(error.orig or error) from error
        except PoolTimeout as error:
            raise StoreFailure(f"The store {self.backend.place} has no free connection.", remedy="Ask for less at once.") from error
        except self.backend.driver_error as error:
            raise self.backend.failure(error) from error

    def prepare(self) -> None:
        """Make the database what this program expects; quick when it is already."""
        if self._ready:
            return
        with self._preparing:
            if not self._ready:
                if not self.backend.is_there():
                    self.backend.make_room()
                with self.translated(), self._engine.connect() as connection:
                    self._bring_up(connection)
                self._ready = True

    def schema_version(self) -> int:
        """Of the database as it stands; 0 where there is none yet."""
        with self.reading() as connection:
            return self._version(connection)

    def check_usable(self) -> None:
        """Refuse a closed store, and one that came through a fork."""
        if self._closed:
            raise StoreFailure(f"The store {self.backend.place} is closed.", remedy="Open it again.")
        if os.getpid() != self._pid:
            raise StoreFailure(
                f"The store {self.backend.place} was opened by process {self._pid} and is used in its fork {os.getpid()}.",
                remedy="Open the store again in the new process.",
            )

    def close(self) -> None:
        """Let go of all connections that are not in use."""
        self._closed = True
        if os.getpid() == self._pid:
            self._engine.dispose()
            if "_nothing" in self.__dict__:
                self._nothing.dispose()

    @cached_property
    def _engine(self) -> Engine:
        return self.backend.engine()

    @cached_property
    def _nothing(self) -> Engine:
        """An empty store in memory: what a file that is not there reads as."""
        engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        with engine.begin() as connection:
            migrate(connection, 0, SQLITE)
        return engine

    def _there(self) -> bool:
        """Another process may have made the file since."""
        if not self._ready and self.backend.is_there():
            self.prepare()
        return self._ready

    def _bring_up(self, connection: Connection) -> None:
        present = self._version(connection)
        connection.rollback()
        if present == newest():
            return
        with self.backend.migrating(connection), connection.execution_options(**{WRITES: True}).begin():
            present = self._version(connection)
            if present < newest():
                migrate(connection, present, self.backend.wording)

    def _version(self, connection: Connection) -> int:
        tables = self.backend.tables(connection)
        if meta.name not in tables:
            self._refuse_strange(tables)
            return 0
        stored = connection.scalar(select(meta.c.value).where(meta.c.key == "schema_version"))
        if stored is None or not stored.isdigit():
            raise StoreFailure(
                f"The store {self.backend.place} does not say its schema version.", remedy="Name another database with --db."
            )
        if int(stored) > newest():
            raise StoreFailure(
                f"The store {self.backend.place} was written by a newer Flowgauge (schema {stored}; this one knows {newest()}).",
                remedy="Run: pip install --upgrade flowgauge",
            )
        return int(stored)

    def _refuse_strange(self, tables: frozenset[str]) -> None:
        """A file of somebody else's, or tables of ours without their version: both would be damaged by a migration."""
        taken = tables if self.backend.wording is SQLITE else tables & frozenset(metadata.tables)
        if taken:
            raise StoreFailure(
                f"The database {self.backend.place} holds other tables and no store ({', '.join(sorted(taken)[:5])}).",
                remedy="Name another database with --db or FLOWGAUGE_DB.",
            )


def now_ms() -> int:
    """The moment, for created_at and leases."""
    return int(time.time() * 1000)
