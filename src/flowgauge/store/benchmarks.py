"""Benchmarks in the store: what trials amounted to, newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, delete, func, or_, select

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.benchmark import Benchmark
from flowgauge.store.bench_rows import benchmark_values, read_benchmark
from flowgauge.store.benches import LATEST, find_bench
from flowgauge.store.database import Database
from flowgauge.store.page import DEFAULT_LIMIT, Order, Page, fetch_page
from flowgauge.store.prefix import begins_with
from flowgauge.store.removal import KEPT_BENCHES
from flowgauge.store.rows import RowEncoder
from flowgauge.store.schema import benches, benchmarks
from flowgauge.store.workflows import find_workflow

_NEWEST_FIRST = Order("benchmarks", benchmarks.c.created_at, descending=True, tie=benchmarks.c.sid)


class Benchmarks:
    """The part of a Store that keeps benchmarks."""

    _database: Database
    _encoder: RowEncoder

    def put_benchmarks(self, made: Sequence[Benchmark]) -> tuple[Benchmark, ...]:
        """All or none; as they are stored. That of a bench's configuration takes the place of the one before it, and its sid.

        So aggregating again (after a crash, or more trials) leaves no second one, and what names the first still finds it.
        """
        with self._database.writing() as connection:
            return tuple(self._put(connection, each) for each in made)

    def get_benchmark(self, ref: str) -> Benchmark:
        """By sid, the beginning of a sid that only one has, or `latest`."""
        with self._database.reading() as connection:
            return _find(connection, ref)

    def list_benchmarks(
        self,
        cursor: str | None = None,
        limit: int = DEFAULT_LIMIT,
        *,
        workflow: str | None = None,
        version: str | None = None,
        bench: str | None = None,
        config: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Page[Benchmark]:
        """Newest first. `workflow` by name or sid, `version` by sid, `bench` by whatever `get_bench` takes; all `tags` must fit."""
        query = select(benchmarks).where(*(_tagged(key, value) for key, value in (tags or {}).items()))
        with self._database.reading() as connection:
            wanted = {
                benchmarks.c.workflow_sid: workflow and find_workflow(connection, workflow).sid,
                benchmarks.c.workflow_version_sid: version,
                benchmarks.c.bench_uid: bench and find_bench(connection, bench).uid,
                benchmarks.c.config: config,
            }
            query = query.where(*(column == value for column, value in wanted.items() if value is not None))
            return fetch_page(connection, query, _NEWEST_FIRST, read_benchmark, cursor, limit)

    def latest_for_version(self, version_sid: str, config: str | None = None) -> Benchmark | None:
        """None where the version was never measured."""
        return next(iter(self.list_benchmarks(limit=1, version=version_sid, config=config).items), None)

    def delete_benchmark(self, ref: str) -> None:
        """Its trials stay. Conflict where a baseline stands on its bench."""
        with self._database.writing() as connection:
            found = _find(connection, ref)
            if any(connection.scalar(kept().where(benches.c.uid == found.bench_uid)) for kept in KEPT_BENCHES):
                raise Conflict(f"A baseline stands on the bench of {found.sid}.", remedy="Remove the baseline first.")
            connection.execute(delete(benchmarks).where(benchmarks.c.sid == found.sid))

    def _put(self, connection: Connection, made: Benchmark) -> Benchmark:
        same = (benchmarks.c.bench_uid == made.bench_uid, benchmarks.c.config == made.config)
        old = connection.scalar(delete(benchmarks).where(*same).returning(benchmarks.c.sid)) if made.bench_uid else None
        row = benchmark_values(self._encoder, msgspec.structs.replace(made, sid=old or made.sid))
        return read_benchmark(connection.execute(benchmarks.insert().values(**row).returning(*benchmarks.c)).mappings().one())


def _find(connection: Connection, ref: str) -> Benchmark:
    query: Select[Any] = select(benchmarks)
    if ref == LATEST:
        query = query.order_by(benchmarks.c.created_at.desc(), benchmarks.c.sid.desc()).limit(1)
    else:
        query = query.where(begins_with(benchmarks.c.sid, ref)).order_by(benchmarks.c.sid).limit(2)
    rows = connection.execute(query).mappings().all()
    if not rows or not ref:
        raise NotFound(f"No benchmark {ref!r} is stored.", remedy="See what there is with: flowgauge benchmark list")
    if len(rows) > 1 and rows[0]["sid"] != ref:
        raise UsageError(f"Several benchmarks begin with {ref}.", remedy="Give more of the sid.")
    return read_benchmark(rows[0])


def _tagged(key: str, value: str) -> ColumnElement[bool]:
    """Looks for the pair as JSON writes it. A quote within a text is escaped there, so nothing else can look like it."""
    pair = f"{msgspec.json.encode(key).decode()}:{msgspec.json.encode(value).decode()}"
    # `replace` knows case on both databases; LIKE does not on SQLite.
    return or_(*(func.replace(benchmarks.c.tags, before + pair, "") != benchmarks.c.tags for before in "{,"))
