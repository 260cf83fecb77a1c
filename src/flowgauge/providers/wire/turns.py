"""Turns: after so many answers have been worked on, the event loop looks at its sockets again.

When a hundred answers arrive together, the loop would work through all of them
before it reads the next, and would see that one tens of milliseconds late.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, TypeVar

Answer = TypeVar("Answer")

A_ROUND = 4
"""Answers worked on between two looks at the sockets."""


class Turns:
    """One to a wire."""

    def __init__(self) -> None:
        self._taken = 0
        self._waiting: deque[tuple[asyncio.Future[Any], Any]] = deque()
        self._due = False

    def give(self, future: asyncio.Future[Answer], answer: Answer) -> None:
        """Let whoever waits go on: at once where few do, else when it is their turn."""
        if not self._due:
            self._due = True
            loop = future.get_loop()
            loop.call_soon(self._next_round, loop)
        if self._taken >= A_ROUND or self._waiting:
            self._waiting.append((future, answer))
        elif not future.done():
            self._taken += 1
            future.set_result(answer)

    async def take(self) -> None:
        """Go on at once where few do, else when it is one's turn."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.give(turn, None)
        await turn

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        self._taken = 0
        while self._waiting and self._taken < A_ROUND:
            future, answer = self._waiting.popleft()
            if not future.done():  # cancelled meanwhile
                future.set_result(answer)
                self._taken += 1
        self._due = self._taken > 0
        if self._due:
            loop.call_soon(self._next_round, loop)
