"""Rows of another store into this one.

What is here stays as it is. The other store may know the same workflow, or the
same content of it, by another sid: its examples and plays are then hung on
ours. A version whose number is taken here gets the next one; so does a bench
whose id is another's here. Of two baselines of one name the one that was set
later stays, and the merge says so. Schedules come in disabled: two stores must
not run them both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from sqlalchemy import Connection, Table, func, select

from flowgauge.model.ids import HASH_DIGITS, bench_id
from flowgauge.store.backend import Backend
from flowgauge.store.baselines import baseline_row, remember_baseline, replace_baseline
from flowgauge.store.bench_rows import on_version
from flowgauge.store.benches import next_counter
from flowgauge.store.removal import hold_baselines
from flowgauge.store.schema import PORTABLE, baselines, benches, benchmarks, examples, plays, schedules, workflow_versions, workflows

Row = dict[str, Any]


class Merge:
    """One import; used within one transaction."""

    def __init__(self, connection: Connection, backend: Backend) -> None:
        self._connection = connection
        self._backend = backend
        self._ours: dict[str, str] = {}
        self._renamed: dict[str, str] = {}
        self._added: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self.notes: list[str] = []
        """What was decided between this store and the other."""
        self._prepare: dict[str, Callable[[list[Row]], Iterable[list[Row]]]] = {
            workflows.name: self._workflows,
            workflow_versions.name: self._versions,
            examples.name: self._hang,
            plays.name: self._hang,
            benches.name: self._benches,
            benchmarks.name: self._benchmarks,
            baselines.name: self._baselines,
            schedules.name: self._schedules,
        }

    @property
    def added(self) -> dict[str, int]:
        """Per table."""
        return {table.name: self._added[table.name] for table in PORTABLE}

    @property
    def kept(self) -> dict[str, int]:
        """Per table: rows that were here already."""
        return {table.name: self._kept[table.name] for table in PORTABLE}

    def add(self, table: Table, rows: list[Row]) -> None:
        """Rows come table by table, in the order of `schema.PORTABLE`."""
        prepare = self._prepare.get(table.name)
        written = sum(self._new(table, fresh) for fresh in (prepare(rows) if prepare else [rows]) if fresh)
        self._added[table.name] += written
        self._kept[table.name] += len(rows) - written

    def _workflows(self, rows: list[Row]) -> list[list[Row]]:
        names = select(workflows.c.name, workflows.c.sid).where(workflows.c.name.in_([row["name"] for row in rows]))
        here = {row.name: row.sid for row in self._connection.execute(names)}
        self._ours |= {row["sid"]: here[row["name"]] for row in rows if row["name"] in here}
        return [[row for row in rows if row["name"] not in here]]

    def _versions(self, rows: list[Row]) -> Iterator[list[Row]]:
        """One at a time, each written before the next is looked at: it may need the next number."""
        for [batch] in map(self._hang, ([row] for row in rows)):
            yield [row for row in batch if self._is_new_version(row)]

    def _is_new_version(self, row: Row) -> bool:
        """Unless its content is here; then its sid stands for ours. Takes the next number where its own is taken."""
        table = workflow_versions
        of_it = table.c.workflow_sid == row["workflow_sid"]
        here = self._connection.scalar(select(table.c.sid).where(of_it, table.c.hash == row["hash"]))
        if here is not None:
            self._ours[row["sid"]] = here
            return False
        last = self._connection.scalar(select(func.max(table.c.number)).where(of_it)) or 0
        taken = self._connection.scalar(select(table.c.sid).where(of_it, table.c.number == row["number"]))
        if taken is not None:
            row["number"] = last + 1
        return True

    def _benches(self, rows: list[Row]) -> Iterator[list[Row]]:
        """One at a time, each written before the next is looked at: it may need the next id."""
        for [[row]] in map(self._hang, ([row] for row in rows)):
            row["definition"] = on_version(row["definition"], row["version_sid"])
            taken = self._connection.execute(select(benches.c.uid, benches.c.bench_id).where(benches.c.bench_id == row["bench_id"])).first()
            if taken is not None and taken.uid != row["uid"] and not self._is_here(row["uid"]):
                self._rename(row)
            yield [row]

    def _is_here(self, uid: str) -> bool:
        """Under whatever id it was given by an earlier import."""
        here = self._connection.scalar(select(benches.c.bench_id).where(benches.c.uid == uid))
        if here is not None:
            self._renamed[uid] = here
        return here is not None

    def _rename(self, row: Row) -> None:
        """Its run ids were made from the old id, and stay."""
        self._backend.hold(self._connection, row["name"])
        short = row["definition_hash"][:HASH_DIGITS]
        counter = next_counter(self._connection, row["name"], short)
        row["planned_as"] = row["planned_as"] or row["bench_id"]
        row["counter"], row["bench_id"] = counter, bench_id(row["name"], short, counter)
        self._renamed[row["uid"]] = row["bench_id"]

    def _benchmarks(self, rows: list[Row]) -> list[list[Row]]:
        for row in rows:
            row["bench_id"] = self._renamed.get(row["bench_uid"], row["bench_id"])
        return self._hang(rows)

    def _baselines(self, rows: list[Row]) -> list[list[Row]]:
        """New names, and those that were set later there than here."""
        hold_baselines(self._backend, self._connection)
        return [[row for row in rows if self._is_later(row)]]

    def _is_later(self, row: Row) -> bool:
        """Makes room for it then; what gives way goes to the history of the name."""
        ours = baseline_row(self._connection, row["name"])
        if ours is None:
            return True
        if ours["benchmark_sid"] == row["benchmark_sid"]:
            return False
        later = bool(row["set_at"] > ours["set_at"])
        if later:
            replace_baseline(self._backend, self._connection, ours)
        else:
            remember_baseline(self._backend, self._connection, row)
        stays, goes = (row, ours) if later else (ours, row)
        words = "is now" if later else "is still"
        self.notes.append(f"The baseline {row['name']} {words} {stays['benchmark_sid']}: it was set later than {goes['benchmark_sid']}.")
        return later

    def _schedules(self, rows: list[Row]) -> list[list[Row]]:
        """Of a name that is not here: on our workflows, and at rest, because the other store's server may be running them."""
        taken = set(self._connection.scalars(select(schedules.c.name).where(schedules.c.name.in_([row["name"] for row in rows]))))
        fresh = [row for row in rows if row["name"] not in taken]
        for row in fresh:
            request = msgspec.json.decode(row["request"], type=dict[str, Any])
            known = {name: self._ours.get(value, value) for name, value in request.items() if isinstance(value, str)}
            row |= {"request": msgspec.json.encode(request | known).decode(), "enabled": 0, "running_at": 0, "owner_sid": ""}
            self.notes.append(f"The schedule {row['name']} rests here; wake it with: flowgauge schedule enable {row['name']}")
        return [fresh]

    def _new(self, table: Table, rows: list[Row]) -> int:
        """How many of the rows were not here."""
        statement = self._backend.insert(table).values(rows).on_conflict_do_nothing().returning(next(iter(table.primary_key)))
        return len(self._connection.execute(statement).all())

    def _hang(self, rows: list[Row]) -> list[list[Row]]:
        """On our workflows and versions."""
        for row in rows:
            for name in ("workflow_sid", "version_sid", "workflow_version_sid"):
                if name in row:
                    row[name] = self._ours.get(row[name], row[name])
            if row.get("pins"):
                pins = msgspec.json.decode(row["pins"], type=dict[str, str])
                row["pins"] = msgspec.json.encode({name: self._ours.get(sid, sid) for name, sid in pins.items()}).decode()
        return [rows]
