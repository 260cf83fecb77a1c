"""Turns: after so many answers have been worked on, the event loop looks at its sockets again.

When a hundred answers arrive together, the loop would work through all of them
before it reads the next, and would see that one tens of milliseconds late.
"""

from __future__ import annotations

import asyncio
from collections import deque

A_ROUND = 4
"""Answers worked on between two looks at the sockets."""


class Turns:
    """One to a wire."""

    def __init__(self) -> None:
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._due = False

    async def take(self) -> None:
        """Go on at once where few do, else when it is one's turn."""
        loop = asyncio.get_running_loop()
        if not self._due:
            self._due = True
            loop.call_soon(self._next_round, loop)
        if self._taken < A_ROUND and not self._waiting:
            self._taken += 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        self._taken = 0
        while self._waiting and self._taken < A_ROUND:
            turn = self._waiting.popleft()
            if not turn.done():  # cancelled meanwhile
                turn.set_result(None)
                self._taken += 1
        self._due = self._taken > 0
        if self._due:
            loop.call_soon(self._next_round, loop)
