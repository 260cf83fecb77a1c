"""PostgreSQL by psycopg 3.

Commits wait for the disk even where the server's default is not to. The tables
live in the first schema of the connection's search path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, func, select, text
from sqlalchemy.dialects.postgresql import Insert, insert

from flowgauge.errors import MissingExtra, StoreFailure
from flowgauge.store.address import PostgresAddress
from flowgauge.store.backend import Engineering
from flowgauge.store.bulk import Upsert
from flowgauge.store.failures import postgres_failure
from flowgauge.store.migrations import POSTGRES
from flowgauge.store.rows import Row

try:
    import psycopg
    from psycopg.types.numeric import Int8Dumper
except ImportError as missing:
    raise MissingExtra("A store in PostgreSQL", "postgres") from missing

CONNECT_S = 10
_MIGRATION_LOCK = 0x666C6F77
_DURABLE = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')"
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
_CURSOR = "flowgauge_columns"
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass)), 0)
FROM pg_tables WHERE schemaname = current_schema()"""


class PostgresBackend:
    """See `backend.Backend`."""

    mark = "%s"
    wording = POSTGRES
    driver_error = psycopg.Error
    row_errors = (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError)

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._url = address.url.update_query_dict({"connect_timeout": str(CONNECT_S)} | _query(address))
        self.place = address.place

    def insert(self, table: Table) -> Insert:
        """Core's insert of this dialect."""
        return insert(table)

    def is_there(self) -> bool:
        """A server is always there; if not, connecting says so."""
        return True

    def make_room(self) -> None:
        """Nothing: databases are made by their administrator."""

    def engine(self) -> Engine:
        """Connections are tried before use: a server may have been restarted since."""
        engine = create_engine(self._url, pool_pre_ping=True, pool_size=4, max_overflow=28, use_native_hstore=False)
        event.listen(engine, "connect", lambda connection, _record: _prepare(connection))
        return engine

    @contextmanager
    def migrating(self, connection: Connection) -> Iterator[None]:
        """A lock of the server's, kept until the connection lets go of it."""
        raw = _driver(connection)
        raw.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
        raw.commit()
        try:
            yield
        finally:
            raw.rollback()
            raw.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATION_LOCK,))
            raw.commit()

    def hold(self, connection: Connection, name: str) -> None:
        """A lock of the server's that ends with the transaction. Names that share a number only wait for each other."""
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, _MIGRATION_LOCK))))

    def tables(self, connection: Connection) -> frozenset[str]:
        """Which tables there are in the schema that new ones would go to."""
        return frozenset(connection.scalars(text(_TABLES)))

    def writer(self) -> PostgresWriter:
        """A connection for the journal."""
        arguments = self._url.translate_connect_args(username="user", database="dbname") | dict(self._url.query)
        connection: psycopg.Connection[Any] = psycopg.connect(**arguments)
        _prepare(connection)
        return PostgresWriter(connection)

    def failure(self, error: BaseException) -> StoreFailure:
        """What to tell the person."""
        return postgres_failure(error, self.place, self._address.hide)

    def is_transient(self, error: BaseException) -> bool:
        """The connection broke, or another transaction was in the way."""
        if isinstance(error, psycopg.errors.SerializationFailure | psycopg.errors.DeadlockDetected | psycopg.errors.LockNotAvailable):
            return True
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)

    def batches(self, connection: Connection, sql: str, values: Sequence[object], size: int) -> Iterator[list[tuple[Any, ...]]]:
        """By a cursor that the server keeps; in binary, because numbers need not be parsed then."""
        with _driver(connection).cursor(_CURSOR, binary=True) as cursor:
            cursor.execute(sql, values)
            while rows := cursor.fetchmany(size):
                yield rows

    def size_bytes(self, connection: Connection) -> int:
        """Our tables and their indexes."""
        return int(connection.scalar(text(_SIZE)) or 0)

    def describe(self, connection: Connection) -> Engineering:
        """For `info`."""
        return Engineering(
            backend="postgresql",
            version=str(connection.scalar(text("SHOW server_version"))),
            size_bytes=self.size_bytes(connection),
            journal_mode=f"synchronous_commit={connection.scalar(text('SHOW synchronous_commit'))}",
            check="ok",
        )

    def vacuum(self) -> None:
        """Every table of ours, with fresh statistics."""
        from flowgauge.store.schema import metadata

        writer = self.writer()
        try:
            writer.vacuum(tuple(metadata.tables))
        finally:
            writer.close()

    def backup(self, _path: Path) -> bool:
        """The server's own tools copy it better; an export is what we can do from here."""
        return False


class PostgresWriter:
    """See `backend.Writer`."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        # One width of integer and no guess by value: the same statement is then the same prepared statement.
        connection.adapters.register_dumper(int, Int8Dumper)

    def begin(self) -> None:
        """The first statement does it."""

    def put(self, upsert: Upsert, rows: Sequence[Row]) -> int:
        """Write rows; how many were inserted or changed."""
        if not rows:
            return 0
        with self._connection.cursor() as cursor:
            cursor.executemany(upsert.single, rows)
            return cursor.rowcount

    def query(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Run a statement; what it answers."""
        return self._connection.execute(sql, values).fetchall()

    def commit(self) -> None:
        """On disk when this returns."""
        self._connection.commit()

    def settle(self, written: int) -> None:
        """The server looks after itself."""

    def forget(self) -> None:
        """Roll back."""
        self._connection.rollback()

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def vacuum(self, tables: Sequence[str]) -> None:
        """Outside any transaction."""
        self._connection.autocommit = True
        for table in tables:
            self._connection.execute(psycopg.sql.SQL("VACUUM (ANALYZE) {}").format(psycopg.sql.Identifier(table)))


def _query(address: PostgresAddress) -> dict[str, str]:
    return {name: str(value) for name, value in address.url.query.items()}


def _prepare(connection: psycopg.Connection[Any]) -> None:
    connection.execute(_DURABLE)
    connection.commit()


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    return raw
