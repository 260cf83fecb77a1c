"""A worker's process tree as the kernel shows it: who is in it, how much memory it holds, and its end.

Reads /proc; on systems without it the tree is the worker alone and its memory is unknown (0).
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ROUNDS = 16


def descendants(pid: int) -> set[int]:
    """All processes below this one; the worker adopts orphans, so a double fork stays below it."""
    found: set[int] = set()
    open_pids = [pid]
    while open_pids:
        fresh = _children(open_pids.pop()) - found
        found |= fresh
        open_pids += fresh
    return found


def open_statm(pid: int) -> int:
    """A descriptor for `resident_now`; -1 where the system has no such file."""
    try:
        return os.open(f"/proc/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def resident_now(statm: int) -> int:
    """Memory in RAM, shared pages included; 0 where the process is gone."""
    try:
        return int(os.pread(statm, 128, 0).split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def resident_bytes(pid: int) -> int:
    """The same for a process that is looked at once."""
    statm = open_statm(pid)
    try:
        return resident_now(statm)
    finally:
        if statm >= 0:
            os.close(statm)


def proportional_bytes(pid: int) -> int:
    """Memory in RAM with each shared page counted in parts: exact for forks, slow to read."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return resident_bytes(pid)
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


def kill_tree(pid: int) -> None:
    """SIGKILL for the worker, its group, and all below it that left the group.

    They are stopped first, so that none can fork while the others are looked for.
    """
    _signal_group(pid, signal.SIGSTOP)
    known: set[int] = set()
    for _ in range(_ROUNDS):
        fresh = descendants(pid) - known
        if not fresh:
            break
        known |= fresh
        _signal_each(fresh, signal.SIGSTOP)
    _signal_group(pid, signal.SIGKILL)
    _signal_each(known, signal.SIGKILL)


def kill_group(pid: int) -> None:
    """SIGKILL for what is left of a worker's group after its own end."""
    _signal_group(pid, signal.SIGKILL)


def tasks_of_user() -> int:
    """How many threads this user runs now: RLIMIT_NPROC counts all of them."""
    uid, count = os.getuid(), 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry.stat().st_uid == uid:
                count += len(os.listdir(entry / "task"))  # noqa: PTH208  (only counted)
    return count


def _children(pid: int) -> set[int]:
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found.update(map(int, (task / "children").read_bytes().split()))
    return found


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _signal_each(pids: set[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
