"""What a worker's processes print: the first 64 KB of each job's stdout or stderr.

Reads a pipe whenever there is something, keeps the beginning and drops the rest,
so that a flood neither fills memory nor blocks the one who prints.
"""

from __future__ import annotations

import asyncio
import os

KEPT_BYTES = 64 * 1024
_READ_BYTES = 1 << 16
_DRAIN_READS = 32
_CUT = f"\n[cut after {KEPT_BYTES // 1024} KB]"


class Capture:
    """The reading end of one pipe."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._kept = bytearray()
        self.seen_bytes = 0
        """Kept or dropped, since somebody set it to 0."""
        self._closed = False
        loop.add_reader(self._reading, self._read)

    def close_writing(self) -> None:
        """The child has its own copy."""
        os.close(self.writing)

    def take(self) -> str:
        """What was printed since the last time."""
        self._drain()
        if not self._kept:
            return ""
        text = self._kept[:KEPT_BYTES].decode(errors="replace")
        cut = len(self._kept) > KEPT_BYTES
        self._kept.clear()
        return text + _CUT if cut else text

    def close(self) -> None:
        """No more is read; what is in the pipe by now can still be taken."""
        if not self._closed:
            self._drain()
            self._closed = True
            self._loop.remove_reader(self._reading)
            os.close(self._reading)

    def _drain(self) -> None:
        """Empty the pipe, also of what is not kept. Bounded: a thread that was left behind may never stop printing."""
        for _ in range(_DRAIN_READS):
            if not self._read():
                return

    def _read(self) -> bool:
        """One piece; False where there is none now."""
        if self._closed:
            return False
        try:
            piece = os.read(self._reading, _READ_BYTES)
        except BlockingIOError:
            return False
        if not piece:
            self._loop.remove_reader(self._reading)
            return False
        self.seen_bytes += len(piece)
        self._kept += piece[: KEPT_BYTES + 1 - len(self._kept)]
        return True
