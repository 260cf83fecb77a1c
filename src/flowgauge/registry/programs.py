"""A program that an adapter or an install runs: stoppable, and gone when this process is, however that ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from flowgauge.nodes.program import Ended, Limits, run_program
from flowgauge.registry import guarded, stopping


def run_guarded(argv: list[str], environment: Mapping[str, str], limits: Limits, *, cwd: str | None = None) -> Ended:
    """To its end, or Stopped. Raises errors.Failed as `run_program` does. Not from within an event loop."""
    return stopping.run(run_program(_with_guard(argv), b"", environment, limits, cwd=cwd))


def _with_guard(argv: list[str]) -> list[str]:
    if sys.platform == "win32":
        return argv
    return [sys.executable, "-I", "-S", str(Path(guarded.__file__).absolute()), str(os.getpid()), *argv]
