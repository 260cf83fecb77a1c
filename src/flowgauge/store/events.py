"""The log of events: what happened in every process that uses the store, for listeners who were away.

Ids are given out in the transaction that writes the events, by one counter: they
grow, leave no gap and are never given twice; and once an event can be read, none
with a smaller id appears any more. Only the newest are kept. A listener who has
seen nothing after an id that is older than the oldest can tell: `event_range`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import delete, func, select

from flowgauge.model.service import Event, EventRange
from flowgauge.store.database import Database
from flowgauge.store.group import EventBatch
from flowgauge.store.page import LARGEST_LIMIT
from flowgauge.store.plain import escape
from flowgauge.store.rows import Row, RowEncoder
from flowgauge.store.schema import events, meta

if TYPE_CHECKING:
    from flowgauge.store.journal import Journal

_LAST = select(meta.c.value).where(meta.c.key == "last_event_id")
_AFTER_ALL = 1 << 62
_data = msgspec.json.Decoder().decode


class Events:
    """The part of a Store that keeps the log of events."""

    _database: Database
    _encoder: RowEncoder
    if TYPE_CHECKING:

        @property
        def journal(self) -> Journal:
            """The store's own."""

    def append_events(self, news: Sequence[Event]) -> range:
        """Keep them, each under the next id; the ids that they come with say nothing. Waits until they are on disk; not in an event loop.

        Written together with plays and trials where some are waiting, so that events cost no commit of their own.
        """
        if not news:
            return range(0)
        batch = EventBatch([self._event_row(event) for event in news])
        self.journal.events_published(batch).wait(patient=True)
        return range(batch.last_id - len(batch.rows) + 1, batch.last_id + 1)

    def events_after(self, after_id: int, limit: int = LARGEST_LIMIT, *, play_sid: str = "", bench_id: str = "") -> tuple[Event, ...]:
        """Later ones, oldest first; of one play or bench where one is named."""
        query = select(events).where(events.c.id > after_id).order_by(events.c.id).limit(limit)
        if play_sid:
            query = query.where(events.c.play_sid == play_sid)
        if bench_id:
            query = query.where(events.c.bench_id == bench_id)
        with self._database.reading() as connection:
            return tuple(_event(*row) for row in connection.execute(query))

    def last_event_id(self) -> int:
        """Of the newest that there ever was; 0 where there was none."""
        with self._database.reading() as connection:
            return int(connection.scalar(_LAST) or 0)

    def event_range(self) -> EventRange:
        """What a listener who comes back can still be told."""
        with self._database.reading() as connection:
            last_id, first_id = connection.execute(select(_LAST.scalar_subquery(), select(func.min(events.c.id)).scalar_subquery())).one()
        return EventRange(first_id=int(last_id) + 1 if first_id is None else first_id, last_id=int(last_id))

    def prune_events(self, before_ms: int, *, dry_run: bool = False) -> int:
        """Delete what happened before a moment, up to the first that did not; how many."""
        younger = select(func.min(events.c.id)).where(events.c.at >= before_ms).scalar_subquery()
        old = events.c.id < func.coalesce(younger, _AFTER_ALL)
        if dry_run:
            with self._database.reading() as connection:
                return connection.scalar(select(func.count()).select_from(events).where(old)) or 0
        with self._database.writing() as connection:
            return connection.execute(delete(events).where(old)).rowcount

    def _event_row(self, event: Event) -> Row:
        data = None if event.data is None else self._encoder.json(event.data, f"the event {event.kind}")
        return escape(event.kind), event.at, escape(event.play_sid), escape(event.bench_id), data


def _event(number: int, kind: str, at: int, play_sid: str, bench_id: str, data: str | None) -> Event:
    return Event(id=number, kind=kind, at=at, play_sid=play_sid, bench_id=bench_id, data=None if data is None else _data(data))
