"""A store as lines of JSON, and back: the way between SQLite and PostgreSQL.

The first line says what the file is, the last how many rows it holds; between
them one row a line, `[table, {column: value}]`, streamed both ways. An import
happens in one transaction: a damaged line leaves the store as it was.
"""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import msgspec
from sqlalchemy import Connection, Table, select

from flowgauge.errors import StoreFailure, UsageError
from flowgauge.store.database import Database, now_ms
from flowgauge.store.merge import Merge
from flowgauge.store.migrations import newest
from flowgauge.store.schema import PORTABLE

FORMAT = 1
LINE_BYTES = 512 << 20
_BATCH_ROWS = 200
_BATCH_BYTES = 8 << 20
LATER: Final[dict[str, tuple[int, dict[str, Any]]]] = {
    "benchmarks": (3, {"subject": "", "metrics": None}),
    "benches": (5, {"cancel_requested": 0}),
}
"""Columns that a table was given later: since which schema, and what they are in an older export."""
_Found = tuple[Table, dict[str, Any], int]
"""A row, its table, and how long its line was."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    flowgauge_export: int
    schema_version: int
    created_at: int


class Footer(msgspec.Struct, frozen=True, kw_only=True):
    """The last line: without it the file was cut short."""

    end: bool
    rows: int


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What was written."""

    rows: dict[str, int]


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What was new and what was there already, per table."""

    added: dict[str, int]
    kept: dict[str, int]
    notes: tuple[str, ...] = ()
    """Where the two stores were of two minds, and which was followed."""


def write_export(database: Database, path: Path) -> Exported:
    """To a neighbour first, then under its name: whole or not at all."""
    counts: dict[str, int] = {}
    with _new_file(path) as file, database.snapshot() as connection:
        _line(file, Header(flowgauge_export=FORMAT, schema_version=newest(), created_at=now_ms()))
        for table in PORTABLE:
            counts[table.name] = _write_table(file, connection, table)
        _line(file, Footer(end=True, rows=sum(counts.values())))
    return Exported(rows=counts)


def _write_table(file: IO[bytes], connection: Connection, table: Table) -> int:
    order = table.c.seq if "seq" in table.c else next(iter(table.primary_key))
    columns = [column for column in table.c if column.name != "seq"]
    name, names = str(table.name), [str(column.name) for column in columns]
    count = 0
    for row in connection.execute(select(*columns).order_by(order)):
        _line(file, [name, dict(zip(names, row, strict=True))])
        count += 1
    return count


def read_export(database: Database, path: Path) -> Imported:
    """Into a store that may hold some of it already."""
    with database.writing() as connection:
        merge = Merge(connection, database.backend)
        for table, rows in _batches(_rows(path)):
            merge.add(table, rows)
    return Imported(added=merge.added, kept=merge.kept, notes=tuple(merge.notes))


def _line(file: IO[bytes], value: object) -> None:
    file.write(msgspec.json.encode(value))
    file.write(b"\n")


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=5, filename="") as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.link(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def _batches(rows: Iterator[_Found]) -> Iterator[tuple[Table, list[dict[str, Any]]]]:
    """Rows of one table, bounded in number and in memory."""
    table, batch, size = None, list[dict[str, Any]](), 0
    for owner, row, length in rows:
        if table is not None and (owner is not table or len(batch) >= _BATCH_ROWS or size >= _BATCH_BYTES):
            yield table, batch
            batch, size = [], 0
        table, size = owner, size + length
        batch.append(row)
    if table is not None:
        yield table, batch


def _rows(path: Path) -> Iterator[_Found]:
    """Every row of the file, checked. UsageError names the line that is damaged."""
    lines = _lines(path)
    schema = _check_header(path, next(lines, (1, b""))[1])
    decoder = msgspec.json.Decoder(Footer | tuple[str, dict[str, Any]])
    tables = {table.name: table for table in PORTABLE}
    rows, footer = 0, None
    for number, line in lines:
        try:
            found = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _damaged(path, number, str(error)) from error
        if footer is not None:
            raise _damaged(path, number, "there is more after the end")
        if isinstance(found, Footer):
            footer = found
            continue
        rows += 1
        yield *_row(tables, found, schema, path, number), len(line)
    if footer is None or footer.rows != rows:
        raise UsageError(f"{path} was cut short: it holds {rows} rows and not its end.", remedy="Export again; nothing was imported.")


def _row(tables: dict[str, Table], found: tuple[str, dict[str, Any]], schema: int, path: Path, number: int) -> tuple[Table, dict[str, Any]]:
    name, row = found
    table = tables.get(name)
    if table is None:
        raise _damaged(path, number, f"no table {name!r} is known")
    since, later = LATER.get(name, (0, {}))
    if schema < since:
        row = later | row
    expected = {column.name for column in table.c} - {"seq"}
    if row.keys() != expected:
        raise _damaged(path, number, f"the columns of {name} differ: {', '.join(sorted(row.keys() ^ expected))}")
    if table.name == "workflow_versions":
        try:
            row["content"] = msgspec.convert(row["content"], bytes)
        except msgspec.ValidationError as error:
            raise _damaged(path, number, str(error)) from error
    return table, row


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with _opened(path) as file:
            number = 0
            while line := file.readline(LINE_BYTES):
                number += 1
                yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path} is damaged: {error}.", remedy="Export again; nothing was imported.") from error
    except OSError as error:
        raise StoreFailure(f"{path} cannot be read: {error.strerror}.", remedy="Check its name and your rights.") from error


def _opened(path: Path) -> IO[bytes]:
    """By what it is, not by its name."""
    file = path.open("rb")
    if file.peek(2)[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    return file


def _check_header(path: Path, line: bytes) -> int:
    """The schema that it was written by."""
    try:
        header = msgspec.json.decode(line, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not an export of Flowgauge.", remedy="Make one with: flowgauge store export FILE.jsonl") from error
    if header.flowgauge_export > FORMAT or header.schema_version > newest():
        raise UsageError(f"{path} was written by a newer Flowgauge.", remedy="Run: pip install --upgrade flowgauge")
    return header.schema_version


def _damaged(path: Path, number: int, why: str) -> UsageError:
    return UsageError(f"{path}:{number}: the line is damaged: {why}.", remedy="Export again; nothing was imported.")
