"""Puts the worker into its tier, once, before any job.

Comes in: the settings that the parent sent. Goes out: what is in force. Raises
OSError where something that was demanded cannot be had: then no job is run.
"""

from __future__ import annotations

import os
import resource
import sys
from typing import Any

from . import kernel, landlock, seccomp

_SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/timezone",
    "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/mime.types", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
    "/dev/random", "/dev/urandom", "/dev/zero", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
    "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
)  # fmt: skip
_WRITABLE_DEVICES = ("/dev/null", "/dev/full")
_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/services", "/etc/protocols", "/etc/gai.conf")
_ROOTS = frozenset({"/", "/home", "/root", "/tmp", "/var"})  # noqa: S108  (never granted as a whole)


def confine(settings: dict[str, Any]) -> dict[str, Any]:
    """Limits for every worker; the file system, network and signals in tier landlock."""
    if kernel.AVAILABLE:
        kernel.die_with(settings["parent_pid"])
    _limit(settings)
    if settings["tier"] != "landlock":
        return {"abi": 0, "seccomp": False}
    network = settings["network"]
    read = [*_present(_interpreter()), *_present(_SYSTEM), *(_present(_NETWORK) if network else ()), *settings["read"]]
    write = [settings["scratch"], *_present(_WRITABLE_DEVICES), *settings["write"]]
    kernel.drop_capabilities()
    landlock.restrict(read, write, network=network)
    return {"abi": landlock.abi(), "seccomp": seccomp.install(network=network)}


def _limit(settings: dict[str, Any]) -> None:
    file_bytes = settings["file_mb"] << 20
    for kind, bound in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NPROC, settings["processes"]),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (allowed, allowed))


def _interpreter() -> list[str]:
    folders = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, os.path.realpath(sys.executable), *sys.path}
    return sorted(folder for folder in folders if folder and os.path.realpath(folder) not in _ROOTS)


def _present(paths: tuple[str, ...] | list[str]) -> list[str]:
    return [path for path in paths if os.path.exists(path)]  # noqa: PTH110  (pathlib would be the worker's slowest import)
