"""Answers of targets, kept to be used again by `bench --cache`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import delete, select

from flowgauge.model.bench import Answer
from flowgauge.store.database import Database
from flowgauge.store.schema import answers

if TYPE_CHECKING:
    from flowgauge.store.group import Receipt
    from flowgauge.store.journal import Journal

_read = msgspec.json.Decoder(Answer).decode


class Answers:
    """The part of a Store that keeps answers."""

    _database: Database

    if TYPE_CHECKING:

        @property
        def journal(self) -> Journal:
            """Of the whole store."""

    def cache_get(self, key: str) -> Answer | None:
        """None where there is none, or where it was written by a release that answered in another form."""
        with self._database.reading() as connection:
            text = connection.scalar(select(answers.c.answer).where(answers.c.key == key))
        try:
            return None if text is None else _read(text)
        except msgspec.ValidationError:
            return None

    def cache_put(self, key: str, answer: Answer) -> Receipt:
        """In the journal's next group. An answer that is there is replaced."""
        return self.journal.answer_cached(key, answer)

    def cache_clear(self) -> int:
        """How many answers went."""
        with self._database.writing() as connection:
            return connection.execute(delete(answers)).rowcount
