"""Workflows, their versions and examples: what is run.

A workflow is a value. Its canonical bytes (sorted keys, defaults left out) are
what a version stores and hashes, so a new optional field changes no old hash.
The kinds of node are declared in `flowgauge.nodes`; here stands what all share.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

Json = Any
"""A value that JSON can hold. (Any: checkers cannot follow a recursive alias through msgspec.)"""

InputType = Literal["string", "number", "integer", "boolean", "object", "array"]
Identifier = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
Positive = Annotated[float, Meta(gt=0)]


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Settings of every struct that a file declares."""


class InputDecl(Value, frozen=True):
    """One declared input of a workflow."""

    name: Annotated[Identifier, Meta(description="How templates name it: {{ inputs.NAME }}.")]
    type: InputType = "string"
    description: str = ""
    required: Annotated[bool, Meta(description="A play without it does not start.")] = False
    default: Json | UnsetType = UNSET


_ONE_MAKER = frozenset({"anthropic", "azure", "deepseek", "mistral", "mock", "moonshotai", "openai", "xai"})
"""Providers none of whose models has a slash in its name; those of OpenRouter, Groq or a server of one's own have."""


def superseded(provider: str | None, base_url: str | None, new_provider: str | None, new_model: str | None) -> tuple[str, ...]:
    """Which config keys fall away where another config is laid over them that names its model as provider/model.

    Only over a provider that cannot have a model of that name. Its key and extras go with it: they are not for another.
    """
    maker, slash, _ = (new_model or "").partition("/")
    apart = bool(slash) and not new_provider and not base_url and maker != provider
    return ("provider", "api_key_env", "extra") if apart and provider in _ONE_MAKER else ()


class Config(Value, frozen=True):
    """How models are called. A node's own config lies over the workflow's."""

    provider: Annotated[str, Meta(description="openai, anthropic, mock, … or part of model: provider/model.")] | None = None
    model: Annotated[str, Meta(description="The model's name, alone or as provider/model.")] | None = None
    base_url: Annotated[str, Meta(description="Where the provider listens, when not at its usual address.")] | None = None
    api_key_env: Annotated[str, Meta(description="Which environment variable holds the key.")] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    seed: int | None = None
    stream: Annotated[bool, Meta(description="Ask for a stream, so that time to first token is measured.")] | None = None
    timeout_s: Annotated[Positive, Meta(description="Of the workflow: the whole play. Of a node: one attempt.")] | None = None
    max_retries: Annotated[int, Meta(ge=0, le=20, description="Further tries of a node that calls out.")] | None = None
    budget_usd: Annotated[Positive, Meta(description="A play that would spend more is stopped.")] | None = None
    max_concurrent_nodes: Annotated[int, Meta(ge=1)] | None = None
    on_node_failure: (
        Annotated[
            Literal["stop", "continue"],
            Meta(description="stop: start nothing more. continue: skip only what needs the failed node."),
        ]
        | None
    ) = None
    extra: Annotated[dict[str, Json], Meta(description="Passed to the provider as it is.")] | None = None

    def over(self, base: Config) -> Config:
        """This config laid over another: what is set here wins."""
        if self == Config():
            return base
        if gone := superseded(base.provider, base.base_url, self.provider, self.model):
            base = msgspec.structs.replace(base, **dict.fromkeys(gone, None))
        merged = {name: mine if (mine := getattr(self, name)) is not None else getattr(base, name) for name in self.__struct_fields__}
        if self.extra and base.extra:
            merged["extra"] = {**base.extra, **self.extra}
        return Config(**merged)


FailureKind = Literal[
    "timeout", "rate_limited", "provider_error", "provider_rejected", "connection", "invalid_output",
    "code_error", "killed", "http_status", "command_failed", "tool_error", "turn_limit",
    "template", "not_recorded", "budget_exceeded", "cancelled", "isolation", "sub_workflow", "internal",
]  # fmt: skip


class Retry(Value, frozen=True):
    """How often a failed attempt is tried again, and how long between."""

    max: Annotated[int, Meta(ge=0, le=20, description="Further tries after the first.")] = 0
    backoff_s: Annotated[float, Meta(ge=0, description="Before the first retry; doubles each time, with jitter.")] = 0.5
    max_backoff_s: Annotated[float, Meta(ge=0)] = 30.0
    on: Annotated[tuple[FailureKind, ...], Meta(description="Kinds of failure worth another try; empty: the node type's own list.")] = ()
    repair: Annotated[str, Meta(description="An ai node that is given failing code and its error, and answers with better code.")] = ""


class Node(Value, frozen=True):
    """What every kind of node has."""

    id: Annotated[Identifier, Meta(description="How other nodes name it: {{ nodes.ID.… }}.")] = ""
    description: str = ""
    needs: Annotated[tuple[str, ...], Meta(description="Nodes that must be done first.")] = ()
    when: Annotated[str, Meta(description="A condition; the node is skipped where it does not hold.")] = ""
    retry: Retry | None = None
    timeout_s: Annotated[Positive, Meta(description="One attempt is killed after this time.")] | None = None
    config: Config = Config()


class Workflow(Value, frozen=True):
    """A whole definition. `nodes` holds the kinds of `flowgauge.nodes`."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,127}$")]
    description: str = ""
    inputs: tuple[InputDecl, ...] = ()
    config: Config = Config()
    nodes: tuple[Node, ...] = ()
    output: Annotated[Json, Meta(description="A template, or an object of templates: what a play answers with.")] = None


class WorkflowVersion(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable, numbered state of a workflow."""

    sid: str
    workflow_sid: str
    number: int
    hash: str
    content: bytes
    """Canonical JSON of the Workflow; `flowgauge.nodes.read_workflow` makes it a value again."""
    created_at: int


class WorkflowRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow's name in the store, and which of its versions is in use."""

    sid: str
    name: str
    description: str
    current_version_sid: str
    created_at: int
    updated_at: int


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """Stored inputs for a workflow."""

    sid: str
    workflow_sid: str
    workflow_version_sid: str
    name: str
    description: str = ""
    input_values: dict[str, Json] = {}
    created_at: int = 0
