"""Schedules in the store: what is due, and who runs it.

A due moment is claimed by one compare-and-set on `next_at`, so that of many
servers on one database one runs it. Whoever runs it is an owner with a lease: a
run that a dead owner left is taken over, again by compare-and-set, and ended
once.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from sqlalchemy import Connection, RowMapping, delete, or_, select, update

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.service import Schedule
from flowgauge.store.database import Database
from flowgauge.store.owners import find_owner, is_alive, unless_renewed
from flowgauge.store.page import DEFAULT_LIMIT, Order, Page, fetch_page
from flowgauge.store.rows import RowEncoder
from flowgauge.store.schema import schedules

_SPEAKABLE = re.compile(r"\w[\w.-]{0,63}")
_NAMES_READ = 200
_BY_NAME = Order("schedules", schedules.c.name)
_DEFINED = ("cron", "every_s", "late_s", "baseline", "webhook", "next_at")
"""What `put_schedule` changes of one that is there, beside its JSON: what became of it is left alone."""
_json = msgspec.json.Decoder(dict[str, Any]).decode


class Schedules:
    """The part of a Store that keeps schedules."""

    _database: Database
    _encoder: RowEncoder

    def put_schedule(self, schedule: Schedule, *, replace: bool = False) -> Schedule:
        """A new one, or another definition of one that is there by its name. What is running goes on as it was begun."""
        self._check(schedule)
        defined = {name: getattr(schedule, name) for name in _DEFINED} | {
            "enabled": int(schedule.enabled),
            "request": self._encoder.noun(schedule.request, schedule.name),
            "policy": self._encoder.noun(schedule.policy, schedule.name) if schedule.policy else None,
        }
        rest = {name: getattr(schedule, name) for name in Schedule.__struct_fields__ if name not in defined}
        insert = self._database.backend.insert(schedules).values(**rest, **defined, owner_sid="")
        with self._database.writing() as connection:
            there = insert.on_conflict_do_update(index_elements=["name"], set_=defined) if replace else insert.on_conflict_do_nothing()
            row = connection.execute(there.returning(*schedules.c)).mappings().one_or_none()
        if row is None:
            raise Conflict(f"There is a schedule {schedule.name} already.", remedy="Choose another name, or replace it with --replace.")
        return _read(row)

    def get_schedule(self, name_or_sid: str) -> Schedule:
        """NotFound names the nearest there is."""
        with self._database.reading() as connection:
            return _read(_find(connection, name_or_sid))

    def list_schedules(self, cursor: str | None = None, limit: int = DEFAULT_LIMIT) -> Page[Schedule]:
        """By name."""
        with self._database.reading() as connection:
            return fetch_page(connection, select(schedules), _BY_NAME, _read, cursor, limit)

    def delete_schedule(self, name_or_sid: str) -> Schedule:
        """What it has measured stays."""
        with self._database.writing() as connection:
            found = _read(_find(connection, name_or_sid))
            connection.execute(delete(schedules).where(schedules.c.sid == found.sid))
            return found

    def due_schedules(self, moment_ms: int) -> tuple[Schedule, ...]:
        """Enabled ones whose next moment has come, the longest due first."""
        query = select(schedules).where(schedules.c.enabled == 1, schedules.c.next_at <= moment_ms).order_by(schedules.c.next_at)
        with self._database.reading() as connection:
            return tuple(map(_read, connection.execute(query).mappings()))

    def enabled_schedules(self) -> tuple[Schedule, ...]:
        """All that will come."""
        with self._database.reading() as connection:
            return tuple(map(_read, connection.execute(select(schedules).where(schedules.c.enabled == 1)).mappings()))

    def claim_schedule(self, due: Schedule, moment_ms: int, next_at: int, owner_sid: str) -> bool:
        """Run the moment, which is due or the last of several: False where another took it, it was changed, or it is still running."""
        return self._changed(due.sid, _idle(due), next_at=next_at, running_at=moment_ms, owner_sid=owner_sid, skipped=0)

    def miss_moment(self, due: Schedule, moment_ms: int, next_at: int, words: str) -> bool:
        """The moment is not run, because nobody was there in time. False as for `claim_schedule`."""
        told = {"last_at": moment_ms, "last_status": "missed", "last_bench_id": "", "last_words": words}
        return self._changed(due.sid, _idle(due), next_at=next_at, **told)

    def skip_moment(self, due: Schedule, next_at: int) -> bool:
        """Pass over its due moment, because the one before is still running. False where another did it, or it runs no more."""
        busy = schedules.c.next_at == due.next_at, schedules.c.enabled == 1, schedules.c.running_at != 0
        return self._changed(due.sid, busy, next_at=next_at, skipped=schedules.c.skipped + 1)

    def move_moment(self, seen: Schedule, next_at: int) -> bool:
        """Another next moment, where it is still the one that was seen."""
        return self._changed(seen.sid, (schedules.c.next_at == seen.next_at, schedules.c.enabled == 1), next_at=next_at)

    def begin_schedule(self, sid: str, moment_ms: int, owner_sid: str) -> bool:
        """Run it now, whatever its next moment is. False where it is running."""
        return self._changed(sid, (schedules.c.running_at == 0,), running_at=moment_ms, owner_sid=owner_sid, skipped=0)

    def finish_schedule(self, sid: str, running_at: int, owner_sid: str, *, status: str, bench_id: str, words: str) -> bool:
        """What came of the moment that this owner ran. False where another has taken it over, or the schedule is gone."""
        held = schedules.c.running_at == running_at, schedules.c.owner_sid == owner_sid
        told = {"last_at": running_at, "last_status": status, "last_bench_id": bench_id, "last_words": self._encoder.redacted(words)}
        return self._changed(sid, held, running_at=0, owner_sid="", **told)

    def left_schedules(self) -> tuple[tuple[Schedule, str], ...]:
        """Running ones whose owner is gone, each with that owner's sid."""
        with self._database.reading() as connection:
            rows = connection.execute(select(schedules).where(schedules.c.running_at != 0)).mappings().all()
            return tuple((_read(row), row["owner_sid"]) for row in rows if not is_alive(find_owner(connection, row["owner_sid"])))

    def take_over_schedule(self, left: Schedule, before_sid: str, owner_sid: str) -> bool:
        """Go on with the moment that a dead owner was running. False where another was faster."""
        held = schedules.c.sid == left.sid, schedules.c.running_at == left.running_at, schedules.c.owner_sid == before_sid
        with self._database.writing() as connection:
            holder = find_owner(connection, before_sid)
            if is_alive(holder):
                return False
            return connection.execute(unless_renewed(update(schedules).where(*held), holder).values(owner_sid=owner_sid)).rowcount == 1

    def _changed(self, sid: str, which: tuple[Any, ...], **values: Any) -> bool:
        with self._database.writing() as connection:
            return connection.execute(update(schedules).where(schedules.c.sid == sid, *which).values(**values)).rowcount == 1

    def _check(self, schedule: Schedule) -> None:
        """One word, that a bench's id can begin with; and no secret, which would be hidden from the run too."""
        if not _SPEAKABLE.fullmatch(schedule.name):
            raise UsageError(f"A schedule cannot be called {schedule.name!r}.", remedy="Take letters, digits and . _ - (up to 64).")
        if self._encoder.hides(schedule.webhook):
            remedy = "Put the URL into an environment variable of the server, and write env:NAME instead."
            raise UsageError("The webhook's URL holds a secret, and none is stored.", remedy=remedy)
        if self._encoder.hides(msgspec.json.encode((schedule.name, schedule.request, schedule.policy, schedule.baseline)).decode()):
            raise UsageError(
                f"The schedule {schedule.name} holds a secret, and none is stored.",
                remedy="Name the environment variable that holds it (api_key_env) instead of its value.",
            )


def _idle(due: Schedule) -> tuple[Any, ...]:
    return schedules.c.next_at == due.next_at, schedules.c.enabled == 1, schedules.c.running_at == 0


def _find(connection: Connection, name_or_sid: str) -> RowMapping:
    """A name wins over a sid of the same spelling."""
    query = select(schedules).where(or_(schedules.c.name == name_or_sid, schedules.c.sid == name_or_sid))
    rows = connection.execute(query).mappings().all()
    if not rows:
        from flowgauge.lang.wording import did_you_mean

        known = list(connection.scalars(select(schedules.c.name).order_by(schedules.c.name).limit(_NAMES_READ)))
        raise NotFound(
            f"No schedule {name_or_sid!r} is stored. {did_you_mean(name_or_sid, known)}",
            remedy="See what there is with: flowgauge schedule list",
        )
    return next((row for row in rows if row["name"] == name_or_sid), rows[0])


def _read(row: RowMapping) -> Schedule:
    fields = {name: row[name] for name in Schedule.__struct_fields__ if name not in ("request", "policy", "enabled")}
    policy = _json(row["policy"]) if row["policy"] is not None else {}
    return Schedule(**fields, request=_json(row["request"]), policy=policy, enabled=bool(row["enabled"]))
