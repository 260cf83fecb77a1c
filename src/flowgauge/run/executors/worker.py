"""One worker process as its executor sees it: started, fed, asked whether it lives, ended.

The process is a new interpreter, never a fork: this one has threads. It stands
in a session of its own, so that Ctrl-C at the terminal reaches only its parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable

from flowgauge.model.bench import PlannedTrial
from flowgauge.run.executors.frames import Finish, FrameLine, FromWorker, Ping, Setup, Work
from flowgauge.run.trial_job import Recipe
from flowgauge.sandbox.processes import kill_tree

_BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[2]); from flowgauge.run.executors.child import main; main()"
_STDERR = 2
LAST_S = 5.0
"""How long a worker may take to end by itself."""


class Worker:
    """`held` are the trials it was sent and has not answered, in the order in which it starts them."""

    def __init__(self, slots: int, on_message: Callable[[Worker, FromWorker], None], on_lost: Callable[[Worker], None]) -> None:
        self.slots = slots
        self.held: dict[str, PlannedTrial] = {}
        self.ready = False
        self.alone = False
        """It holds a trial whose last worker died: nothing else is sent to it."""
        self.stalled = False
        self.lost = False
        self._on_lost = on_lost
        self._line: FrameLine[FromWorker] = FrameLine(FromWorker, lambda message: on_message(self, message), self._hung_up)
        self._process: subprocess.Popen[bytes] | None = None
        self._asked_at = 0.0

    async def start(self, recipe: Recipe) -> None:
        """Start the process and tell it what to be. What it prints goes to stderr: stdout is for the report."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.to_thread(_spawn, theirs.fileno())
        await asyncio.get_running_loop().create_connection(lambda: self._line, sock=ours)
        self._line.send(Setup(recipe, self.slots))

    def send(self, trials: list[PlannedTrial]) -> None:
        """Trials to run."""
        for planned in trials:
            self.held[planned.run_id] = planned
        self._line.send(Work(trials))

    def started(self) -> list[PlannedTrial]:
        """Those of its trials that it can have begun: it begins no further one before a result is out."""
        return list(self.held.values())[: self.slots]

    def look(self, stall_s: float | None) -> None:
        """Has it died without hanging up? Does its event loop stand still?"""
        if self._process is None or self.lost:
            return
        if self._process.poll() is not None:
            self._hung_up()
        elif stall_s is not None and self.held and self._asked_at and time.monotonic() - self._asked_at > stall_s:
            self.stalled = True
            self.kill()
        elif stall_s is not None and self.ready and not self._asked_at:
            self._asked_at = time.monotonic()
            self._line.send(Ping())

    def answered(self) -> None:
        """Its event loop turns."""
        self._asked_at = 0.0

    def kill(self) -> None:
        """End it now, with all that runs below it."""
        if self._process is not None and self._process.poll() is None:
            kill_tree(self._process.pid)

    async def finish(self) -> None:
        """Let it close what it holds, and end."""
        if self._process is None:
            return
        self._on_lost = _nobody
        self._line.send(Finish())
        if self.held or not self.ready or self.lost:
            self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._process.wait, LAST_S)
        self.kill()
        self._process.wait()
        self._line.close()

    def how_it_ended(self) -> str:
        """For people."""
        if self.stalled:
            return "stopped answering and was killed"
        code = self._process.wait() if self._process is not None else 0
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def _hung_up(self) -> None:
        if not self.lost:
            self.lost = True
            self.kill()
            self._on_lost(self)


def _spawn(line: int) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-c", _BOOT, str(line), json.dumps(sys.path)]
    return subprocess.Popen(argv, pass_fds=(line,), stdin=subprocess.DEVNULL, stdout=_STDERR, start_new_session=True)


def _nobody(_worker: Worker) -> None:
    """It was told to end."""
