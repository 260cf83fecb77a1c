"""`python`: a function of the user's own, in a worker process with limits; see docs/isolation.md for what that stops.

The function names what it wants to see: output (what stands at the path),
value, expected, inputs, nodes, answer (its numbers). It answers with true or
false, a number, or {passed, score, reason}.
"""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.bench import CheckSpec
from flowgauge.model.ports import Job, Permits
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.nodes.kind import Complaint
from flowgauge.nodes.signature import find_function
from flowgauge.score.check import Check, Evidence, Finding, Measure, Options
from flowgauge.score.checks.said import TOLD, finding_of, told
from flowgauge.score.sandboxed import run_job


class PythonOptions(Options, frozen=True, kw_only=True):
    """Which function, and its limits."""

    code: Annotated[str, Meta(description="Python source with the function in it.")] = ""
    file: Annotated[str, Meta(description="A file with the source, instead of `code`.")] = ""
    function: str = "check"
    timeout_s: Annotated[float, Meta(gt=0, le=3600)] = 30.0
    memory_mb: Annotated[int, Meta(ge=16)] = 1024
    allow: Annotated[Permits, Meta(description="What the code may touch beyond its scratch folder: `read`, `write`, `network`.")] = (
        Permits()
    )


def prepare(options: PythonOptions, value: Json) -> Measure:
    """Read the source and the function's arguments once."""
    code = _source(options)
    wanted = _wanted(code, options.function)

    def measure(found: Json, evidence: Evidence) -> Awaitable[Finding]:
        arguments = {name: one for name, one in told(found, value, evidence).items() if name in wanted}
        return _run(options, Job(
            code=code,
            function=options.function,
            arguments=arguments,
            timeout_s=options.timeout_s,
            memory_mb=options.memory_mb,
            permits=options.allow,
        ), evidence)  # fmt: skip

    return measure


async def _run(options: PythonOptions, job: Job, evidence: Evidence) -> Finding:
    return finding_of(await run_job(evidence.services, job), f"The function '{options.function}'")


def _source(options: PythonOptions) -> str:
    if options.code:
        return options.code
    try:
        return Path(options.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise fail("code_error", f"Cannot read {options.file}: {error}.") from error


def _wanted(code: str, name: str) -> frozenset[str]:
    """What the function takes of what it can be told. Raises Failed for code that cannot be run."""
    try:
        function = find_function(code, name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
        raise fail("code_error", f"The python code does not compile: {getattr(error, 'msg', error)}{line}.") from error
    if function is None:
        raise fail("code_error", f"The python code has no function '{name}'.")
    return _arguments(function)


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    spelled = function.args
    if spelled.kwarg is not None:
        return frozenset(TOLD)
    positional = [*spelled.posonlyargs, *spelled.args]
    needed = {item.arg for item in positional[: len(positional) - len(spelled.defaults)]}
    needed |= {item.arg for item, default in zip(spelled.kwonlyargs, spelled.kw_defaults, strict=True) if default is None}
    if strange := needed - set(TOLD):
        raise fail("code_error", f"The function '{function.name}' takes '{min(strange)}'; it can be told {', '.join(TOLD)}.")
    return frozenset(item.arg for item in [*spelled.args, *spelled.kwonlyargs] if item.arg in TOLD)


def problems(_: CheckSpec, options: PythonOptions) -> Iterable[Complaint]:
    """One source, which compiles and has the function."""
    if bool(options.code) is bool(options.file):
        yield Complaint("options.code", "Give one source of code.", "Write either `code` or `file`.")
        return
    try:
        _wanted(_source(options), options.function)
    except Failed as error:
        remedy = f"Write `def {options.function}(output, expected): …`."
        yield Complaint("options.code" if options.code else "options.file", error.failure.message, remedy)


CHECK = Check(
    options=PythonOptions,
    prepare=prepare,
    summary="A python function decides or measures.",
    value="optional",
    scores=True,
    literal=("code", "file", "function"),
    problems=problems,
)
