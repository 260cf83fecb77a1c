"""The hot inserts: SQL text made once, for one row and for many rows to a statement.

For sqlite3 many rows to a statement, because it lets go of the interpreter's
lock at every statement and must win it back from a busy event loop. For
psycopg one row to a statement, because its executemany sends all of them
without waiting, and reading a long statement costs it more than the rows do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from flowgauge.store.rows import NODE_COLUMNS, PLAY_COLUMNS, TRIAL_COLUMNS, Row

SIZES = (64, 8, 1)

_NEVER_CHANGED = frozenset({"sid", "workflow_sid", "version_sid", "inputs", "started_at"})
_FINAL = tuple(name for name in PLAY_COLUMNS if name not in _NEVER_CHANGED and name != "resumed")
_NODE_KEY = ("play_sid", "node_id", "attempt")
_TRIAL_KEY = ("bench_uid", "run_id")
_ANSWER_COLUMNS = ("key", "created_at", "answer")
EVENT_COLUMNS = ("id", "kind", "at", "play_sid", "bench_id", "data")
_COUNT_EVENTS = "UPDATE meta SET value = CAST(CAST(value AS BIGINT) + ? AS TEXT) WHERE key = 'last_event_id' RETURNING value"
_NOTHING = ""


class Upsert(msgspec.Struct, frozen=True):
    """One kind of insert and what it does when the row is there."""

    by_size: tuple[tuple[int, str], ...]

    @property
    def single(self) -> str:
        """For one row."""
        return self.by_size[-1][1]

    def parts(self, rows: Sequence[Row]) -> Iterator[tuple[str, list[object]]]:
        """Statements for many rows each, with their values."""
        start = 0
        for size, sql in self.by_size:
            while len(rows) - start >= size:
                yield sql, [value for row in rows[start : start + size] for value in row]
                start += size


class HotSql(msgspec.Struct, frozen=True):
    """All statements of the journal, in a driver's own spelling."""

    start: Upsert
    """A play's first record; where it is there, only who holds it changes."""
    finish: Upsert
    """A play's end; written only by the one who holds it."""
    whole: Upsert
    """A play that began and ended within one group."""
    node: Upsert
    trial: Upsert
    """A result; where there is one, that stays."""
    retried: Upsert
    """A result in place of the one that is there."""
    answer: Upsert
    event: Upsert
    holder: str
    """Who holds a play."""
    count_events: str
    """Gives out so many ids of events; answers with the last. Until the end of the transaction nobody else gets any."""
    old_events: str
    """Deletes events up to an id."""


def hot_sql(mark: str) -> HotSql:
    """`mark` is the driver's placeholder."""
    resumed = "resumed = CASE WHEN excluded.resumed > plays.resumed THEN excluded.resumed ELSE plays.resumed END"
    final = f"{_excluded(_FINAL)}, {resumed}"
    taken = f"{_excluded(('status', 'owner_sid', 'finished_at'))}, {resumed}"
    held = " WHERE plays.owner_sid = '' OR plays.owner_sid = excluded.owner_sid"
    runs = _excluded(tuple(name for name in NODE_COLUMNS if name not in _NODE_KEY))
    again = _excluded(tuple(name for name in TRIAL_COLUMNS if name not in _TRIAL_KEY))
    return HotSql(
        start=_upsert("plays", PLAY_COLUMNS, ("sid",), taken, mark),
        finish=_upsert("plays", PLAY_COLUMNS, ("sid",), final + held, mark),
        whole=_upsert("plays", PLAY_COLUMNS, ("sid",), final, mark),
        node=_upsert("node_runs", NODE_COLUMNS, _NODE_KEY, runs, mark),
        trial=_upsert("trials", TRIAL_COLUMNS, _TRIAL_KEY, _NOTHING, mark),
        retried=_upsert("trials", TRIAL_COLUMNS, _TRIAL_KEY, again, mark),
        answer=_upsert("answers", _ANSWER_COLUMNS, ("key",), _excluded(_ANSWER_COLUMNS[1:]), mark),
        event=_upsert("events", EVENT_COLUMNS, ("id",), _NOTHING, mark),
        holder="SELECT owner_sid FROM plays WHERE sid = ?".replace("?", mark),
        count_events=_COUNT_EVENTS.replace("?", mark),
        old_events="DELETE FROM events WHERE id <= ? RETURNING id".replace("?", mark),
    )


def _excluded(names: Sequence[str]) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in names)


def _upsert(table: str, columns: Sequence[str], key: Sequence[str], change: str, mark: str) -> Upsert:
    one = f"({', '.join([mark] * len(columns))})"
    head = " ".join(("INSERT INTO", table, "(", ", ".join(columns), ") VALUES "))
    tail = f" ON CONFLICT ({', '.join(key)}) DO " + (f"UPDATE SET {change}" if change else "NOTHING")
    return Upsert(tuple((size, head + ", ".join([one] * size) + tail) for size in SIZES))
