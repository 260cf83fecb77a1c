"""One program, from its start to the end of its process group.

In: arguments, what it reads, its environment and limits. Out: how it ended and
what it wrote. At its end, when it floods, at its time limit and when nobody
waits any more, what is left of its group is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping

import msgspec

from flowgauge.errors import Failed
from flowgauge.nodes.context import fail

Heard = Callable[[bytes], None]
DRAIN_S = 1.0
"""How long the pipes may still bring what was written, once the whole group is dead."""


class Ended(msgspec.Struct, frozen=True):
    """How the program ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Of one run. Without `timeout_s` whoever waits keeps the time."""

    max_bytes: int
    """Of stdout and of stderr."""
    timeout_s: float | None = None


async def run_program(
    argv: list[str], stdin: bytes, environment: Mapping[str, str], limits: Limits, *, cwd: str | None = None, heard: Heard | None = None
) -> Ended:
    """Run it. Raises errors.Failed where it cannot be started, takes too long or writes without end.

    `heard` is given what it writes, as it comes, so that something is known of one that was killed.
    """
    starting = asyncio.ensure_future(_start(argv, environment, lambda: _Program(limits.max_bytes, heard), cwd))
    try:
        # Not cancelled with us: what is half started could not be killed as a group.
        await asyncio.wait([starting])
        program = starting.result()
        program.feed(stdin)
        async with asyncio.timeout(limits.timeout_s):
            await asyncio.shield(program.exited)
    except TimeoutError as error:
        raise fail("timeout", f"{argv[0]} was killed: it ran longer than {limits.timeout_s:g} s.") from error
    finally:
        await asyncio.shield(asyncio.ensure_future(_end(starting)))
    if program.flood:
        raise fail("invalid_output", f"{argv[0]} wrote more than {limits.max_bytes} bytes and was killed.")
    return Ended(program.exit_code, bytes(program.written[1]), bytes(program.written[2]))


async def _start(argv: list[str], environment: Mapping[str, str], make: Callable[[], _Program], cwd: str | None) -> _Program:
    loop = asyncio.get_running_loop()
    try:
        _, program = await loop.subprocess_exec(make, *argv, env=environment, cwd=cwd, start_new_session=True)
    except (OSError, ValueError) as error:
        raise _cannot_start(argv[0], error) from error
    return program


def _cannot_start(program: str, error: Exception) -> Failed:
    why = error.strerror if isinstance(error, OSError) else error
    where = f" ({error.filename})" if isinstance(error, OSError) and error.filename not in (None, program) else ""
    return fail("command_failed", f"Cannot start {program}: {why}{where}. Is it installed and on PATH?")


async def _end(starting: asyncio.Future[_Program]) -> None:
    await asyncio.wait([starting])
    if starting.exception() is None:
        await starting.result().end()


class _Program(asyncio.SubprocessProtocol):
    """Knows the end of the program apart from the end of its pipes, which its children may hold open."""

    def __init__(self, max_bytes: int, heard: Heard | None) -> None:
        self._max_bytes = max_bytes
        self._heard = heard
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.written = {1: bytearray(), 2: bytearray()}
        self.flood = False
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.written[fd] += data
        if self._heard is not None:
            self._heard(data)
        if len(self.written[fd]) > self._max_bytes and not self.flood:
            self.flood = True
            self._kill_group()

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, _exc: Exception | None) -> None:
        if not self._lost.done():
            self._lost.set_result(None)

    @property
    def exit_code(self) -> int:
        code = self._transport.get_returncode()
        assert code is not None
        return code

    def feed(self, content: bytes) -> None:
        """Write stdin and close it. A program may end without reading it."""
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.write(content)
        pipe.close()

    async def end(self) -> None:
        """Kill what is left of the group, take what it still wrote, close the pipes."""
        self._kill_group()
        await self.exited
        await asyncio.wait([self._lost], timeout=DRAIN_S)
        self._transport.close()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), signal.SIGKILL)
