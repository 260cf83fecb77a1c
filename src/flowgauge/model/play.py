"""Plays and their node runs: what happened.

All are values: the engine makes a new one rather than editing. Times are
milliseconds since 1970 (UTC) where they name a moment, plain milliseconds
where they name a length.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from flowgauge.model.workflow import FailureKind, Json

PlayStatus = Literal["pending", "running", "success", "failed", "timeout", "cancelled", "budget_exceeded"]
NodeStatus = Literal["success", "failed", "timeout", "cancelled", "skipped", "budget_exceeded"]
CostSource = Literal["provider", "computed", "unpriced", "none"]
"""none: nothing was called that costs money. unpriced: cost_usd is None, not zero."""

FINISHED: frozenset[PlayStatus] = frozenset({"success", "failed", "timeout", "cancelled", "budget_exceeded"})


class Failure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why an attempt failed, and whether waiting would help."""

    kind: FailureKind
    message: str
    node_id: str = ""
    retry_after_s: float | None = None
    detail: str = ""
    """The tail of a traceback, of stderr, of a response: cut short and redacted."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one or more model calls used. cost_usd None: at least one call has no known price."""

    tokens_prompt: int = 0
    tokens_completion: int = 0
    tokens_cached: int = 0
    cost_usd: float | None = 0.0
    cost_source: CostSource = "none"

    def plus(self, other: Usage) -> Usage:
        """Sum; an unknown price stays unknown, and the weaker source wins."""
        if other.cost_source == "none" and not (other.tokens_prompt or other.tokens_completion):
            return self
        if self == _NOTHING:
            return other
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            tokens_prompt=self.tokens_prompt + other.tokens_prompt,
            tokens_completion=self.tokens_completion + other.tokens_completion,
            tokens_cached=self.tokens_cached + other.tokens_cached,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            cost_source=max(self.cost_source, other.cost_source, key=_WEAKNESS.__getitem__),
        )


_NOTHING = Usage()
_WEAKNESS: dict[CostSource, int] = {"none": 0, "provider": 1, "computed": 2, "unpriced": 3}


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One exchange inside an attempt: a call to a model, a tool, a server."""

    kind: Literal["model", "tool", "http", "command", "python"]
    name: str
    started_at: int
    duration_ms: float
    usage: Usage = Usage()
    first_token_ms: float | None = None
    queue_ms: float = 0.0
    request: Json = None
    response: Json = None
    error: str = ""


class NodeRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt of one node. `node_id` is a path: `each[3]`, `sub/classify`."""

    node_id: str
    attempt: int = 1
    status: NodeStatus
    started_at: int
    duration_ms: float
    """The attempt's own time: no waiting for a limiter and no back-off in it."""
    queue_ms: float = 0.0
    backoff_ms: float = 0.0
    """How long was waited before this attempt."""
    first_token_ms: float | None = None
    model: str = ""
    tokens_prompt: int = 0
    tokens_completion: int = 0
    cost_usd: float | None = 0.0
    cost_source: CostSource = "none"
    output: Json = None
    error: Failure | None = None
    steps: tuple[Step, ...] = ()


class Play(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One execution of a version."""

    sid: str
    workflow_sid: str
    version_sid: str
    name: str = ""
    status: PlayStatus = "pending"
    inputs: dict[str, Json] = {}
    config: dict[str, Json] = {}
    """What was laid over the workflow's own config for this play."""
    pins: dict[str, str] = {}
    """Which version each workflow named by name resolved to."""
    output: Json = None
    started_at: int = 0
    duration_ms: float = 0.0
    retries: int = 0
    tokens_prompt: int = 0
    tokens_completion: int = 0
    cost_usd: float | None = 0.0
    cost_source: CostSource = "none"
    price_table: str = ""
    isolation: str = ""
    """The tier that python nodes ran in: landlock or process; empty where none ran."""
    error: Failure | None = None
    warnings: tuple[str, ...] = ()
    owner_sid: str = ""
    resumed: int = 0
    """How often a play was taken up again after its owner was gone."""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """A process that runs plays. Its lease says it is alive; on its own host its pid says so sooner."""

    sid: str
    host: str
    pid: int
    pid_started: int
    """Clock ticks after boot when the process began: tells a reused pid from the old one."""
    boot_id: str
    lease_until: int


class PlayEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a follower of a play sees, as it happens."""

    kind: Literal["play_started", "node_started", "node_finished", "node_retry", "text", "play_finished"]
    play_sid: str
    at: int
    node_id: str = ""
    run: NodeRun | None = None
    play: Play | None = None
    text: str = ""
