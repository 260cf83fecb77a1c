"""What a job may have changed in the process, and how it is put back.

`State()` is taken once, before the first job; `restore()` runs after each and
answers why the worker must be replaced, or nothing. What costs nothing when
nothing changed is checked after every job; imported modules stay imported.
"""

# Importing pathlib would be the slowest part of starting a worker.
# ruff: noqa: PTH101, PTH106, PTH108, PTH123, PTH208
from __future__ import annotations

import _thread
import builtins
import io
import os
import resource
import signal
import stat
import sys
import time
from collections.abc import Callable

STREAM_LIMIT_BYTES = 64 * 1024
_GROWTH_LIMIT_PAGES = (512 << 20) // os.sysconf("SC_PAGE_SIZE")
_REAP_FOR_S = 2.0
_FIXED_SIGNALS = {signal.SIGKILL, signal.SIGSTOP}
_LIMITS = (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_STACK, resource.RLIMIT_FSIZE)
_handler: Callable[[int], object] = sys.modules["_signal"].getsignal
"""signal.getsignal without the turn through an enum: it is asked for every signal after every job."""


class Stream(io.RawIOBase):
    """A file descriptor that takes any amount and passes on the first of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.room_bytes = 0

    def writable(self) -> bool:
        """Yes."""
        return True

    def fileno(self) -> int:
        """For subprocesses, which write to the descriptor itself."""
        return self._descriptor

    def write(self, data: object) -> int:
        """All of it is taken; what is over the limit is dropped."""
        view = memoryview(data)  # type: ignore[arg-type]  # the io module promises a buffer
        if self.room_bytes > 0:
            self.room_bytes -= os.write(self._descriptor, view[: self.room_bytes])
        return view.nbytes


class State:
    """The process as it was before the first job."""

    def __init__(self, scratch: str) -> None:
        self.pid = os.getpid()
        self.spared: frozenset[int] = frozenset()
        """Children that are the worker's own: they outlive jobs."""
        self.own_threads = 0
        self.stream_bytes = STREAM_LIMIT_BYTES
        """So much of what a job prints is passed on."""
        self._scratch = scratch
        self._environ = os.environ
        # The mapping behind os.environ: to compare it costs a tenth of comparing decoded copies.
        self._live_environment: dict[bytes, bytes] = vars(os.environ)["_data"]
        self._environment = dict(self._live_environment)
        self._live_builtins = vars(builtins)
        self._builtins = dict(self._live_builtins)
        self._path = list(sys.path)
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self._limits = [resource.getrlimit(kind) for kind in _LIMITS]
        self._recursion = sys.getrecursionlimit()
        self._signals = {int(n): _handler(n) for n in signal.valid_signals() if n not in _FIXED_SIGNALS}
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC) if sys.platform == "linux" else -1
        self._first_pages = self.data_pages()
        self.open_streams()

    def data_pages(self) -> int:
        """Pages of private writable memory; 0 where the system does not say."""
        return int(os.pread(self._statm, 128, 0).split()[5]) if self._statm >= 0 else 0

    def open_streams(self) -> None:
        """Fresh stdout and stderr, each with its whole room."""
        self._raw = (Stream(1), Stream(2))
        self._stdout, self._stderr = (
            io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True) for raw in self._raw
        )
        self._stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  (lives as long as the worker)
        opened = {"stdin": self._stdin, "stdout": self._stdout, "stderr": self._stderr}
        self._streams = opened | {f"__{name}__": stream for name, stream in opened.items()}

    def begin(self) -> None:
        """Before a job: its own streams, its own arguments."""
        if self._stdout.closed or self._stderr.closed or self._stdin.closed:
            self.open_streams()
        for raw in self._raw:
            # One byte more than is kept tells the parent that there was more.
            raw.room_bytes = self.stream_bytes + 1
        vars(sys).update(self._streams, argv=[""])

    def restore_builtins(self) -> None:
        """Before anything of ours runs again: it uses them, too."""
        if self._live_builtins != self._builtins:
            self._live_builtins.clear()
            self._live_builtins.update(self._builtins)

    def restore(self) -> str:
        """After a job. Answers why this process should not run another, or an empty text."""
        self._flush()
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.umask(self._umask)
        sys.settrace(None)
        sys.setprofile(None)
        if sys.getrecursionlimit() != self._recursion:
            sys.setrecursionlimit(self._recursion)
        if sys.path != self._path:
            sys.path[:] = self._path
        self._restore_environment()
        self._restore_signals()
        return self._end_children() or self._clear_scratch() or self._kept()

    def _flush(self) -> None:
        for stream in (self._stdout, self._stderr):
            if not stream.closed:
                stream.flush()

    def _restore_environment(self) -> None:
        os.environ = self._environ  # noqa: B003  (the code may have put another mapping in its place)
        if self._live_environment != self._environment:
            os.environ.clear()
            os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in self._environment.items()})

    def _restore_signals(self) -> None:
        for number, handler in self._signals.items():
            if _handler(number) != handler and handler is not None:
                signal.signal(number, handler)  # type: ignore[arg-type]  # it came from there

    def _end_children(self) -> str:
        """Kill and reap whatever the job started and left, orphans included: they are ours by adoption."""
        deadline = time.monotonic() + _REAP_FOR_S
        try:
            while time.monotonic() < deadline:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    left = [child for child in children(self.pid) if child not in self.spared]
                    if not left:
                        return ""
                    for child in left:
                        os.kill(child, signal.SIGKILL)
                    time.sleep(0.001)
        except ChildProcessError:
            return ""
        except (OSError, ValueError) as error:
            return f"its child processes could not be ended: {error}"
        return "its child processes did not end"

    def _clear_scratch(self) -> str:
        try:
            os.chdir(self._scratch)
            if os.listdir(self._scratch):
                _empty(self._scratch)
        except OSError as error:
            return f"its scratch folder could not be emptied: {error}"
        return ""

    def _kept(self) -> str:
        if _thread._count() > self.own_threads:
            return "a thread was left running"
        if [resource.getrlimit(kind) for kind in _LIMITS] != self._limits:
            return "it changed its own limits"
        if self.data_pages() - self._first_pages > _GROWTH_LIMIT_PAGES:
            return "it kept much memory"
        return ""


def children(pid: int) -> list[int]:
    """The processes right below one."""
    found: list[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as listing:
            found += map(int, listing.read().split())
    return found


def _empty(folder: str) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, stat.S_IRWXU)
                _empty(entry.path)
                os.rmdir(entry.path)
            else:
                os.unlink(entry.path)
