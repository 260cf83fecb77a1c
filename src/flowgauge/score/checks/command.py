"""`command`: a program decides. It reads JSON on stdin; exit code 0 is passed, any other is not.

It may write {passed, score, reason}, a number or true or false as JSON on
stdout. A program that cannot be started, is killed or takes too long is an
error of the check. Without a shell and without the environment, as `command`
nodes are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import Annotated, Any, NoReturn

import msgspec
from msgspec import Meta

from flowgauge.lang.filters import to_json
from flowgauge.model.bench import CheckSpec
from flowgauge.model.workflow import Config, Json
from flowgauge.nodes import command
from flowgauge.nodes.context import Context, Services, fail
from flowgauge.nodes.kind import Complaint
from flowgauge.score.check import Check, Evidence, Finding, Measure, Options
from flowgauge.score.checks.said import finding_of, told
from flowgauge.score.words import cut

_ANY_EXIT = tuple(range(256))
_REASON_CHARS = 300


class CommandOptions(Options, frozen=True, kw_only=True):
    """Which program, and its limits."""

    argv: Annotated[tuple[str, ...], Meta(min_length=1, description="The program and its arguments.")]
    cwd: str = ""
    env: Annotated[tuple[str, ...], Meta(description="Names of environment variables to pass on.")] = ()
    timeout_s: Annotated[float, Meta(gt=0, le=3600)] = 30.0
    max_bytes: Annotated[int, Meta(ge=1, description="Of stdout and of stderr; more is an error.")] = 1_000_000


def prepare(options: CommandOptions, value: Json) -> Measure:
    """One program a trial."""
    node = command.CommandNode(argv=options.argv, cwd=options.cwd, env=options.env, expect=_ANY_EXIT, max_bytes=options.max_bytes)

    def measure(found: Json, evidence: Evidence) -> Awaitable[Finding]:
        return _run(node, to_json(told(found, value, evidence)), options.timeout_s, evidence.services)

    return measure


async def _run(node: command.CommandNode, stdin: str, timeout_s: float, services: Services) -> Finding:
    context = Context(
        node_id="check", play=_NoPlay(services), parts=_NoParts(), config=Config(), scope={}, memory={}, timeout_s=timeout_s
    )  # fmt: skip
    ended = await command.run(node, {"argv": list(node.argv), "stdin": stdin}, context)
    passed = ended["exit_code"] == 0
    said = _said(ended["stdout"])
    finding = Finding(None) if said is None else finding_of(said, node.argv[0])
    reason = finding.reason or ("" if passed else _last_words(ended["stderr"] or ended["stdout"]))
    return Finding(passed and finding.passed is not False, finding.score, reason)


def _last_words(text: str) -> str:
    return cut(text.strip()[-_REASON_CHARS:]) or "It did not say why."


def _said(stdout: str) -> Json:
    """An answer, where stdout is one; a program may also just talk."""
    try:
        said = msgspec.json.decode(stdout.strip().encode())
    except (msgspec.DecodeError, RecursionError):
        return None
    return said if isinstance(said, bool | int | float | dict) else None


class _NoParts:
    """A check holds no workflows."""

    embedded: Mapping[str, Any] = {}


class _NoPlay:
    """A check stands outside of every play: it has the services, and nothing else to ask for."""

    def __init__(self, services: Services) -> None:
        self.services = services

    async def complete(self, *_: object) -> NoReturn:
        raise _outside()

    async def run_body(self, *_: object) -> NoReturn:
        raise _outside()

    async def run_workflow(self, *_: object) -> NoReturn:
        raise _outside()

    def resolve(self, *_: object) -> NoReturn:
        raise _outside()

    def note_isolation(self, tier: str) -> None:
        raise _outside(tier)


def _outside(what: str = "") -> Exception:
    return fail("internal", f"A check is no part of a play. {what}".rstrip())


def problems(_: CheckSpec, options: CommandOptions) -> Iterable[Complaint]:
    """A program needs a name."""
    if not options.argv[0].strip():
        yield Complaint("options.argv", "The program's name is empty.", "Write argv: [program, argument, …].")


CHECK = Check(
    options=CommandOptions, prepare=prepare, summary="A program decides or measures.", value="optional", scores=True, problems=problems
)
