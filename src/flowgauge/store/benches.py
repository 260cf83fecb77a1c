"""Benches in the store: begun, taken over, ended, found.

A bench has one owner. Benches of one name are begun one after the other, and
change hands by compare-and-set, so of many processes that want the same bench
one gets it and the others are told who has it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from sqlalchemy import Connection, RowMapping, Select, func, or_, select, update

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.bench import Bench, BenchRecord, BenchStatus
from flowgauge.model.ids import BENCH, HASH_DIGITS, new_sid
from flowgauge.model.ids import bench_id as make_bench_id
from flowgauge.store.bench_rows import check_readable, definition_values, read_bench
from flowgauge.store.database import Database, now_ms
from flowgauge.store.owners import find_owner, is_alive, unless_renewed
from flowgauge.store.page import DEFAULT_LIMIT, Order, Page, fetch_page
from flowgauge.store.prefix import begins_with
from flowgauge.store.removal import Removed, hold_baselines, refuse_baselines, remove_benches
from flowgauge.store.rows import RowEncoder
from flowgauge.store.schema import benches, benchmarks

How = Literal["new", "continued", "held"]
"""Begun; taken up again; somebody alive runs it: its `owner_sid` says who."""
LATEST = "latest"
_TRIES = 100
_NEWEST_FIRST = Order("benches", benches.c.created_at, descending=True, tie=benches.c.uid)
_WITHOUT_CASES = tuple(column for column in benches.c if column.name != "cases")


class RunningBench(msgspec.Struct, frozen=True):
    """A bench that is not ended, and how it stands with it."""

    record: BenchRecord
    alive: bool
    """Whether its owner is."""
    cancel_requested: bool


class Benches:
    """The part of a Store that keeps benches."""

    _database: Database
    _encoder: RowEncoder

    def start_bench(
        self,
        definition: Bench,
        definition_hash: str,
        total: int,
        owner_sid: str,
        *,
        new: bool = False,
        bench_id: str | None = None,
        commit: str = "",
        machine: str = "",
        price_table: str = "",
        trace_id: str = "",
    ) -> tuple[BenchRecord, How]:
        """The bench to run, and how it came about.

        The newest unfinished bench of this name and definition is continued
        where its owner is gone, and held where it is alive; else, or with
        `new`, another is begun. `bench_id` names one: Conflict where it is of
        another definition, or finished. What is continued takes over this
        definition and total, because the number of runs is not in the hash.
        """
        if bench_id in (LATEST, ""):
            raise UsageError(f"A bench cannot be called {bench_id!r}.", remedy="Choose another --bench-id.")
        values = self._defined(definition, definition_hash, total)
        under = {"commit": commit, "machine": machine, "price_table": price_table, "trace_id": trace_id}
        under = {name: self._encoder.redacted(text) for name, text in under.items()}
        wanted = _named(bench_id) if bench_id else _unfinished(definition.name, definition_hash)
        with self._database.writing() as connection:
            self._database.backend.hold(connection, definition.name)
            for _ in range(_TRIES):
                found = None if new else connection.execute(wanted).mappings().one_or_none()
                if found is not None:
                    _check_continues(found, definition_hash)
                    answer = _take(connection, found["uid"], owner_sid, values | _known(under))
                else:
                    answer = self._begin(connection, definition.name, bench_id, values | under | {"owner_sid": owner_sid})
                if answer is not None:
                    return answer
                if bench_id and new:
                    raise Conflict(f"There is a bench {bench_id} already.", remedy="Choose another --bench-id.")
        raise _too_many(definition.name)

    def claim_bench(self, ref: str, owner_sid: str) -> tuple[BenchRecord, How]:
        """Take a bench, finished or not, to run more of it (--resume, --retry-errors)."""
        return self._claimed(ref, owner_sid, {})

    def extend_bench(self, ref: str, definition: Bench, definition_hash: str, total: int, owner_sid: str) -> tuple[BenchRecord, How]:
        """Take a bench and give it more to do. Its id stays, and with it the run ids of what has been run."""
        return self._claimed(ref, owner_sid, self._defined(definition, definition_hash, total))

    def finish_bench(
        self,
        uid: str,
        status: BenchStatus,
        *,
        owner_sid: str | None = None,
        duration_ms: float = 0.0,
        trace_id: str = "",
        finished_at: int | None = None,
    ) -> BenchRecord:
        """Let go of a bench. `duration_ms` is added to that of earlier sessions. Conflict where `owner_sid` no longer holds it."""
        held = [benches.c.uid == uid, *([] if owner_sid is None else [benches.c.owner_sid == owner_sid])]
        moment = now_ms() if finished_at is None else finished_at
        values = {"status": status, "owner_sid": "", "finished_at": moment, "duration_ms": benches.c.duration_ms + duration_ms}
        if trace_id:
            values["trace_id"] = trace_id
        with self._database.writing() as connection:
            row = connection.execute(update(benches).where(*held).values(**values).returning(*benches.c)).mappings().one_or_none()
            if row is not None:
                return read_bench(row)
            other = find_bench(connection, uid)
        raise Conflict(f"The bench {other.bench_id} is run by {other.owner_sid or 'nobody'} now.", remedy="Leave it to its owner.")

    def get_bench(self, ref: str) -> BenchRecord:
        """By id, uid, the beginning of an id that only one has, or `latest`."""
        with self._database.reading() as connection:
            return find_bench(connection, ref)

    def list_benches(
        self, cursor: str | None = None, limit: int = DEFAULT_LIMIT, *, name: str | None = None, with_cases: bool = False
    ) -> Page[BenchRecord]:
        """Newest first. Cases are left out of the definitions unless asked for: there may be many."""
        query: Select[Any] = select(benches) if with_cases else select(*_WITHOUT_CASES)
        if name is not None:
            query = query.where(benches.c.name == name)
        with self._database.reading() as connection:
            return fetch_page(connection, query, _NEWEST_FIRST, read_bench, cursor, limit)

    def running_benches(self) -> tuple[RunningBench, ...]:
        """Benches that are not ended, oldest first, without their cases."""
        query = select(*_WITHOUT_CASES).where(benches.c.status == "running").order_by(benches.c.created_at, benches.c.uid)
        with self._database.reading() as connection:
            rows = connection.execute(query).mappings().all()
            alive = {sid: is_alive(find_owner(connection, sid)) for sid in {row["owner_sid"] for row in rows}}
        return tuple(RunningBench(read_bench(row), alive[row["owner_sid"]], row["cancel_requested"] == 1) for row in rows)

    def request_bench_cancel(self, uid: str) -> bool:
        """Ask the bench's owner to stop it; False where it has ended."""
        asked = update(benches).where(benches.c.uid == uid, benches.c.status == "running").values(cancel_requested=1)
        with self._database.writing() as connection:
            return connection.execute(asked).rowcount == 1

    def bench_cancel_requested(self, uid: str) -> bool:
        """Whether somebody wants a bench stopped."""
        with self._database.reading() as connection:
            return connection.scalar(select(benches.c.cancel_requested).where(benches.c.uid == uid)) == 1

    def delete_bench(self, ref: str, *, keep_plays: bool = False) -> Removed:
        """With its trials, benchmarks and plays. Conflict while somebody runs it, or where a baseline stands on it."""
        with self._database.writing() as connection:
            hold_baselines(self._database.backend, connection)
            record = find_bench(connection, ref)
            held = connection.execute(select(benches.c.owner_sid).where(benches.c.uid == record.uid).with_for_update()).scalar_one()
            if is_alive(find_owner(connection, held)):
                raise Conflict(f"The bench {record.bench_id} is being run by {held}.", remedy="Stop it first.")
            refuse_baselines(connection, f"The bench {record.bench_id}", benchmarks.c.bench_uid == record.uid)
            return remove_benches(connection, select(benches.c.uid).where(benches.c.uid == record.uid), keep_plays=keep_plays)

    def _claimed(self, ref: str, owner_sid: str, values: dict[str, Any]) -> tuple[BenchRecord, How]:
        with self._database.writing() as connection:
            uid = find_bench(connection, ref).uid
            for _ in range(_TRIES):
                if (answer := _take(connection, uid, owner_sid, values)) is not None:
                    return answer
        raise _too_many(ref)

    def _defined(self, definition: Bench, definition_hash: str, total: int) -> dict[str, Any]:
        values = definition_values(self._encoder, definition, definition.name)
        check_readable(values, definition.name)
        return values | {"definition_hash": definition_hash, "total": total}

    def _begin(self, connection: Connection, name: str, bench_id: str | None, values: dict[str, Any]) -> tuple[BenchRecord, How] | None:
        """None where another process took the id."""
        short = values["definition_hash"][:HASH_DIGITS]
        counter = next_counter(connection, name, short)
        row = {
            "uid": new_sid(BENCH), "bench_id": bench_id or make_bench_id(name, short, counter), "name": name, "counter": counter,
            "status": "running", "created_at": now_ms(), "finished_at": 0, "duration_ms": 0.0, "interruptions": 0, "planned_as": "",
        }  # fmt: skip
        insert = self._database.backend.insert(benches).values(**row, **values).on_conflict_do_nothing().returning(*benches.c)
        made = connection.execute(insert).mappings().one_or_none()
        return None if made is None else (read_bench(made), "new")


def next_counter(connection: Connection, name: str, short_hash: str) -> int:
    """The number of the next bench of this name and definition; one whose id somebody has given by hand is passed over."""
    alike = (benches.c.name == name, begins_with(benches.c.definition_hash, short_hash))
    counter = (connection.scalar(select(func.max(benches.c.counter)).where(*alike)) or 0) + 1
    while connection.scalar(select(benches.c.uid).where(benches.c.bench_id == make_bench_id(name, short_hash, counter))):
        counter += 1
    return counter


def find_bench(connection: Connection, ref: str) -> BenchRecord:
    """For the other parts of the store."""
    query: Select[Any] = select(benches)
    if ref == LATEST:
        query = query.order_by(benches.c.created_at.desc(), benches.c.uid.desc()).limit(1)
    else:
        exact = query.where(or_(benches.c.bench_id == ref, benches.c.uid == ref))
        if (row := connection.execute(exact).mappings().first()) is not None:
            return read_bench(row)
        query = query.where(begins_with(benches.c.bench_id, ref)).limit(2)
    rows = connection.execute(query).mappings().all()
    if not rows or not ref:
        raise NotFound(f"No bench {ref!r} is stored.", remedy="See what there is with: flowgauge benchmark list")
    if len(rows) > 1:
        raise UsageError(f"Several benches begin with {ref}.", remedy="Give more of the id.")
    return read_bench(rows[0])


def _named(bench_id: str) -> Select[Any]:
    return select(benches).where(benches.c.bench_id == bench_id)


def _unfinished(name: str, definition_hash: str) -> Select[Any]:
    same = (benches.c.definition_hash == definition_hash, benches.c.name == name, benches.c.status != "finished")
    return select(benches).where(*same).order_by(benches.c.created_at.desc(), benches.c.uid.desc()).limit(1)


def _check_continues(found: RowMapping, definition_hash: str) -> None:
    bench_id, stored = found["bench_id"], found["definition_hash"]
    if stored != definition_hash:
        raise Conflict(
            f"The bench {bench_id} has another definition ({stored[:HASH_DIGITS]}, not {definition_hash[:HASH_DIGITS]}).",
            remedy=f"Choose another --bench-id, or add to it with: --extend {bench_id}",
        )
    if found["status"] == "finished":
        raise Conflict(
            f"The bench {bench_id} is finished.",
            remedy=f"See it with: flowgauge report {bench_id}. Add to it with --extend, or begin another with --new.",
        )


def _take(connection: Connection, uid: str, owner_sid: str, values: dict[str, Any]) -> tuple[BenchRecord, How] | None:
    """None where it changed meanwhile: look again."""
    seen = connection.execute(select(benches).where(benches.c.uid == uid)).mappings().one_or_none()
    if seen is None:
        raise NotFound(f"The bench {uid} has been deleted.", remedy="Begin another.")
    holder = find_owner(connection, seen["owner_sid"])
    if is_alive(holder):
        return read_bench(seen), "held"
    claim = update(benches).where(
        benches.c.uid == uid, *(benches.c[name] == seen[name] for name in ("owner_sid", "status", "interruptions", "finished_at"))
    )
    broken = benches.c.interruptions + int(seen["status"] != "finished")
    claim = unless_renewed(claim, holder).values(
        **values | {"status": "running", "owner_sid": owner_sid, "finished_at": 0, "interruptions": broken, "cancel_requested": 0}
    )
    row = connection.execute(claim.returning(*benches.c)).mappings().one_or_none()
    return None if row is None else (read_bench(row), "continued")


def _known(under: dict[str, str]) -> dict[str, str]:
    """What was known before stays where nothing new is, and the commit it was begun at stays in any case."""
    return {name: value for name, value in under.items() if value and name != "commit"}


def _too_many(name: str) -> Conflict:
    return Conflict(f"Too many processes begin {name} at once.", remedy="Run the same command again.")
