"""Benches: one target × configurations × cases × runs, and what came of them.

A data set row, a state variant and a case with its own checks are one thing: a
Case. A Trial is one cell of the matrix, run once; its run id is a stable hash
of where it stands, the same in every process. A Benchmark is the stored
aggregate of the trials of one configuration.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from flowgauge.model.play import CostSource, Failure, Usage
from flowgauge.model.workflow import FailureKind, Json, Value

MOST_RUNS = 1_000_000_000
"""Of one case in one configuration: more is a slip, and their number must fit into a store."""
TrialStatus = Literal["success", "failed", "timeout"]
"""Of the target's run. Whether its answer was right is `passed`."""

FailureCategory = FailureKind | Literal["wrong_answer", "check_error", "judge_error"]
INFRASTRUCTURE: frozenset[str] = frozenset(
    (
        "rate_limited", "provider_error", "provider_rejected", "connection", "not_recorded", "isolation", "internal", "cancelled",
        "budget_exceeded", "check_error", "judge_error",
    )
)  # fmt: skip
"""Failures that say nothing about the target: of the provider, the network, the machine, a check or us."""

BenchStatus = Literal["running", "finished", "interrupted", "budget_exceeded"]


class CheckSpec(Value, frozen=True):
    """One check or scorer as a file declares it. `type` names a row of the table in `score`; the rest is its settings."""

    type: Annotated[str, Meta(description="equals, contains, regex, json_path, json_schema, numeric, python, command, judge, …")]
    name: Annotated[str, Meta(description="How reports call it; by default its type and path.")] = ""
    path: Annotated[str, Meta(description="Which part of the result it looks at: output, output.label, nodes.classify.text, …")] = "output"
    value: Annotated[Json, Meta(description="What is right; a template that may name {{ expected.… }} and {{ inputs.… }}.")] = None
    options: Annotated[dict[str, Json], Meta(description="Settings of this type of check.")] = {}
    weight: Annotated[float, Meta(ge=0)] = 1.0
    required: Annotated[bool, Meta(description="Does the trial fail where this check does? A scorer only measures.")] = True
    threshold: Annotated[float | None, Meta(description="A score below it does not pass.")] = None


def check_names(specs: Iterable[CheckSpec], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """What results, scores and weights of checks go by: their own name, or type and path; numbered where that is taken."""
    used = set(taken)
    names: list[str] = []
    for spec in specs:
        name = spec.name or f"{spec.type} {spec.path}"
        number, unique = 1, name
        while unique in used:
            number += 1
            unique = f"{name} {number}"
        used.add(unique)
        names.append(unique)
    return tuple(names)


def score_scale(spec: CheckSpec) -> tuple[float, float]:
    """The ends of the scale that a check's score stands on: a judge declares them; all others are taken as they are, 0 to 1."""
    if spec.type != "judge":
        return 0.0, 1.0
    low, high = spec.options.get("min_score", 0.0), spec.options.get("max_score", 1.0)
    try:
        ends = float(low), float(high)
    except (TypeError, ValueError):
        return 0.0, 1.0
    return ends if ends[0] < ends[1] else (0.0, 1.0)


class Case(Value, frozen=True):
    """One set of inputs with what is right for it."""

    name: str
    inputs: dict[str, Json] = {}
    expected: dict[str, Json] = {}
    """Gold: what a person says is right; checks name it as {{ expected.… }}."""
    checks: tuple[CheckSpec, ...] = ()
    """Besides the bench's own."""
    runs: Annotated[int, Meta(ge=1, le=MOST_RUNS)] | None = None
    """Instead of the bench's."""
    tags: dict[str, str] = {}


class Configuration(Value, frozen=True):
    """One way to run the target: what is laid over it."""

    name: str
    workflow_overrides: dict[str, Json] = {}
    """{config: {…}, nodes: {id: {…}}} for a workflow; {config: {…}} is handed to any other target."""


class Target(Value, frozen=True):
    """What a trial calls. `content` is what makes two targets the same: it goes into the definition hash."""

    kind: Literal["workflow", "python", "command", "http", "langgraph"]
    reference: str
    """A version sid, package.module:function, a command line, a URL."""
    name: str
    content: str = ""
    """A version's hash, the source of a function's file, or the reference itself."""


class Bench(Value, frozen=True):
    """A whole definition, every default filled in."""

    name: str
    target: Target
    configs: tuple[Configuration, ...]
    cases: tuple[Case, ...]
    checks: tuple[CheckSpec, ...] = ()
    runs: Annotated[int, Meta(ge=1, le=MOST_RUNS)] = 1
    max_concurrent_runs: Annotated[int, Meta(ge=1)] = 5
    seed: int = 0
    limit: int | None = None
    """Only the first so many cases were taken."""
    cache: bool = False
    budget_usd: Annotated[float, Meta(gt=0)] | None = None
    timeout_s: Annotated[float, Meta(gt=0)] | None = None
    """One trial at the most."""
    tags: dict[str, str] = {}


class PlannedTrial(msgspec.Struct, frozen=True):
    """A trial to be run: where it stands, not yet what came of it."""

    run_id: str
    position: int
    """In the order in which trials start."""
    config: str
    case: str
    repetition: int


class CheckResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a check said. `passed` None: it only measures. `score` None: it only decides."""

    name: str
    type: str
    passed: bool | None = None
    score: float | None = None
    reason: str = ""
    error: str = ""
    """The check itself failed: neither passed nor not passed."""
    votes: tuple[float, ...] = ()
    usage: Usage | None = None
    """What a judge used: counted apart from the target's own."""
    label: Json = None
    """What was held against gold: a label, or a number."""
    gold: Json = None
    """What the person said. Pairs of (label, gold) feed agreement; None: nobody said."""


def judge_cost_usd(checks: Iterable[CheckResult]) -> float | None:
    """What the judges of one trial cost; 0.0 where there was none, None where one of them has no known price."""
    total = 0.0
    for check in checks:
        if check.usage is not None:
            if check.usage.cost_usd is None:
                return None
            total += check.usage.cost_usd
    return total


def paid_usd(target_usd: float | None, judge_usd: float | None, *, cached: bool) -> float | None:
    """What is known to have been paid for one trial; None where nothing is. A cached answer was paid elsewhere, its judges were not."""
    known = [usd for usd in (None if cached else target_usd, judge_usd or None) if usd is not None]
    return sum(known) if known else None


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a target gave back for one trial, measured; not yet checked."""

    status: TrialStatus
    output: Json = None
    nodes: dict[str, Json] = {}
    """Outputs by node, of a workflow: checks may name them."""
    started_at: int = 0
    duration_ms: float = 0.0
    """The target's own time: no queueing, back-off or scoring in it."""
    queue_ms: float = 0.0
    backoff_ms: float = 0.0
    first_token_ms: float | None = None
    retries: int = 0
    tokens_prompt: int = 0
    tokens_completion: int = 0
    cost_usd: float | None = 0.0
    cost_source: CostSource = "none"
    model: str = ""
    error: Failure | None = None
    play_sid: str = ""
    scores: dict[str, float] = {}
    """What the target says about itself."""
    repeated: int = 0
    """How often the outside was called again because a process died."""
    cached: bool = False


class Trial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run as observed and checked. Never edited: a retry is another attempt in it."""

    run_id: str
    position: int
    config: str
    case: str
    repetition: int
    answer: Answer
    passed: bool | None = None
    """Did every required check pass? None: there was none, or one could not be made."""
    failure_category: str = ""
    """Empty on success; wrong_answer where the target ran and a check did not pass."""
    scores: dict[str, float] = {}
    checks: tuple[CheckResult, ...] = ()
    score_ms: float = 0.0

    @property
    def ok(self) -> bool:
        """Ran, was checked where there are checks, and was not found wrong: what success rates count."""
        return self.answer.status == "success" and self.passed is not False and not self.failure_category


def paid_for(trial: Trial) -> tuple[float, bool]:
    """What is known to have been paid for a trial, target and judges, and whether all of it is known."""
    answer, judge_usd = trial.answer, judge_cost_usd(trial.checks)
    known = judge_usd is not None and (answer.cost_usd is not None or answer.cached)
    return paid_usd(answer.cost_usd, judge_usd, cached=answer.cached) or 0.0, known


class BenchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A bench in the store."""

    uid: str
    """Random: two stores can be merged."""
    bench_id: str
    """<name>-<hash>-<counter>: what people type."""
    name: str
    definition_hash: str
    counter: int
    status: BenchStatus
    definition: Bench
    total: int
    owner_sid: str = ""
    created_at: int = 0
    finished_at: int = 0
    duration_ms: float = 0.0
    interruptions: int = 0
    commit: str = ""
    machine: str = ""
    price_table: str = ""
    trace_id: str = ""
    planned_as: str = ""
    """The id it was planned under, where an import had to give it another."""

    @property
    def run_key(self) -> str:
        """What its run ids are made from."""
        return self.planned_as or self.bench_id
