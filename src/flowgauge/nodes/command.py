"""`command`: a program, without a shell.

Every part of `argv` is one argument, whatever is filled into it. The program
sees PATH, HOME, LANG and the variables named by `env`, nothing else; at its
time-out its whole process group is killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from flowgauge.model.play import Step
from flowgauge.model.workflow import Json, Node
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.kind import Complaint, Kind

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
DEFAULT_TIMEOUT_S = 300.0


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
    argv = [part if isinstance(part, str) else msgspec.json.encode(part).decode() for part in fields["argv"]]
    clock = context.services.clock
    started_at, begun = clock.now_ms(), clock.tick_ms()
    stdin = str(fields["stdin"])
    ended = await context.exchange("command", {"argv": argv, "stdin": stdin}, lambda: _execute(node, argv, stdin, context), Ended)
    context.steps.append(
        Step(
            kind="command",
            name=argv[0],
            started_at=started_at,
            duration_ms=clock.tick_ms() - begun,
            request=argv,
            response={"exit_code": ended.exit_code},
        )
    )
    if ended.exit_code not in node.expect:
        raise fail("command_failed", f"{argv[0]} ended with exit code {ended.exit_code}.", detail=(ended.stderr or ended.stdout)[-2000:])
    return {"exit_code": ended.exit_code, "stdout": ended.stdout, "stderr": ended.stderr, "json": _json(ended.stdout)}


async def _execute(node: CommandNode, argv: list[str], stdin: str, context: Context) -> Ended:
    names = (*PASSED_ON, *node.env)
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=node.cwd or None,
            env={name: os.environ[name] for name in names if name in os.environ},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise fail("command_failed", f"Cannot start {argv[0]}: {error}.") from error
    try:
        async with asyncio.timeout(context.timeout_s or DEFAULT_TIMEOUT_S):
            return await _talk(process, stdin.encode(), node.max_bytes)
    except TimeoutError as error:
        raise fail("timeout", f"{argv[0]} was killed: it ran longer than its time.") from error
    finally:
        _kill_group(process)
        await process.wait()


async def _talk(process: asyncio.subprocess.Process, stdin: bytes, limit: int) -> Ended:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    out, err, _ = await asyncio.gather(_read(process.stdout, limit), _read(process.stderr, limit), _write(process.stdin, stdin))
    code = await process.wait()
    return Ended(exit_code=code, stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace"))


async def _read(stream: asyncio.StreamReader, limit: int) -> bytes:
    pieces = bytearray()
    while piece := await stream.read(65536):
        pieces += piece
        if len(pieces) > limit:
            raise fail("invalid_output", f"The program wrote more than {limit} bytes. Raise max_bytes.")
    return bytes(pieces)


async def _write(stream: asyncio.StreamWriter, content: bytes) -> None:
    try:
        stream.write(content)
        await stream.drain()
        stream.close()
        await stream.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        return  # a program may end without reading what it is given


def _kill_group(process: asyncio.subprocess.Process) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # all of it has ended by itself


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
