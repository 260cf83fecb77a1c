"""`python`: a function in a worker process.

The code is written in the file, read from a file beside it when the workflow is
loaded, or made by another node (`code_from`). It runs with limits and without
the environment; see docs/isolation.md for what that stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from flowgauge.model.ports import Job, Outcome, Permits
from flowgauge.model.workflow import Json, Node
from flowgauge.nodes.context import Context, StepKind, fail
from flowgauge.nodes.kind import Complaint, Kind
from flowgauge.nodes.output import fenced_code

DEFAULT_TIMEOUT_S = 60.0
KEPT_CHARS = 2000
FAILING, REPAIRED = "failing_code", "repaired_code"
"""Where a node's memory holds code that failed, and what a repair made of it."""


class PythonNode(Node, frozen=True, kw_only=True, tag="python", tag_field="type"):
    """Run a python function in a worker process."""

    code: Annotated[str, Meta(description="Python source with the function in it.")] = ""
    file: Annotated[str, Meta(description="A file with the source, beside the workflow; its text becomes `code`.")] = ""
    code_from: Annotated[str, Meta(description="A template that names source made by another node.")] = ""
    function: str = "run"
    arguments: Annotated[dict[str, Json], Meta(description="Arguments by name; templates.")] = msgspec.field(
        name="with", default_factory=dict
    )
    memory_mb: Annotated[int, Meta(ge=16)] = 1024
    allow: Annotated[Permits, Meta(description="What the code may touch beyond its scratch folder.")] = Permits()


def check(node: PythonNode) -> Iterable[Complaint]:
    """Exactly one source of code."""
    given = [name for name in ("code", "code_from") if getattr(node, name)]
    if not given:
        yield Complaint("code", "There is no code to run.", "Give one of `code`, `file` or `code_from`.")
    if len(given) > 1:
        yield Complaint("code_from", "Both `code` and `code_from` are given.", "Keep one.")


async def run(node: PythonNode, fields: Mapping[str, Json], context: Context) -> Json:
    """The function's answer: its object as it is, anything else as {value: …}."""
    job = Job(
        code=source_of(node, fields, context.memory),
        function=node.function,
        arguments=fields["with"],
        timeout_s=context.timeout_s or DEFAULT_TIMEOUT_S,
        memory_mb=node.memory_mb,
        permits=node.allow,
    )
    outcome = await call_sandbox(job, "python", context)
    if outcome.failure is not None:
        context.memory[FAILING] = job.code
        raise fail(outcome.failure, outcome.message, detail=outcome.traceback or outcome.stderr[-KEPT_CHARS:])
    return outcome.value if isinstance(outcome.value, dict) else {"value": outcome.value}


async def call_sandbox(job: Job, kind: StepKind, context: Context) -> Outcome:
    """Run a job as a step: what it printed is kept, and waiting for a free worker is not its own time."""
    with context.step(kind, job.function, dict(job.arguments) if kind == "tool" else None) as step:
        sandbox = await context.services.sandbox()
        context.play.note_isolation(sandbox.tier)
        outcome = await sandbox.call(job)
        step.queue_ms = max(0.0, step.elapsed_ms() - outcome.duration_ms) if outcome.duration_ms else 0.0
        step.error = outcome.message if outcome.failure else ""
        step.response = _printed(outcome)
    return outcome


def source_of(node: PythonNode, fields: Mapping[str, Json], memory: Mapping[str, str]) -> str:
    """What is to be run: repaired code before code from another node before the node's own."""
    if REPAIRED in memory:
        return memory[REPAIRED]
    if node.code_from:
        return fenced_code(str(fields["code_from"]))
    return node.code


def _printed(outcome: Outcome) -> Json:
    said = {"stdout": outcome.stdout[-KEPT_CHARS:], "stderr": outcome.stderr[-KEPT_CHARS:]}
    return {name: text for name, text in said.items() if text} or None


KIND = Kind(
    struct=PythonNode,
    run=run,
    summary="Run a python function in a worker process, with limits.",
    templates=("with", "code_from"),
    check=check,
    retry_on=frozenset({"timeout", "killed", "code_error"}),
)
