"""Calls to the Linux kernel that Python has no function for.

Comes in: numbers and buffers. Goes out: the kernel's answer, or OSError.
On other systems `AVAILABLE` is False and nothing here is called.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

AVAILABLE = sys.platform == "linux"
SET_PDEATHSIG, SET_NO_NEW_PRIVS, SET_CHILD_SUBREAPER, SET_SECCOMP = 1, 38, 36, 22

_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522
_CAP_DAC_OVERRIDE = 1 << 1

_libc = ctypes.CDLL(None, use_errno=True) if AVAILABLE else None


def syscall(number: int, *arguments: object) -> int:
    """A system call by number; integers are passed as 64 bits."""
    assert _libc is not None
    wide = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *wide))


def prctl(option: int, value: object = 1, extra: object = 0) -> None:
    """Set one property of this process."""
    assert _libc is not None
    wide = [ctypes.c_ulong(argument) if isinstance(argument, int) else argument for argument in (value, extra, 0, 0)]
    _checked(_libc.prctl(option, *wide))


def die_with(parent_pid: int) -> None:
    """Be killed when the parent ends, however it ends; and adopt what our children leave behind."""
    prctl(SET_PDEATHSIG, signal.SIGKILL)
    prctl(SET_CHILD_SUBREAPER)
    if os.getppid() != parent_pid:
        os._exit(0)


def drop_capabilities() -> None:
    """Root keeps only the right to open files of other owners, where Landlock lets it reach them."""
    number = _CAPSET.get(os.uname().machine)
    if os.geteuid() != 0 or number is None:
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)(_CAP_DAC_OVERRIDE, _CAP_DAC_OVERRIDE, 0, 0, 0, 0)
    try:
        syscall(number, ctypes.byref(header), ctypes.byref(sets))
    except PermissionError:
        # A container may have taken the capability already; then none at all are kept.
        syscall(number, ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
