"""Writes of plays that a bench does not wait for one by one.

A slot that waits for the disk after each play is a slot in which no model is
called. The trial's record goes into the same journal after its play, and the
journal writes in order: a trial that is on disk has its play there. What is
left to do is to notice a write that failed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Iterable

from flowgauge.errors import Conflict, StoreFailure


class Owed:
    """Waits behind the backs of the trials; the first failure is told to whoever comes next."""

    def __init__(self) -> None:
        self._receipts: deque[Awaitable[None]] = deque()
        self._paying: asyncio.Task[None] | None = None
        self._failure: StoreFailure | None = None

    def add(self, receipts: Iterable[Awaitable[None]]) -> None:
        """Remember writes."""
        self._receipts.extend(receipts)
        if self._paying is None or self._paying.done():
            self._paying = asyncio.create_task(self._pay())

    def check(self) -> None:
        """Raise what went wrong."""
        if self._failure is not None:
            raise StoreFailure(self._failure.message, remedy=self._failure.remedy) from self._failure

    async def close(self) -> None:
        """Every write is on disk, or its error is raised."""
        if self._paying is not None:
            await self._paying
        self.check()

    async def _pay(self) -> None:
        while self._receipts:
            try:
                await self._receipts.popleft()
            except Conflict:  # another process took the play over and ended it: its record stands
                continue
            except StoreFailure as error:
                self._failure = self._failure or error
