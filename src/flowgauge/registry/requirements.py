"""What an adapter needs, held against this machine.

GPUs are asked of `nvidia-smi`; where it is not there or fails, there is none.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from importlib.util import find_spec

from flowgauge.registry.adapter import Requires

_ASK = ("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits")
_ASK_S = 20.0
_MB_A_GB = 1024


def missing(requires: Requires, *, packages_here: bool = True) -> str:
    """All that is not there, in words; empty where nothing is missing. `packages_here`: its packages are looked for in this environment."""
    return "; ".join([*(_packages(requires) if packages_here else ()), *_gpu(requires)])


def _packages(requires: Requires) -> Iterator[str]:
    for name in requires.packages:
        if not _importable(name):
            yield f"the package {name} is not installed"


def _importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _gpu(requires: Requires) -> Iterator[str]:
    if not requires.gpu and requires.min_vram_gb <= 0:
        return
    sizes = gpu_memories_gb()
    if not sizes:
        wanted = f" with {requires.min_vram_gb:g} GB" if requires.min_vram_gb > 0 else ""
        yield f"it needs a GPU{wanted}, and nvidia-smi shows none"
    elif max(sizes) < requires.min_vram_gb:
        yield f"it needs {requires.min_vram_gb:g} GB of GPU memory, and the largest GPU has {max(sizes):.1f} GB"


def gpu_memories_gb() -> tuple[float, ...]:
    """One figure a GPU; empty where there is none."""
    try:
        done = subprocess.run(_ASK, capture_output=True, text=True, timeout=_ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    lines = done.stdout.split() if done.returncode == 0 else []
    return tuple(float(line) / _MB_A_GB for line in lines if line.isdigit())
