"""The host of a run: what it is, in words and as a class."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from flowgauge._version import __version__
from flowgauge.perf.files import Host

_NAMED = ("msgspec", "psutil", "aiohttp")


def this_host(machine: str, git: str) -> Host:
    """`machine` is the class that benches use too; `git` the commit of the folder."""
    return Host(
        machine=machine,
        cpu=_cpu(),
        cores=os.cpu_count() or 0,
        memory_bytes=_memory_bytes(),
        os=f"{platform.system()} {platform.release()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        versions={"flowgauge": __version__, **{name: importlib.metadata.version(name) for name in _NAMED}},
        git=git,
    )


def _cpu() -> str:
    """Its name, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Hardware")))
    return next(named, "") or platform.processor() or platform.machine()


def _memory_bytes() -> int:
    import psutil

    return int(psutil.virtual_memory().total)
