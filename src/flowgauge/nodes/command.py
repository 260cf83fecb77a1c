"""`command`: a program, without a shell.

Every part of `argv` is one argument, whatever is filled into it. The program
sees PATH, HOME, LANG and the variables named by `env`, nothing else. When it
ends, or at its time-out, what is left of its process group is killed; only a
child that makes a session of its own escapes that.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.workflow import Json, Node
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.kind import Complaint, Kind
from flowgauge.nodes.program import Limits, run_program

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
    argv = [_text(part) for part in fields["argv"]]
    stdin = _text(fields["stdin"])
    with context.step("command", argv[0], argv) as step:
        ended = await context.exchange("command", {"argv": argv, "stdin": stdin}, lambda: _execute(node, argv, stdin, context), Ended)
        step.response = {"exit_code": ended.exit_code}
    if ended.exit_code not in node.expect:
        raise fail("command_failed", f"{argv[0]} {_how(ended.exit_code)}.", detail=(ended.stderr or ended.stdout)[-2000:])
    return {"exit_code": ended.exit_code, "stdout": ended.stdout, "stderr": ended.stderr, "json": _json(ended.stdout)}


async def _execute(node: CommandNode, argv: list[str], stdin: str, context: Context) -> Ended:
    environment = {name: os.environ[name] for name in (*PASSED_ON, *node.env) if name in os.environ}
    limits = Limits(max_bytes=node.max_bytes, timeout_s=context.timeout_s or DEFAULT_TIMEOUT_S)
    try:
        ended = await run_program(argv, stdin.encode(errors="surrogateescape"), environment, limits, cwd=node.cwd or None)
    except Failed as error:
        if error.failure.kind == "invalid_output":
            raise fail("invalid_output", f"{error.failure.message} Raise max_bytes.") from error
        raise
    return Ended(exit_code=ended.exit_code, stdout=ended.stdout.decode(errors="replace"), stderr=ended.stderr.decode(errors="replace"))


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
