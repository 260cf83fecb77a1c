"""The store: one interface over SQLite and PostgreSQL.

Methods are plain calls, safe from any thread; from an event loop they are
called through `asyncio.to_thread`. Plays and trials are written by `journal`, in
groups.
"""

from __future__ import annotations

import os
from functools import cached_property
from threading import Lock
from typing import Self

from flowgauge.model.redaction import Redact, redactor, secrets_of
from flowgauge.store.address import Address, SqliteAddress, read_address
from flowgauge.store.answers import Answers
from flowgauge.store.backend import Backend
from flowgauge.store.baselines import Baselines
from flowgauge.store.columns import Columns
from flowgauge.store.database import Database
from flowgauge.store.examples import Examples
from flowgauge.store.journal import Journal
from flowgauge.store.maintenance import Maintenance
from flowgauge.store.outcomes import Outcomes
from flowgauge.store.owners import Owners
from flowgauge.store.plays import Plays
from flowgauge.store.pruning import Pruning
from flowgauge.store.recorded import Recorded
from flowgauge.store.roles import Roles
from flowgauge.store.rows import RowEncoder
from flowgauge.store.schedules import Schedules
from flowgauge.store.sqlite import SqliteBackend
from flowgauge.store.tokens import Tokens
from flowgauge.store.trials import Trials
from flowgauge.store.workflows import Workflows


class Store(
    Workflows, Examples, Plays, Outcomes, Owners, Roles, Recorded, Trials, Columns, Baselines, Answers, Tokens, Schedules,
    Maintenance, Pruning,
):  # fmt: skip
    """Everything that is kept. Close it, or use it as a context manager: closing writes what is queued."""

    def __init__(self, database: Database, redact: Redact) -> None:
        self._database = database
        self._encoder = RowEncoder(redact)
        self._making = Lock()

    @property
    def place(self) -> str:
        """Where it is, without a password."""
        return self._database.backend.place

    @cached_property
    def _journal(self) -> Journal:
        return Journal(self._database, self._encoder)

    @property
    def journal(self) -> Journal:
        """The one writer of plays, node runs, trials and events."""
        with self._making:
            return self._journal

    def close(self) -> None:
        """Write what is queued, stop the writer, let go of the connections. May be called twice."""
        if "_journal" in self.__dict__:
            self._journal.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def open_at(url_or_path: str | None, *, redact: Redact | None = None) -> Store:
    """See `flowgauge.store.open_store`."""
    backend = _backend(read_address(url_or_path))
    return Store(Database(backend), redact or redactor(secrets_of(os.environ)))


def _backend(address: Address) -> Backend:
    if isinstance(address, SqliteAddress):
        return SqliteBackend(address)
    from flowgauge.store.postgres import PostgresBackend

    return PostgresBackend(address)
