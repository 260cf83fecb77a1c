"""Run artifacts: their hash, their schema, and what is wrong with one.

In: an artifact, as a struct or as the mapping that a file holds. Out: its hash,
or a line for every field that breaks the spec. Nothing is repaired.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from flowgauge.perf.model import VARYING, VARYING_IN_STEP, IoEvent, LlmEntry, RunArtifact, TraceStep

DIALECT = "https://json-schema.org/draft/2020-12/schema"
UNSEALED = f"sha256:{'0' * 64}"
"""Stands there until the artifact is whole."""
_MOST_SHOWN = 10
_canonical = msgspec.json.Encoder(order="sorted").encode


def artifact_hash(artifact: RunArtifact | Mapping[str, Any]) -> str:
    """`sha256:…` over the content without the fields that vary from run to run."""
    plain = _plain(artifact)
    kept = {name: value for name, value in plain.items() if name not in VARYING}
    kept["action_trace"] = [_steady(step) for step in kept.get("action_trace") or ()]
    return f"sha256:{hashlib.sha256(_canonical(kept)).hexdigest()}"


def sealed(artifact: RunArtifact) -> RunArtifact:
    """The same with its hash filled in."""
    return msgspec.structs.replace(artifact, artifact_hash=artifact_hash(artifact))


def violations(artifact: RunArtifact | Mapping[str, Any]) -> list[str]:
    """`field: what is wrong`, a line each; empty where the artifact keeps to the spec."""
    plain = _plain(artifact)
    if _fits(plain):
        return list(_contradictions(plain))
    errors = sorted(_validator().iter_errors(plain), key=lambda error: error.json_path)
    found = [f"{error.json_path.removeprefix('$.')}: {error.message[:200]}" for error in errors[:_MOST_SHOWN]]
    return found or list(_contradictions(plain))


def run_json_schema() -> dict[str, Any]:
    """`flowgauge schema perf-run` prints it."""
    (root,), components = msgspec.json.schema_components([RunArtifact], ref_template="#/$defs/{name}")
    step = components["TraceStep"]["properties"]
    step["action"] = {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"type": "string", "minLength": 1}, "args": {"type": "object"}},
        "description": "What was done: its type, and its arguments where it has any.",
    }
    for struct in (RunArtifact, TraceStep, LlmEntry, IoEvent):
        components[struct.__name__]["required"] = sorted(struct.__struct_fields__)
    return {"$schema": DIALECT, "title": "Flowgauge run artifact, version 1", **root, "$defs": components}


def _plain(artifact: RunArtifact | Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(artifact))
    return plain


def _steady(step: Any) -> Any:
    return {name: value for name, value in step.items() if name not in VARYING_IN_STEP} if isinstance(step, dict) else step


def _fits(plain: dict[str, Any]) -> bool:
    """Seen in microseconds; the schema itself is asked only where this says no, for it names every field."""
    try:
        msgspec.convert(plain, _strict_run())
    except msgspec.ValidationError:
        return False
    return True


class Action(msgspec.Struct):
    """The least that an action is."""

    type: Annotated[str, Meta(min_length=1)]
    args: dict[str, Any] = {}


@functools.cache
def _strict_run() -> Any:
    """The artifact's declaration with every field required, as its schema has it."""
    audit = _many(_all_required(IoEvent))
    steps = _many(_all_required(TraceStep, action=Action, io_audit=audit))
    return _all_required(RunArtifact, action_trace=steps, llm_trace=_many(_all_required(LlmEntry)), io_audit=audit)


def _many(struct: Any) -> Any:
    return tuple.__class_getitem__((struct, ...))


def _all_required(struct: type[msgspec.Struct], **instead: Any) -> Any:
    fields = [(field.name, instead.get(field.name, field.type)) for field in msgspec.structs.fields(struct)]
    return msgspec.defstruct(f"Strict{struct.__name__}", fields)


@functools.cache
def _validator() -> Any:
    import jsonschema
    from referencing import Registry

    registry: Any = Registry()
    return jsonschema.Draft202012Validator(run_json_schema(), registry=registry)


def _contradictions(plain: Mapping[str, Any]) -> Iterator[str]:
    """Fields that are each well formed and do not fit one another."""
    trace = plain["action_trace"]
    if plain["steps"] is not None and plain["steps"] != len(trace):
        yield f"steps: {plain['steps']} is not the {len(trace)} of the action trace"
    for number, step in enumerate(trace, 1):
        if step["step"] != number:
            yield f"action_trace[{number - 1}].step: {step['step']} is not {number}"
    if plain["success"] != (plain["failure_type"] is None):
        yield f"failure_type: {plain['failure_type']} does not go with success {plain['success']}"
    if plain["success"] != (plain["termination_reason"] == "completed"):
        yield f"termination_reason: {plain['termination_reason']} does not go with success {plain['success']}"
    if (expected := artifact_hash(plain)) != plain["artifact_hash"]:
        yield f"artifact_hash: {plain['artifact_hash']} is not {expected} of the content"
