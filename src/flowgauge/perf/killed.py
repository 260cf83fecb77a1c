"""Limits that are held from outside, and the artifact of an episode that was ended by one.

The worker took its trace with it: steps and tool calls are then unknown, not zero.
"""

from __future__ import annotations

import contextlib
import os
from typing import Literal

from flowgauge.model.ports import Outcome
from flowgauge.perf.artifact import UNSEALED, sealed
from flowgauge.perf.model import FAILURE_TYPES, RunArtifact, Termination
from flowgauge.perf.orders import EpisodeOrder, PreparedRow, Setup
from flowgauge.sandbox import processes
from flowgauge.sandbox.worker import Worker

Broken = Literal["", "memory", "processes", "files", "output"]
_ENDINGS: dict[Broken, Termination] = {
    "memory": "memory_limit",
    "processes": "sandbox_violation",
    "files": "file_limit",
    "output": "output_limit",
}
_WORDS: dict[Broken, str] = {
    "memory": "It went over its memory limit of {0.memory_mb} MB.",
    "processes": "It started too many processes.",
    "files": "It wrote more than {0.file_mb} MB.",
    "output": "It printed more than {0.output_kb} KB.",
}
_NAMELESS = " (deleted)"


class Watched:
    """Which limit each worker broke in the episode that it runs."""

    def __init__(self, file_bytes: int, output_bytes: int) -> None:
        self._file_bytes = file_bytes
        self._output_bytes = output_bytes
        self._broken: dict[int, Broken] = {}

    def begin(self, worker: Worker) -> None:
        """It is about to run an episode."""
        self._broken[worker.pid] = ""

    def look(self, worker: Worker, younger_than_s: float) -> None:
        """Kill it where it broke one."""
        if self._broken.get(worker.pid) != "" or not worker.alive:
            return
        broken: Broken = worker.check(younger_than_s)
        if not broken and worker.printed_bytes > self._output_bytes:
            broken = "output"
        if not broken and _in_files(worker.scratch) + _in_open_files(worker.pid, worker.scratch) > self._file_bytes:
            broken = "files"
        if broken:
            self._broken[worker.pid] = broken
            worker.stop("killed", f"The episode went over its limit: {broken}.")

    def end(self, worker: Worker) -> Broken:
        """The episode is over: what it broke, also where it was too fast to be caught at it."""
        return self._broken.pop(worker.pid, "") or ("output" if worker.printed_bytes > self._output_bytes else "")


def killed_artifact(setup: Setup, order: EpisodeOrder, outcome: Outcome, broken: Broken, started_at: int) -> RunArtifact:
    """What is known of an episode that did not live to tell."""
    prepared = setup.rows[order.row]
    row = prepared.row
    termination, reason = _ending(prepared, outcome, broken, setup)
    return sealed(
        RunArtifact(
            run_id=order.run_id,
            trace_id=order.trace_id,
            agent=row.name,
            task_ref=row.task,
            task_version=row.task_version,
            seed=order.seed,
            budgets=prepared.budgets,
            inputs=row.inputs,
            success=False,
            termination_reason=termination,
            failure_type=FAILURE_TYPES[termination],
            failure_reason=reason,
            steps=None,
            tool_calls=None,
            started_at=started_at,
            wall_clock_s=outcome.duration_ms / 1000,
            artifact_hash=UNSEALED,
        )
    )


def _ending(prepared: PreparedRow, outcome: Outcome, broken: Broken, setup: Setup) -> tuple[Termination, str]:
    if broken:
        return _ENDINGS[broken], _WORDS[broken].format(setup)
    if outcome.failure == "timeout":
        return "timeout", f"It ran longer than {prepared.budgets.wall_clock_s:g} s and was killed."
    return "worker_died", outcome.message


def _in_files(folder: str) -> int:
    """Bytes of all files below a folder. One that is being emptied counts as far as it is there."""
    total_bytes, waiting = 0, [folder]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    total_bytes += entry.stat(follow_symlinks=False).st_size
    return total_bytes


def _in_open_files(pid: int, folder: str) -> int:
    """Bytes of the folder's files that have no name any more and are held open, by the worker or what it started. Linux only."""
    sizes: dict[tuple[int, int], int] = {}
    for each in (pid, *processes.descendants(pid)):
        with contextlib.suppress(OSError):
            for number in os.listdir(f"/proc/{each}/fd"):  # noqa: PTH208 - looked at twenty times a second
                with contextlib.suppress(OSError):
                    link = f"/proc/{each}/fd/{number}"
                    target = os.readlink(link)  # noqa: PTH115
                    if target.startswith(folder) and target.endswith(_NAMELESS):
                        found = os.stat(link)  # noqa: PTH116
                        sizes[found.st_dev, found.st_ino] = found.st_size
    return sum(sizes.values())
