"""How an episode ended, and the run artifact that is made of it: redacted, bounded, checked, hashed."""

from __future__ import annotations

import time

import msgspec

from flowgauge.model.redaction import Redactor, cleaned
from flowgauge.model.workflow import Json
from flowgauge.perf.artifact import UNSEALED, sealed, violations
from flowgauge.perf.model import FAILURE_TYPES, IoEvent, LlmEntry, RunArtifact, Termination, TraceStep
from flowgauge.perf.orders import EpisodeOrder, PreparedRow, Setup

MOST_REASON_CHARS = 2000


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent or a workflow left, before it is an artifact."""

    termination: Termination
    reason: str = ""
    output: Json = None
    trace: tuple[TraceStep, ...] = ()
    llm_trace: tuple[LlmEntry, ...] = ()
    io_audit: tuple[IoEvent, ...] = ()
    tool_calls: int = 0
    wall_clock_s: float = 0.0


def artifact_of(prepared: PreparedRow, order: EpisodeOrder, ended: Ended, setup: Setup, redact: Redactor) -> RunArtifact:
    """The artifact, whatever is wrong with it told in it."""
    artifact = _redacted(_drafted(prepared, order, ended), redact)
    size_bytes = len(msgspec.json.encode(artifact))
    if size_bytes > setup.artifact_kb << 10:
        why = f"The run artifact is {size_bytes >> 10} KB; at most {setup.artifact_kb} KB are kept."
        return sealed(_without_content(_failed(artifact, "artifact_limit", why)))
    artifact = sealed(artifact)
    found = violations(artifact) if setup.strict else []
    return sealed(_failed(artifact, "spec_violation", f"strict-spec: {'; '.join(found)}")) if found else artifact


def _drafted(prepared: PreparedRow, order: EpisodeOrder, ended: Ended) -> RunArtifact:
    row = prepared.row
    return RunArtifact(
        run_id=order.run_id,
        trace_id=order.trace_id,
        agent=row.name,
        task_ref=row.task,
        task_version=row.task_version,
        seed=order.seed,
        budgets=prepared.budgets,
        inputs=row.inputs,
        success=ended.termination == "completed",
        termination_reason=ended.termination,
        failure_type=FAILURE_TYPES[ended.termination],
        failure_reason=ended.reason[:MOST_REASON_CHARS],
        steps=len(ended.trace),
        tool_calls=ended.tool_calls,
        started_at=time.time_ns() // 1_000_000 - round(ended.wall_clock_s * 1000),
        wall_clock_s=ended.wall_clock_s,
        output=ended.output,
        action_trace=ended.trace,
        llm_trace=ended.llm_trace,
        io_audit=ended.io_audit,
        artifact_hash=UNSEALED,
    )


def _redacted(artifact: RunArtifact, redact: Redactor) -> RunArtifact:
    """Plain values throughout, without the secrets of the environment."""
    encoded = msgspec.json.encode(artifact)
    if redact(text := encoded.decode()) == text:
        return msgspec.json.decode(encoded, type=RunArtifact)
    return msgspec.convert(cleaned(msgspec.json.decode(encoded), redact), RunArtifact)


def _failed(artifact: RunArtifact, termination: Termination, why: str) -> RunArtifact:
    return msgspec.structs.replace(
        artifact,
        success=False,
        termination_reason=termination,
        failure_type=FAILURE_TYPES[termination],
        failure_reason=why[:MOST_REASON_CHARS],
    )


def _without_content(artifact: RunArtifact) -> RunArtifact:
    return msgspec.structs.replace(artifact, output=None, action_trace=(), llm_trace=(), io_audit=(), steps=None, tool_calls=None)
