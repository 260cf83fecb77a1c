"""One worker process, seen from the parent.

In: an order (tier, permits, limits), then jobs, one at a time. Out: an Outcome
for each. Time, memory and the number of processes are watched from here and
enforced by killing; nothing that the worker says is trusted beyond its shape.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from typing import Literal

import msgspec

from flowgauge.model.ports import Job, Outcome, Permits
from flowgauge.sandbox import processes
from flowgauge.sandbox.capture import Capture
from flowgauge.sandbox.channel import Channel
from flowgauge.sandbox.messages import Answer, FailedAs, Ready, Settings, encode, encode_request, read_answer, read_ready
from flowgauge.sandbox.tier import Tier

START_TIMEOUT_S = 30.0
MAX_PROCESSES = 64
_HANGUP_GRACE_S = 1.0
_HERE = os.path.dirname(__file__)  # noqa: PTH120  (a string is what the child is handed)
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from guest.main import main; main(sys.argv[1], int(sys.argv[2]))"
_PASSED_ON = ("PATH", "LANG", "TZ")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is started with. `folder` is where it gets its scratch folder."""

    tier: Tier
    permits: Permits
    folder: str
    processes: int
    file_mb: int = 1024
    boot: str = ""
    """Another program that speaks as `guest` does: python code, called with the number of the channel as its only argument."""
    environment: dict[str, str] | None = None
    """Of that program; None: the clean one."""


class StartFailed(Exception):
    """No worker came up; no job was run."""

    def __init__(self, failure: FailedAs, message: str) -> None:
        super().__init__(message)
        self.failure = failure


def clean_environment(scratch: str) -> dict[str, str]:
    """Nothing of the parent's but where programs, language and time zone are."""
    kept = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    return {"PATH": os.defpath, **kept, "HOME": scratch, "TMPDIR": scratch}


class Worker:
    """Started by its construction; ready after `start()`; never used again once `alive` is False."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.alive = True
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._stopped: tuple[FailedAs, str] | None = None
        self._jobs = 0
        self._job: Job | None = None
        self._began_s = 0.0
        self._base_bytes = 0
        self.scratch = tempfile.mkdtemp(prefix="worker-", dir=order.folder)
        self._out, self._err = Capture(self._loop), Capture(self._loop)
        stray = partial(self.stop, "killed", "The worker sent what was not asked for and was killed.")
        self._channel = Channel(self._loop, self._hung_up, stray)
        try:
            self._process = self._spawn(self._channel.theirs.fileno())
        except OSError:
            self._close_descriptors()
            raise
        finally:
            self._channel.theirs.close()
            self._out.close_writing()
            self._err.close_writing()
        self.pid = self._process.pid
        self._statm = processes.open_statm(self.pid)
        self._pidfd = os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else -1
        if self._pidfd >= 0:
            self._loop.add_reader(self._pidfd, self._exited)

    def _spawn(self, channel: int) -> subprocess.Popen[bytes]:
        # In the loop's own thread: the kernel ends the worker with the thread that started it.
        order = self.order
        program = ["-c", order.boot] if order.boot else ["-I", "-c", _BOOT, _HERE]
        return subprocess.Popen(
            [sys.executable, *program, str(channel)],
            stdin=subprocess.DEVNULL,
            stdout=self._out.writing,
            stderr=self._err.writing,
            pass_fds=(channel,),
            cwd=self.scratch,
            env=clean_environment(self.scratch) if order.environment is None else order.environment,
            start_new_session=True,
        )

    async def start(self) -> Ready:
        """Hand over the settings and wait until the worker is confined."""
        timer = self._loop.call_later(START_TIMEOUT_S, self.stop, "killed", f"It did not start within {START_TIMEOUT_S:g} s.")
        order = self.order
        settings = Settings(
            parent_pid=os.getpid(),
            tier=order.tier,
            scratch=self.scratch,
            read=order.permits.read,
            write=order.permits.write,
            network=order.permits.network,
            processes=order.processes,
            file_mb=order.file_mb,
        )
        frame = await self._exchange(encode(settings), timer)
        if frame is None:
            failure, message = self._end()
            raise StartFailed(failure, f"No worker could be started. {message} {self._err.take()[-2000:]}".rstrip())
        ready = read_ready(frame)
        if ready.error:
            self.stop("isolation", ready.error)
            raise StartFailed("isolation", f"The worker could not be confined, so no code was run: {ready.error}")
        return ready

    async def run(self, job: Job) -> Outcome:
        """One job. After it, `alive` says whether there can be another."""
        try:
            request = encode_request(self._jobs + 1, job)
        except (TypeError, ValueError, RecursionError) as error:
            return Outcome(failure="code_error", message=f"The code or its arguments cannot be sent as JSON: {error}")
        self._jobs += 1
        self._job = job
        self._out.seen_bytes = self._err.seen_bytes = 0
        self._base_bytes = processes.resident_now(self._statm)
        self._began_s = time.perf_counter()
        timer = self._loop.call_later(job.timeout_s, self.stop, "timeout", f"The code ran longer than {job.timeout_s:g} s and was killed.")
        frame = await self._exchange(request, timer)
        self._job = None
        return self._outcome(frame, (time.perf_counter() - self._began_s) * 1000)

    def stop(self, failure: FailedAs, message: str) -> None:
        """Kill the worker and all that it started. The first reason given is the one that is told."""
        if self._stopped is None:
            self._stopped = (failure, message)
        self.alive = False
        if self._process.returncode is None:
            processes.kill_tree(self.pid)
            self._ask_for_exit()

    @property
    def printed_bytes(self) -> int:
        """Of the job that is under way or was the last, on stdout and stderr."""
        return self._out.seen_bytes + self._err.seen_bytes

    def check(self, younger_than_s: float) -> Literal["", "memory", "processes"]:
        """Stop the worker if its job, not younger than this, holds too much memory or too many processes; answers which."""
        job = self._job
        if job is None or time.perf_counter() - self._began_s < younger_than_s:
            return ""
        tree = {self.pid, *processes.descendants(self.pid)}
        limit_bytes = self._base_bytes + (job.memory_mb << 20)
        over = sum(map(processes.resident_bytes, tree)) > limit_bytes
        if len(tree) > MAX_PROCESSES:
            self.stop("killed", f"The code started more than {MAX_PROCESSES} processes and was killed.")
            return "processes"
        if over and sum(map(processes.proportional_bytes, tree)) > limit_bytes:
            self.stop("killed", f"The code went over its memory limit of {job.memory_mb} MB and was killed.")
            return "memory"
        return ""

    async def _exchange(self, body: bytes, timer: asyncio.TimerHandle) -> bytes | None:
        try:
            return await self._channel.exchange(body)
        except asyncio.CancelledError:
            self.stop("killed", "The call was cancelled.")
            raise
        finally:
            timer.cancel()

    def _outcome(self, frame: bytes | None, duration_ms: float) -> Outcome:
        if frame is None:
            failure, message = self._end()
            answer = Answer(id=self._jobs, failure=failure, message=message)
        else:
            answer = read_answer(frame, self._jobs)
        if answer.retire:
            self.stop("killed", answer.retire)
        return Outcome(
            value=answer.value,
            failure=answer.failure,
            message=answer.message,
            traceback=answer.traceback,
            stdout=self._out.take(),
            stderr=self._err.take(),
            duration_ms=duration_ms,
        )

    def _end(self) -> tuple[FailedAs, str]:
        if self._stopped is not None:
            return self._stopped
        code = self._process.returncode
        if code is not None and code < 0:
            return "killed", f"The code's process was killed by {signal.Signals(-code).name} (signal {-code})."
        return "killed", f"The code ended its own process with exit code {code}."

    def _hung_up(self) -> None:
        """The channel is closed: the process is ending, or the code closed what was not its own."""
        self.alive = False
        self._loop.call_later(_HANGUP_GRACE_S, self._still_there)
        self._ask_for_exit()

    def _still_there(self) -> None:
        if self._process.returncode is None:
            self.stop("killed", "The code closed the worker's own channel and was killed.")

    def _ask_for_exit(self, pause_s: float = 0.001) -> None:
        """Where the kernel does not tell of a process's end."""
        if self._pidfd < 0 and self._process.returncode is None:
            self._exited()
            self._loop.call_later(pause_s, self._ask_for_exit, min(pause_s * 2, 0.05))

    def _exited(self) -> None:
        if self._pidfd >= 0:
            processes.kill_group(self.pid)  # before it is reaped: until then its number cannot become another's
        if self._process.returncode is not None or self._process.poll() is None:
            return
        self.alive = False
        self._close_descriptors()
        cleaned = self._loop.run_in_executor(None, partial(shutil.rmtree, self.scratch, ignore_errors=True))
        cleaned.add_done_callback(lambda _: None if self.ended.done() else self.ended.set_result(None))

    def _close_descriptors(self) -> None:
        self._out.close()
        self._err.close()
        self._channel.close()
        if getattr(self, "_pidfd", -1) >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        if getattr(self, "_statm", -1) >= 0:
            os.close(self._statm)
        self._pidfd = self._statm = -1
