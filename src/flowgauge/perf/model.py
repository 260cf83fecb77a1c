"""The nouns of perf: scenarios, episodes, and the run artifact that every episode leaves.

An episode is (agent, task, seed). Its run artifact is what strict-spec checks
and what record, replay and diff compare; the hash in it covers all that should
be the same when the same episode is run again. Unknown is None, never zero.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from flowgauge.model.workflow import Json, Positive, Value

FailureType = Literal["budget_exhausted", "invalid_action", "sandbox_violation", "logic_failure", "timeout", "non_termination"]
Termination = Literal[
    "completed", "steps_exhausted", "tool_calls_exhausted", "cost_exhausted", "timeout", "memory_limit", "file_limit", "output_limit",
    "artifact_limit", "worker_died", "invalid_action", "sandbox_violation", "error", "wrong_answer", "no_answer", "spec_violation",
]  # fmt: skip
"""Why the episode ended. Only `completed` is a success."""

FAILURE_TYPES: dict[Termination, FailureType | None] = {
    "completed": None,
    "steps_exhausted": "budget_exhausted",
    "tool_calls_exhausted": "budget_exhausted",
    "cost_exhausted": "budget_exhausted",
    "timeout": "timeout",
    "memory_limit": "sandbox_violation",
    "file_limit": "sandbox_violation",
    "output_limit": "sandbox_violation",
    "artifact_limit": "sandbox_violation",
    "worker_died": "logic_failure",
    "invalid_action": "invalid_action",
    "sandbox_violation": "sandbox_violation",
    "error": "logic_failure",
    "wrong_answer": "logic_failure",
    "no_answer": "non_termination",
    "spec_violation": "logic_failure",
}
"""What each end is called in a taxonomy of six."""

Count = Annotated[int, Meta(ge=0)]
SPEC: Literal["flowgauge-run/1"] = "flowgauge-run/1"


class Budgets(Value, frozen=True):
    """What one episode may use. None: as much as it likes."""

    steps: Annotated[int, Meta(ge=1, description="Entries of the action trace.")] | None = None
    tool_calls: Annotated[int, Meta(ge=0)] | None = None
    wall_clock_s: Annotated[Positive, Meta(description="Then it is killed.")] | None = None


class Allowed(Value, frozen=True):
    """What an agent may touch besides its own folder and what it reads. A fault is stopped by it, an attacker is not."""

    write: Annotated[tuple[str, ...], Meta(description="Files and folders, from the scenario's folder.")] = ()
    network: Annotated[bool, Meta(description="Connections of its own; models asked through the run need none of this.")] = False
    processes: Annotated[bool, Meta(description="Programs of its own.")] = False


class Row(Value, frozen=True, kw_only=True):
    """One line of a scenario: who does what, from which seed on."""

    agent: Annotated[str, Meta(description="A function: agents.py:explorer (from the scenario's folder) or package.module:function.")] = ""
    workflow: Annotated[str, Meta(description="Instead of an agent: a workflow file, or a stored workflow as NAME or NAME@VERSION.")] = ""
    task: Annotated[str, Meta(pattern=r"^[^\s@][^@\n]{0,199}(@[A-Za-z0-9._-]+)?$", description="What it is to do: NAME or NAME@VERSION.")]
    environment: Annotated[str, Meta(description="A function (seed, inputs) that makes what the agent acts in: tools and validate.")] = ""
    seed: Annotated[int, Meta(description="Of its first episode; every round adds one.")] = 0
    inputs: dict[str, Json] = {}
    config: Annotated[dict[str, Json], Meta(description="Laid over the workflow's own config.")] = {}
    expect: Annotated[Json | UnsetType, Meta(description="The only right output.")] = UNSET
    validator: Annotated[str, Meta(description="A function (output, inputs, seed) that answers true, false, or why not.")] = ""
    budgets: Annotated[Budgets, Meta(description="Instead of the scenario's, each where it is given.")] = Budgets()
    allow: Allowed = Allowed()

    @property
    def name(self) -> str:
        """Who acts, as the file says it."""
        return self.agent or self.workflow

    @property
    def task_version(self) -> str:
        """After the @; 1 where nobody said."""
        return self.task.partition("@")[2] or "1"


class Scenario(Value, frozen=True, kw_only=True):
    """Rows, and what holds for all of them."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,127}$")]
    description: str = ""
    budgets: Annotated[Budgets, Meta(description="Of every row that does not say otherwise.")] = Budgets()
    memory_mb: Annotated[int, Meta(ge=16, description="One episode at the most, beyond what its worker holds.")] = 512
    file_mb: Annotated[int, Meta(ge=1, description="All that one episode writes into its folder, and each file anywhere.")] = 64
    output_kb: Annotated[int, Meta(ge=1, description="One episode that prints more fails.")] = 1024
    artifact_kb: Annotated[int, Meta(ge=1, description="A longer run artifact fails its episode.")] = 4096
    rows: Annotated[tuple[Row, ...], Meta(min_length=1)]


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """One episode to be run: where it stands, not yet what came of it."""

    index: int
    """From 0, in the order in which episodes start."""
    row: int
    agent: str
    task_ref: str
    seed: int
    repeat: int = 0
    """0: of the plan itself. 1 and more: run again only to see whether the same seed gives the same."""


class IoEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One touch of the outside, as the interpreter saw it."""

    kind: Literal["read", "write", "remove", "connect", "process", "model", "http", "call"]
    target: Annotated[
        str, Meta(description="A path (scratch/… is the episode's own folder), host:port, a program, provider/model, a URL, a call's name.")
    ]
    refused: bool = False


class TraceStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step: what was seen, what was done, what came of it."""

    step: Annotated[int, Meta(ge=1)]
    observation: Json
    action: Json
    """An object with its `type` and, by custom, its `args`."""
    result: Json
    io_audit: tuple[IoEvent, ...] = ()
    elapsed_ms: Annotated[float, Meta(ge=0, description="Since the step before ended. Varies; not in the hash.")] = 0.0


class LlmEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange with a model. Tokens are None where nobody counted them."""

    step: Count
    """The step that was under way; 0 before the first."""
    model: str
    prompt: str
    completion: str
    tokens_prompt: Count | None = None
    tokens_completion: Count | None = None


class RunArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """What one episode leaves behind."""

    spec: Literal["flowgauge-run/1"] = SPEC
    run_id: Annotated[str, Meta(min_length=1)]
    trace_id: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    agent: Annotated[str, Meta(min_length=1)]
    task_ref: Annotated[str, Meta(min_length=1)]
    task_version: Annotated[str, Meta(min_length=1)]
    seed: int
    budgets: Budgets
    inputs: dict[str, Json] = {}
    success: bool
    termination_reason: Termination
    failure_type: FailureType | None
    failure_reason: str = ""
    """In words, the same for the same episode."""
    steps: Count | None
    """None: the worker was killed and took its trace with it."""
    tool_calls: Count | None
    started_at: int = 0
    """Milliseconds since 1970."""
    wall_clock_s: Annotated[float, Meta(ge=0)]
    output: Json = None
    action_trace: tuple[TraceStep, ...] = ()
    llm_trace: tuple[LlmEntry, ...] = ()
    io_audit: tuple[IoEvent, ...] = ()
    """What was touched outside any step."""
    artifact_hash: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]


VARYING = frozenset({"run_id", "trace_id", "started_at", "wall_clock_s", "artifact_hash"})
"""Fields of an artifact that differ when the same episode is run again: not in its hash."""
VARYING_IN_STEP = frozenset({"elapsed_ms"})
