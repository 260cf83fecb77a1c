"""Which process is this, and does that one still live?

A pid alone is not enough: pids are used again, and two containers on one
machine may share host name and boot but not their pids.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

import psutil

_PROC = Path("/proc")


@cache
def host() -> str:
    """How this machine calls itself."""
    return socket.gethostname()


@cache
def boot() -> str:
    """This run of this machine, and which of its pid namespaces."""
    try:
        booted = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{booted} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return f"{psutil.boot_time():.0f}"


def pid_started(pid: int) -> int | None:
    """When a living process began: ticks after boot, or ms since 1970 where there is no /proc. None: it is gone or a zombie."""
    if (_PROC / "self/stat").exists():
        return _from_proc(pid)
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else int(process.create_time() * 1000)
    except psutil.Error:
        return None


def _from_proc(pid: int) -> int | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The name, in brackets, may hold anything; what follows it is fields 3 and on.
    fields = stat.rpartition(")")[2].split()
    state, started = fields[0], fields[19]
    return None if state in "ZX" else int(started)


def here() -> tuple[str, int, int, str]:
    """Host, pid, its beginning and the boot, of this process."""
    return host(), os.getpid(), pid_started(os.getpid()) or 0, boot()
