"""The folder in which a pool's workers get their scratch folders, and its removal.

The owner holds a lock in it as long as it lives. A folder whose lock is free was
left by an owner that was killed; whoever makes the next one removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX, _LOCK = "flowgauge-", "owner.lock"


class ScratchFolder:
    """Made at once; gone after `remove()`."""

    def __init__(self) -> None:
        remove_orphans()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        unnamed = self.path / "new.lock"
        self._lock = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unnamed.rename(self.path / _LOCK)  # only now can it be found: it was never free

    def remove(self) -> None:
        """Everything in it, too."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_orphans() -> None:
    """Remove what killed owners of this user left behind."""
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError):
            _remove_if_free(lock)


def _remove_if_free(lock: Path) -> None:
    if lock.lstat().st_uid != os.getuid():
        return
    held = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.parent, ignore_errors=True)
    finally:
        os.close(held)
