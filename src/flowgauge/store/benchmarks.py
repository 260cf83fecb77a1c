"""Benchmarks in the store: what trials amounted to, and what was measured elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack

import msgspec
from sqlalchemy import Connection, Select, delete, null, select, tuple_

from flowgauge.errors import NotFound, UsageError
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.redaction import MARK
from flowgauge.store.bench_rows import benchmark_values, read_benchmark, read_fingerprint
from flowgauge.store.benches import LATEST
from flowgauge.store.benchmark_filters import Asked, alike, conditions
from flowgauge.store.database import Database
from flowgauge.store.page import DEFAULT_LIMIT, Order, Page, fetch_page
from flowgauge.store.prefix import begins_with
from flowgauge.store.removal import hold_baselines, refuse_baselines
from flowgauge.store.rows import RowEncoder
from flowgauge.store.schema import benchmarks

_NEWEST_FIRST = Order("benchmarks", benchmarks.c.created_at, descending=True, tie=benchmarks.c.sid)
_BY_AGE = (benchmarks.c.created_at, benchmarks.c.sid)
_AGE_DOWN = tuple(column.desc() for column in _BY_AGE)
_FIGURES = tuple(null().label("stats") if column.name == "stats" else column for column in benchmarks.c)
_COMMITS_AT_ONCE = 500


class Benchmarks:
    """The part of a Store that keeps benchmarks."""

    _database: Database
    _encoder: RowEncoder

    def put_benchmarks(self, made: Sequence[Benchmark]) -> tuple[Benchmark, ...]:
        """All or none; as they are stored. That of a bench's configuration takes the place of the one before it, and its sid.

        What no bench made takes the place of what has its sid. So aggregating (after a crash, or more trials) or ingesting again leaves no
        second one, and what names the first still finds it.
        """
        with self._database.writing() as connection:
            return tuple(self._put(connection, each) for each in made)

    def add_benchmark(self, made: Benchmark) -> bool:
        """One that takes nobody's place. False where its sid is taken: of many who add the same one does."""
        row = benchmark_values(self._encoder, made)
        with self._database.writing() as connection:
            added = self._database.backend.insert(benchmarks).values(**row).on_conflict_do_nothing(index_elements=["sid"])
            return connection.scalar(added.returning(benchmarks.c.sid)) is not None

    def get_benchmark(self, ref: str) -> Benchmark:
        """By sid, the beginning of a sid that only one has, or `latest`, which is no snapshot."""
        with self._database.reading() as connection:
            return find_benchmark(connection, ref)

    def list_benchmarks(
        self, cursor: str | None = None, limit: int = DEFAULT_LIMIT, *, with_stats: bool = True, **asked: Unpack[Asked]
    ) -> Page[Benchmark]:
        """Newest first."""
        with self._database.reading() as connection:
            query: Select[Any] = select(*(benchmarks.c if with_stats else _FIGURES)).where(*conditions(connection, asked))
            return fetch_page(connection, query, _NEWEST_FIRST, read_benchmark, cursor, limit)

    def benchmark_sids(self, bench_uids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Of each of these benches: the benchmarks that it made, newest first."""
        query = select(benchmarks.c.bench_uid, benchmarks.c.sid).where(benchmarks.c.bench_uid.in_(bench_uids)).order_by(*_AGE_DOWN)
        made: dict[str, tuple[str, ...]] = dict.fromkeys(bench_uids, ())
        with self._database.reading() as connection:
            for uid, sid in connection.execute(query):
                made[uid] = (*made[uid], sid)
        return made

    def iter_benchmarks(self, *, with_stats: bool = False, **asked: Unpack[Asked]) -> Iterator[Benchmark]:
        """Oldest first, one at a time. `stats`, which are large, are left out unless asked for."""
        with self._database.snapshot() as connection:
            query: Select[Any] = select(*(benchmarks.c if with_stats else _FIGURES)).where(*conditions(connection, asked))
            yield from map(read_benchmark, connection.execute(query.order_by(*_BY_AGE)).mappings())

    def latest_for_version(self, version_sid: str, config: str | None = None) -> Benchmark | None:
        """None where the version was never measured."""
        return next(iter(self.list_benchmarks(limit=1, version=version_sid, config=config).items), None)

    def benchmarks_before(self, like: Benchmark, limit: int) -> tuple[Benchmark, ...]:
        """The last before it of the same kind, name and configuration; oldest first."""
        older = tuple_(*_BY_AGE) < (like.created_at, like.sid)
        query = select(benchmarks).where(*alike(like), older).order_by(*_AGE_DOWN).limit(limit)
        with self._database.reading() as connection:
            return tuple(map(read_benchmark, reversed(connection.execute(query).mappings().all())))

    def newest_by_commits(self, commits: Sequence[str], *, like: Benchmark) -> Benchmark | None:
        """Of the first of these commits that has a benchmark of the same kind, name, configuration and fingerprint: the newest.

        Where none has, the data set alone must be the same; in what else they differ is for the comparison to tell.
        """
        columns = (benchmarks.c.sid, benchmarks.c.commit, benchmarks.c.fingerprint)
        nearest: str | None = None
        with self._database.reading() as connection:
            for start in range(0, len(commits), _COMMITS_AT_ONCE):
                some = commits[start : start + _COMMITS_AT_ONCE]
                query = select(*columns).where(*alike(like), benchmarks.c.commit.in_(some)).order_by(*_BY_AGE)
                found = [(row.commit, row.sid, read_fingerprint(row.fingerprint)) for row in connection.execute(query)]
                same = {commit: sid for commit, sid, fingerprint in found if fingerprint == like.fingerprint}
                if (sid := _first(some, same)) is not None:
                    return find_benchmark(connection, sid)
                nearest = nearest or _first(some, {commit: sid for commit, sid, made in found if made.dataset == like.fingerprint.dataset})
            return find_benchmark(connection, nearest) if nearest else None

    def delete_benchmark(self, ref: str) -> None:
        """Its trials stay. Conflict where a baseline stands on it."""
        with self._database.writing() as connection:
            hold_baselines(self._database.backend, connection)
            found = find_benchmark(connection, ref)
            refuse_baselines(connection, f"The benchmark {found.sid}", benchmarks.c.sid == found.sid)
            connection.execute(delete(benchmarks).where(benchmarks.c.sid == found.sid))

    def _put(self, connection: Connection, made: Benchmark) -> Benchmark:
        same = (benchmarks.c.bench_uid == made.bench_uid, benchmarks.c.config == made.config)
        there = same if made.bench_uid else (benchmarks.c.sid == made.sid,)
        old = connection.scalar(delete(benchmarks).where(*there).returning(benchmarks.c.sid))
        named = msgspec.structs.replace(made, sid=old or made.sid)
        row = benchmark_values(self._encoder, named)
        insert = benchmarks.insert().values(**row)
        if not any(MARK in text for text in row.values() if isinstance(text, str)):
            connection.execute(insert)
            return named
        return read_benchmark(connection.execute(insert.returning(*benchmarks.c)).mappings().one())


def _first(commits: Sequence[str], sids: Mapping[str, str]) -> str | None:
    return next((sids[commit] for commit in commits if commit in sids), None)


def find_benchmark(connection: Connection, ref: str) -> Benchmark:
    """For the other parts of the store."""
    query: Select[Any] = select(benchmarks)
    if ref == LATEST:
        query = query.where(benchmarks.c.kind != "snapshot").order_by(*_AGE_DOWN).limit(1)
    else:
        query = query.where(begins_with(benchmarks.c.sid, ref)).order_by(benchmarks.c.sid).limit(2)
    rows = connection.execute(query).mappings().all()
    if not rows or not ref:
        raise NotFound(f"No benchmark {ref!r} is stored.", remedy="See what there is with: flowgauge benchmark list")
    if len(rows) > 1 and rows[0]["sid"] != ref:
        raise UsageError(f"Several benchmarks begin with {ref}.", remedy="Give more of the sid.")
    return read_benchmark(rows[0])
