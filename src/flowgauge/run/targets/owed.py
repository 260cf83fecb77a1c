"""Writes of plays that a bench does not wait for one by one.

A slot that waits for the disk after each play is a slot in which no model is
called. The trial's record goes into the same journal after its play, and the
journal writes in order: a trial that is on disk has its play there. What is
left to do is to notice a write that failed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from flowgauge.errors import Conflict, StoreFailure
from flowgauge.model.ports import Receipt


class Owed:
    """Looks through its receipts whenever more come in; the first failure is told to whoever comes next. Waits for none but at the end."""

    def __init__(self) -> None:
        self._receipts: deque[Receipt] = deque()
        self._failure: StoreFailure | None = None

    def add(self, receipts: Iterable[Receipt]) -> None:
        """Remember writes."""
        self._receipts.extend(receipts)

    def check(self) -> None:
        """Raise what went wrong with the writes that are done."""
        receipts = self._receipts
        while receipts and receipts[0].done():
            self._answer(receipts.popleft())
        self._tell()

    async def close(self) -> None:
        """Every write is on disk, or its error is raised."""
        while self._receipts:
            receipt = self._receipts.popleft()
            try:
                await receipt
            except Conflict:  # another process took the play over and ended it: its record stands
                continue
            except StoreFailure as error:
                self._failure = self._failure or error
        self._tell()

    def _answer(self, receipt: Receipt) -> None:
        try:
            receipt.result()
        except Conflict:  # as above
            return
        except StoreFailure as error:
            self._failure = self._failure or error

    def _tell(self) -> None:
        if self._failure is not None:
            raise StoreFailure(self._failure.message, remedy=self._failure.remedy) from self._failure
