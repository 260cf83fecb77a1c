"""`command`: a program, without a shell.

Every part of `argv` is one argument, whatever is filled into it. The program
sees PATH, HOME, LANG and the variables named by `env`, nothing else. When it
ends, or at its time-out, what is left of its process group is killed; only a
child that makes a session of its own escapes that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.workflow import Json, Node
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.kind import Complaint, Kind

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
DEFAULT_TIMEOUT_S = 300.0
DRAIN_S = 1.0
"""How long the pipes may still bring what was written, once the whole group is dead."""


class CommandNode(Node, frozen=True, kw_only=True, tag="command", tag_field="type"):
    """Run a program."""

    argv: Annotated[tuple[str, ...], Meta(min_length=1, description="The program and its arguments; templates.")]
    stdin: Annotated[str, Meta(description="What the program reads; a template.")] = ""
    cwd: str = ""
    env: Annotated[tuple[str, ...], Meta(description="Names of environment variables to pass on.")] = ()
    expect: Annotated[tuple[int, ...], Meta(description="Exit codes that count as success.")] = (0,)
    max_bytes: Annotated[int, Meta(ge=1, description="Of stdout and of stderr; more is a failure.")] = 1_000_000


class Ended(msgspec.Struct, frozen=True):
    """How the program ended."""

    exit_code: int
    stdout: str
    stderr: str


def check(node: CommandNode) -> Iterable[Complaint]:
    """A program needs a name."""
    if node.argv and not node.argv[0].strip():
        yield Complaint("argv", "The program's name is empty.", "Write argv: [program, argument, …].")


async def run(node: CommandNode, fields: Mapping[str, Json], context: Context) -> Json:
    """{exit_code, stdout, stderr, json}; an exit code that is not expected is a failure."""
    argv = [_text(part) for part in fields["argv"]]
    stdin = _text(fields["stdin"])
    with context.step("command", argv[0], argv) as step:
        ended = await context.exchange("command", {"argv": argv, "stdin": stdin}, lambda: _execute(node, argv, stdin, context), Ended)
        step.response = {"exit_code": ended.exit_code}
    if ended.exit_code not in node.expect:
        raise fail("command_failed", f"{argv[0]} {_how(ended.exit_code)}.", detail=(ended.stderr or ended.stdout)[-2000:])
    return {"exit_code": ended.exit_code, "stdout": ended.stdout, "stderr": ended.stderr, "json": _json(ended.stdout)}


async def _execute(node: CommandNode, argv: list[str], stdin: str, context: Context) -> Ended:
    limit_s = context.timeout_s or DEFAULT_TIMEOUT_S
    async with _started(node, argv, stdin) as program:
        try:
            async with asyncio.timeout(limit_s):
                await asyncio.shield(program.exited)
        except TimeoutError as error:
            raise fail("timeout", f"{argv[0]} was killed: it ran longer than {limit_s:g} s.") from error
    if program.flood:
        raise fail("invalid_output", f"{argv[0]} wrote more than {node.max_bytes} bytes. Raise max_bytes.")
    return Ended(
        exit_code=program.exit_code,
        stdout=program.written[1].decode(errors="replace"),
        stderr=program.written[2].decode(errors="replace"),
    )


@contextlib.asynccontextmanager
async def _started(node: CommandNode, argv: list[str], stdin: str) -> AsyncIterator[_Program]:
    """A program under way; at the end of the block nothing of its group is."""
    starting = asyncio.ensure_future(_start(node, argv))
    try:
        # Not cancelled with us: what is half started could not be killed as a group.
        await asyncio.wait([starting])
        program = starting.result()
        program.feed(stdin.encode(errors="surrogateescape"))
        yield program
    finally:
        await asyncio.shield(asyncio.ensure_future(_end(starting)))


async def _start(node: CommandNode, argv: list[str]) -> _Program:
    try:
        _, program = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Program(node.max_bytes),
            *argv,
            cwd=node.cwd or None,
            env={name: os.environ[name] for name in (*PASSED_ON, *node.env) if name in os.environ},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _cannot_start(argv[0], error) from error
    return program


async def _end(starting: asyncio.Future[_Program]) -> None:
    await asyncio.wait([starting])
    if starting.exception() is None:
        await starting.result().end()


class _Program(asyncio.SubprocessProtocol):
    """Collects what a program writes. Knows its end apart from the end of its pipes, which its children may hold open."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.written = {1: bytearray(), 2: bytearray()}
        self.flood = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.written[fd] += data
        if len(self.written[fd]) > self._max_bytes and not self.flood:
            self.flood = True
            self.kill_group()

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

    def kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # all of it has ended by itself
            os.killpg(self._transport.get_pid(), signal.SIGKILL)

    async def end(self) -> None:
        """Kill what is left of the group, take what it still wrote, close the pipes."""
        self.kill_group()
        await self.exited
        await asyncio.wait([self._lost], timeout=DRAIN_S)
        self._transport.close()


def _cannot_start(program: str, error: Exception) -> Failed:
    why = error.strerror if isinstance(error, OSError) else error
    where = f" ({error.filename})" if isinstance(error, OSError) and error.filename not in (None, program) else ""
    return fail("command_failed", f"Cannot start {program}: {why}{where}. Is it installed and on PATH?")


def _how(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    return f"was ended by signal {signal.Signals(-exit_code).name}"


def _text(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _json(text: str) -> Json:
    try:
        return msgspec.json.decode(text.strip().encode())
    except msgspec.DecodeError:
        return None


KIND = Kind(
    struct=CommandNode,
    run=run,
    summary="Run a program, without a shell.",
    templates=("argv", "stdin"),
    outputs=("exit_code", "stdout", "stderr", "json"),
    check=check,
    retry_on=frozenset({"timeout", "command_failed"}),
)
