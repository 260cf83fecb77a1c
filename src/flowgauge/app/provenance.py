"""Where a measurement was made: the commit of the working folder, and the class of the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path


def commit_here(folder: Path | None = None) -> str:
    """The commit checked out in the folder, with `+` where files differ from it; empty outside a repository."""
    sha = _git("rev-parse", "HEAD", folder=folder)
    if not sha:
        return ""
    return f"{sha}+" if _git("status", "--porcelain", "--untracked-files=no", folder=folder) else sha


def _git(*arguments: str, folder: Path | None) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=5, cwd=folder, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def machine_class() -> str:
    """What must be alike for times to be compared: system, processor, cores, memory, Python."""
    import psutil

    memory_gb = round(psutil.virtual_memory().total / 2**30)
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{platform.system().lower()}-{platform.machine()}-{os.cpu_count()}cpu-{memory_gb}gb-py{python}"
