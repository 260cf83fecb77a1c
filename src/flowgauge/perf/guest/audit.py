"""The I/O audit: what an agent touches, told by the interpreter itself (sys.addaudithook), and what it may not.

Comes in: audit events of this process while an agent runs. Goes out: IoEvents
with paths that are the same on every worker. Refuses writes outside the
episode's folder, connections and programs, unless the row allows them. It sees
what goes through Python; it is a record and a rail, no security boundary.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

import flowgauge
from flowgauge.perf.model import Allowed, IoEvent

MOST_EVENTS = 256
"""Of one step; further ones are not written down. What is refused always is."""
_WRITING = os.O_WRONLY | os.O_RDWR
_TEMPORARY = re.compile(r"(?<=/tmp)[a-z0-9_]{8}(?=/|$|\.)")
"""The chance in names that `tempfile` makes: the same episode must leave the same audit."""
_NOT_FILES = ("/dev/", "/proc/", "/sys/")
"""To read there is no touch of the outside."""
_SINKS = re.compile(r"/dev/(null|zero|full|tty|stdin|stdout|stderr|fd/[012])|/proc/self/fd/[012]")
"""To write there leaves nothing."""
_CODE = (".py", ".pyc", ".so", ".pyi")


class Refused(PermissionError):
    """What the agent sees where it reaches for what it was not given."""


class Audit:
    """One for the worker's whole life: a hook cannot be taken away again."""

    def __init__(self, scratch: str, folder: str) -> None:
        self._scratch = os.path.join(scratch, "")  # noqa: PTH118 - strings all the way: this runs inside every open()
        self._folder = os.path.join(folder, "")  # noqa: PTH118
        self._unseen = _interpreters_own()
        self._writable: tuple[str, ...] = ()
        self._allowed = Allowed()
        self._on = False
        self._muted = False
        self._events: list[IoEvent] = []
        self.refused: list[IoEvent] = []
        sys.addaudithook(self._hear)

    def begin(self, allowed: Allowed) -> None:
        """An agent is about to run."""
        self._allowed = allowed
        allowed_too = (os.path.abspath(os.path.join(self._folder, path)) for path in allowed.write)  # noqa: PTH100, PTH118
        self._writable = (self._scratch.rstrip("/"), *allowed_too)
        self._events, self.refused = [], []
        self._muted = False
        self._on = True

    def end(self) -> None:
        """It has ended."""
        self._on = False

    def pause(self, paused: bool) -> None:
        """Our own code works for the agent: it asks a model."""
        self._on = not paused

    def mute(self, muted: bool) -> None:
        """A call is made that stands in the audit as a whole: only what is refused is written down beside it."""
        self._muted = muted

    def take(self) -> tuple[IoEvent, ...]:
        """What was touched since the last time."""
        events, self._events = tuple(self._events), []
        return events

    def note(self, event: IoEvent) -> None:
        """Write it down, a flood of them only in part."""
        if event.refused or (not self._muted and len(self._events) < MOST_EVENTS):
            self._events.append(event)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._on:
            return
        handler = _HANDLERS.get(event)
        if handler is not None:
            handler(self, arguments)

    def _open(self, arguments: tuple[Any, ...]) -> None:
        path, _, flags = arguments
        if isinstance(path, str | bytes | os.PathLike):
            self._touch("write" if isinstance(flags, int) and flags & _WRITING else "read", path)

    def _list(self, arguments: tuple[Any, ...]) -> None:
        path = arguments[0]
        if isinstance(path, str | bytes | os.PathLike) and os.fspath(path) not in sys.path_importer_cache:
            self._touch("read", path)

    def _write(self, arguments: tuple[Any, ...]) -> None:
        for path in arguments[:2]:
            if isinstance(path, str | bytes | os.PathLike):
                self._touch("write", path)

    def _remove(self, arguments: tuple[Any, ...]) -> None:
        self._touch("remove", arguments[0])

    def _connect(self, arguments: tuple[Any, ...]) -> None:
        address = arguments[1]
        target = ":".join(map(str, address[:2])) if isinstance(address, tuple) else str(address)
        self._judge(IoEvent(kind="connect", target=target), self._allowed.network, "allow: {network: true}")

    def _start(self, arguments: tuple[Any, ...]) -> None:
        program = arguments[0] if arguments else "fork"
        target = os.fsdecode(program) if isinstance(program, str | bytes | os.PathLike) else str(program)
        self._judge(IoEvent(kind="process", target=target), self._allowed.processes, "allow: {processes: true}")

    def _touch(self, kind: Any, path: str | bytes | os.PathLike[str]) -> None:
        whole = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
        if whole == self._scratch.rstrip("/") or (kind == "write" and _SINKS.fullmatch(whole)):
            return  # `tempfile` tries once in a process whether the folder takes files without a name
        if kind == "read":
            if not self._is_unseen(whole):
                self.note(IoEvent(kind="read", target=self._spoken(whole)))
            return
        inside = any(_is_in(whole, place) for place in self._writable)
        self._judge(IoEvent(kind=kind, target=self._spoken(whole)), inside, f"allow: {{write: [{whole}]}}")

    def _judge(self, event: IoEvent, fine: bool, remedy: str) -> None:
        if fine:
            self.note(event)
            return
        refused = IoEvent(kind=event.kind, target=event.target, refused=True)
        self.refused.append(refused)
        self.note(refused)
        raise Refused(f"An agent may not {_WORDS[event.kind]} {event.target}. To let it, write in its row: {remedy}.")

    def _is_unseen(self, path: str) -> bool:
        """Files that the interpreter reads for itself, now in one episode and then in another."""
        return path.startswith(self._unseen) or path.endswith(_CODE) or path.startswith(_NOT_FILES)

    def _spoken(self, path: str) -> str:
        if _is_in(path, self._scratch.rstrip("/")):
            return _TEMPORARY.sub("*", f"scratch/{path[len(self._scratch) :]}")
        return path.removeprefix(self._folder)


_WORDS = {"write": "write", "remove": "remove", "connect": "connect to", "process": "start"}
_HANDLERS: dict[str, Callable[[Audit, tuple[Any, ...]], None]] = {
    "open": Audit._open,
    "os.listdir": Audit._list,
    "os.scandir": Audit._list,
    **dict.fromkeys(("os.mkdir", "os.rename", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.utime"), Audit._write),
    **dict.fromkeys(("os.remove", "os.rmdir"), Audit._remove),
    **dict.fromkeys(("socket.connect", "socket.sendto"), Audit._connect),
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"), Audit._start),
}


def _is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(os.path.join(place, ""))  # noqa: PTH118


def _interpreters_own() -> tuple[str, ...]:
    folders = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), os.path.dirname(flowgauge.__file__)}  # noqa: PTH120
    return tuple(os.path.join(os.path.abspath(folder), "") for folder in folders if folder not in ("", "/"))  # noqa: PTH100, PTH118
