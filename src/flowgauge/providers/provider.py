"""What the gateway asks of a provider, however it speaks to its models.

A provider makes one exchange and reports what it saw. It waits for no limiter,
prices nothing and retries nothing: the gateway does, once, for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from flowgauge.model.exchange import FinishReason, ModelRequest, ToolCall


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer as the wire gave it, not yet priced."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: FinishReason = "stop"
    model: str = ""
    tokens_prompt: int = 0
    """All prompt tokens, cached ones included."""
    tokens_completion: int = 0
    tokens_cached: int = 0
    """Prompt tokens read from the provider's cache: part of tokens_prompt."""
    tokens_cache_written: int = 0
    cost_usd: float | None = None
    """Where the provider itself says what it charged."""
    first_token_ms: float | None = None
    late_ms: float = 0.0
    """How long the whole answer was here before our own code got round to it: not the model's time."""


class Provider(Protocol):
    """One way to reach models. Raises errors.Failed with the right kind of failure."""

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> Reply:
        """One exchange; streams when `request.stream`."""

    async def close(self) -> None:
        """Let go of connections."""
