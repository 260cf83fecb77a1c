"""What is said to a model and what it answers, in no provider's dialect."""

from __future__ import annotations

from typing import Literal

import msgspec

from flowgauge.model.play import Usage
from flowgauge.model.workflow import Json

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "other"]


class Image(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A picture in a message: an https URL, or base64 data with its media type."""

    url: str = ""
    data: str = ""
    media_type: str = "image/png"


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """The model asks for a tool. `arguments` is as the model wrote it, parsed."""

    id: str
    name: str
    arguments: dict[str, Json]


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn. A `tool` message answers the call named by tool_call_id."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    images: tuple[Image, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    is_error: bool = False


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that the model may ask for. `parameters` is a JSON Schema of an object."""

    name: str
    description: str = ""
    parameters: dict[str, Json] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A whole request: everything here is part of a recording's key, but for what says where and how long."""

    provider: str
    model: str
    messages: tuple[Message, ...]
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    tools: tuple[ToolSpec, ...] = ()
    schema: dict[str, Json] | None = None
    """Answer with JSON of this schema."""
    stream: bool = False
    extra: dict[str, Json] = {}
    base_url: str = ""
    api_key_env: str = ""
    timeout_s: float | None = None

    @property
    def name(self) -> str:
        """provider/model, as prices and limits know it."""
        return f"{self.provider}/{self.model}"


class ModelResponse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer, measured. `duration_ms` is the wire's own time: waiting for a limiter is `queue_ms`."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: FinishReason = "stop"
    model: str = ""
    """As the provider names what answered."""
    usage: Usage = Usage()
    duration_ms: float = 0.0
    first_token_ms: float | None = None
    queue_ms: float = 0.0
