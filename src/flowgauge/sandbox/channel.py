"""Frames to and from one worker, over a socket that never blocks.

A frame is four bytes of length and a body. One is sent, one is awaited; a frame
that nobody awaits, or one too long, is a stray, and the worker that sent it is lost.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

_FRAME_LIMIT_BYTES = 72 << 20
_PREFIX_BYTES = 4
_READ_BYTES = 1 << 18


class Channel:
    """The parent's end. `theirs` is handed to the child and closed here."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_hangup: Callable[[], None], on_stray: Callable[[], None]) -> None:
        self._loop = loop
        self._on_hangup = on_hangup
        self._on_stray = on_stray
        self._ours, self.theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._inbox = bytearray()
        self._outbox = memoryview(b"")
        self._awaited: asyncio.Future[bytes | None] | None = None
        self._writing = False
        self._closed = False
        loop.add_reader(self._ours, self._readable)

    async def exchange(self, body: bytes) -> bytes | None:
        """The answer to a frame; None where the worker ended before it answered."""
        if self._closed:
            return None
        self._awaited = self._loop.create_future()
        self._outbox = memoryview(len(body).to_bytes(_PREFIX_BYTES) + body)
        self._writable()
        try:
            return await self._awaited
        finally:
            self._awaited = None

    def close(self) -> None:
        """Take what was sent before the end; whoever still waits then gets None."""
        if self._closed:
            return
        while self._waiting() and self._readable():
            pass
        self._closed = True
        self._loop.remove_reader(self._ours)
        self._loop.remove_writer(self._ours)
        self._ours.close()
        self._deliver(None)

    def _waiting(self) -> bool:
        return self._awaited is not None and not self._awaited.done()

    def _writable(self) -> None:
        try:
            self._outbox = self._outbox[self._ours.send(self._outbox) :]
        except BlockingIOError:
            pass
        except OSError:
            self._outbox = memoryview(b"")  # that the other end is gone is noticed by reading
        if bool(self._outbox) == self._writing:
            return
        self._writing = not self._writing
        if self._writing:
            self._loop.add_writer(self._ours, self._writable)
        else:
            self._loop.remove_writer(self._ours)

    def _readable(self) -> bool:
        """One piece; False where there is none."""
        try:
            piece = self._ours.recv(_READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            piece = b""
        if not piece:
            self._loop.remove_reader(self._ours)
            self._on_hangup()
            return False
        self._inbox += piece
        self._take_frame()
        return True

    def _take_frame(self) -> None:
        if len(self._inbox) < _PREFIX_BYTES:
            return
        end = _PREFIX_BYTES + int.from_bytes(self._inbox[:_PREFIX_BYTES])
        if end > _FRAME_LIMIT_BYTES or not self._waiting():
            self._inbox.clear()
            self._on_stray()
        elif len(self._inbox) >= end:
            frame = bytes(self._inbox[_PREFIX_BYTES:end])
            del self._inbox[:end]
            self._deliver(frame)

    def _deliver(self, frame: bytes | None) -> None:
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_result(frame)
