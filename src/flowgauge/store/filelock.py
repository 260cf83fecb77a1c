"""A lock that processes share, by a file that stays. Freed by the system when its holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _take(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def locked(path: Path, *, wait_s: float = 0.0) -> Iterator[bool]:
    """Whether the lock was had within `wait_s`. Closing the file frees it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    try:
        yield _within(handle, time.monotonic() + wait_s)
    finally:
        os.close(handle)


def _within(handle: int, deadline: float) -> bool:
    while not _take(handle):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)
    return True
