"""Baselines: benchmarks under a name, that others are held against.

Only who sets one moves it. What stood under a name before is kept beside it,
as a note of what was there: only the benchmark that a baseline stands on now is
kept from being deleted.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from sqlalchemy import Connection, RowMapping, delete, select

from flowgauge.errors import NotFound, UsageError
from flowgauge.model.ids import BENCHMARK
from flowgauge.model.verdict import Baseline
from flowgauge.store.backend import Backend
from flowgauge.store.benches import LATEST
from flowgauge.store.benchmarks import find_benchmark
from flowgauge.store.database import Database, now_ms
from flowgauge.store.page import DEFAULT_LIMIT, Order, Page, fetch_page
from flowgauge.store.removal import hold_baselines
from flowgauge.store.rows import RowEncoder
from flowgauge.store.schema import baseline_history, baselines

_SPEAKABLE = re.compile(r"\w[\w./+@-]{0,99}")
_NAMES_READ = 200


class Baselines:
    """The part of a Store that keeps baselines."""

    _database: Database
    _encoder: RowEncoder

    def set_baseline(self, name: str, benchmark_ref: str, note: str = "") -> Baseline:
        """A new one, or another benchmark under a name that is there. `benchmark_ref` is whatever `get_benchmark` takes."""
        self._check_name(name)
        with self._database.writing() as connection:
            hold_baselines(self._database.backend, connection)
            sid = find_benchmark(connection, benchmark_ref).sid
            before = baseline_row(connection, name)
            moment = now_ms()
            if before is not None:
                moment = max(moment, before["set_at"] + 1)
                replace_baseline(self._database.backend, connection, before, keep=before["benchmark_sid"] != sid)
            made = Baseline(name=name, benchmark_sid=sid, set_at=moment, note=self._encoder.redacted(note))
            connection.execute(baselines.insert().values(**msgspec.structs.asdict(made)))
            return made

    def get_baseline(self, name: str) -> Baseline:
        """NotFound names the nearest there is."""
        with self._database.reading() as connection:
            return _found(connection, name)

    def list_baselines(self, cursor: str | None = None, limit: int = DEFAULT_LIMIT) -> Page[Baseline]:
        """By name."""
        with self._database.reading() as connection:
            return fetch_page(connection, select(baselines), Order("baselines", baselines.c.name), _read, cursor, limit)

    def baseline_history(self, name: str, cursor: str | None = None, limit: int = DEFAULT_LIMIT) -> Page[Baseline]:
        """What stood under a name before, newest first. Its benchmarks may be gone."""
        query = select(baseline_history).where(baseline_history.c.name == name)
        order = Order(f"history of {name}", baseline_history.c.set_at, descending=True)
        with self._database.reading() as connection:
            _found(connection, name)
            return fetch_page(connection, query, order, _read, cursor, limit)

    def delete_baseline(self, name: str) -> None:
        """With its history; the benchmark stays."""
        with self._database.writing() as connection:
            _found(connection, name)
            for table in (baselines, baseline_history):
                connection.execute(delete(table).where(table.c.name == name))

    def _check_name(self, name: str) -> None:
        """One word that no other way to name a benchmark could be taken for."""
        if name == LATEST or name.startswith(f"{BENCHMARK}_") or not _SPEAKABLE.fullmatch(name):
            raise UsageError(
                f"A baseline cannot be called {name!r}.",
                remedy="Take letters, digits and . / + @ - _ (up to 100), not 'latest' and not the sid of a benchmark.",
            )
        if self._encoder.hides(name):
            raise UsageError("The name of a baseline holds a secret.", remedy="Choose another name.")


def replace_baseline(backend: Backend, connection: Connection, before: RowMapping, *, keep: bool = True) -> None:
    """Take a baseline away, to the history of its name. The caller puts another there."""
    connection.execute(delete(baselines).where(baselines.c.name == before["name"]))
    if keep:
        remember_baseline(backend, connection, before)


def remember_baseline(backend: Backend, connection: Connection, before: RowMapping | dict[str, Any]) -> None:
    """In the history of its name, where an import may have put it already."""
    connection.execute(backend.insert(baseline_history).values(**before).on_conflict_do_nothing())


def baseline_row(connection: Connection, name: str) -> RowMapping | None:
    """As it is stored."""
    return connection.execute(select(baselines).where(baselines.c.name == name)).mappings().one_or_none()


def _found(connection: Connection, name: str) -> Baseline:
    row = baseline_row(connection, name)
    if row is None:
        from flowgauge.lang.wording import did_you_mean

        known = list(connection.scalars(select(baselines.c.name).order_by(baselines.c.name).limit(_NAMES_READ)))
        raise NotFound(
            f"No baseline {name!r} is stored. {did_you_mean(name, known)}",
            remedy="Set it with: flowgauge baseline set NAME BENCHMARK",
        )
    return _read(row)


def _read(row: RowMapping) -> Baseline:
    return Baseline(**{field: row[field] for field in Baseline.__struct_fields__})
