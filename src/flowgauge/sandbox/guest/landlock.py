"""Landlock: this process may open only what is listed, from now on and for all its children.

Comes in: paths to read, paths to write, whether TCP is allowed. What the
kernel's version of Landlock does not know is left out; `abi()` says which it is.
"""

from __future__ import annotations

import ctypes
import os
import stat

from . import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FIRST_ABI_FS = (1 << 13) - 1
_FS_SINCE = {2: 1 << 13, 3: _TRUNCATE, 5: _IOCTL_DEV}
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_TCP_BIND_AND_CONNECT, _TCP_SINCE = 0b11, 4
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS, _SCOPE_SINCE = 0b11, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("fd", ctypes.c_int32))


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none or it is switched off."""
    if not kernel.AVAILABLE:
        return 0
    try:
        return kernel.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def restrict(read: list[str], write: list[str], *, network: bool) -> None:
    """Close everything else. Raises OSError where the kernel refuses or a path cannot be opened."""
    version = abi()
    handled = _FIRST_ABI_FS | sum(bit for since, bit in _FS_SINCE.items() if version >= since)
    rules = _Ruleset(
        fs=handled,
        net=_TCP_BIND_AND_CONNECT if version >= _TCP_SINCE and not network else 0,
        scoped=_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS if version >= _SCOPE_SINCE else 0,
    )
    ruleset = kernel.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    try:
        for path in read:
            _allow(ruleset, path, _READ)
        for path in write:
            _allow(ruleset, path, handled)
        kernel.prctl(kernel.SET_NO_NEW_PRIVS)
        kernel.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            access &= _ON_FILES
        version = abi()
        access &= _FIRST_ABI_FS | sum(bit for since, bit in _FS_SINCE.items() if version >= since)
        rule = _Beneath(access=access, fd=opened)
        kernel.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)
