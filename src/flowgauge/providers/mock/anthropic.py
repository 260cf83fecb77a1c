"""The mock server's side of Anthropic messages.

Bodies of `POST /v1/messages` in, bodies and server-sent events out, in the
shapes that the official SDK reads. Refuses a request without max_tokens.
"""

from __future__ import annotations

from typing import Any

import msgspec

from flowgauge.model.exchange import Image, Message, ModelRequest, ToolCall, ToolSpec
from flowgauge.model.workflow import Json
from flowgauge.providers.mock.dialect import Asked, BadRequest, decoded, joined
from flowgauge.providers.provider import Reply

_encode = msgspec.json.encode
_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal", "other": "end_turn"}
_ERRORS = {400: "invalid_request_error", 404: "not_found_error", 429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error"}


class _Source(msgspec.Struct):
    type: str
    data: str = ""
    media_type: str = "image/png"
    url: str = ""


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    source: _Source | None = None
    id: str = ""
    name: str = ""
    input: dict[str, Json] = {}
    tool_use_id: str = ""
    content: str | list[_Block] | None = None
    is_error: bool | None = False


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Block]


class _Tool(msgspec.Struct, kw_only=True):
    name: str
    description: str = ""
    input_schema: dict[str, Json]


class _Choice(msgspec.Struct):
    type: str


class _Format(msgspec.Struct):
    type: str
    schema: dict[str, Json] | None = None


class _Output(msgspec.Struct):
    format: _Format | None = None


class _Body(msgspec.Struct):
    model: str
    max_tokens: int
    messages: list[_Message]
    system: str | list[_Block] | None = None
    temperature: float | None = None
    top_p: float | None = None
    tools: list[_Tool] | None = None
    tool_choice: _Choice | None = None
    output_config: _Output | None = None
    output_format: _Format | None = None
    stream: bool | None = False
    mock: dict[str, Json] | None = None


_body = msgspec.json.Decoder(_Body)


class AnthropicDialect:
    """Implements mock_dialect.Dialect."""

    def read(self, body: bytes) -> Asked:
        """The request; tools are left out where `tool_choice` is none."""
        wire = decoded(_body, body)
        if not wire.messages:
            raise BadRequest("messages: at least one message is required")
        system = [Message(role="system", text=_text(wire.system))] if wire.system else []
        spoken = [message for part in wire.messages for message in _messages(part)]
        wanted = wire.output_format or (wire.output_config.format if wire.output_config else None)
        declared = () if wire.tool_choice and wire.tool_choice.type == "none" else wire.tools or ()
        request = ModelRequest(
            provider="mock",
            model=wire.model,
            messages=(*system, *spoken),
            temperature=wire.temperature,
            top_p=wire.top_p,
            max_tokens=wire.max_tokens,
            tools=tuple(ToolSpec(name=tool.name, description=tool.description, parameters=tool.input_schema) for tool in declared),
            schema=wanted.schema if wanted else None,
            stream=bool(wire.stream),
            extra={"mock": wire.mock} if wire.mock else {},
        )
        return Asked(request, wire.model)

    def whole(self, asked: Asked, reply: Reply, number: int) -> bytes:
        """A message."""
        text = [{"type": "text", "text": reply.text, "citations": None}] if reply.text or not reply.tool_calls else []
        content = [*text, *({**_tool_use(call), "input": call.arguments} for call in reply.tool_calls)]
        return _encode(_frame(asked, number, content, _STOPS[reply.finish], _usage(reply)))

    def head(self, asked: Asked, reply: Reply, number: int) -> bytes:
        """message_start, and the start of the text block where there is text."""
        usage = {**_usage(reply), "output_tokens": 1}
        events = [_event("message_start", message=_frame(asked, number, [], None, usage))]
        if reply.text:
            events.append(_event("content_block_start", index=0, content_block={"type": "text", "text": "", "citations": None}))
        return b"".join([*events, _event("ping")])

    def piece(self, _asked: Asked, text: str, _number: int) -> bytes:
        """A text_delta."""
        return _event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def tail(self, _asked: Asked, reply: Reply, _number: int) -> bytes:
        """The end of the text, tool calls with their input in two halves, message_delta and message_stop."""
        events = [_event("content_block_stop", index=0)] if reply.text else []
        for index, call in enumerate(reply.tool_calls, start=len(events)):
            written = _encode(call.arguments).decode()
            middle = len(written) // 2
            events.append(_event("content_block_start", index=index, content_block={**_tool_use(call), "input": {}}))
            events += [
                _event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": half})
                for half in (written[:middle], written[middle:])
            ]
            events.append(_event("content_block_stop", index=index))
        delta = {"stop_reason": _STOPS[reply.finish], "stop_sequence": None}
        usage = {"output_tokens": reply.tokens_completion}
        return b"".join([*events, _event("message_delta", delta=delta, usage=usage), _event("message_stop")])

    def error(self, status: int, message: str) -> bytes:
        """An error object."""
        return _encode({"type": "error", "error": {"type": _ERRORS.get(status, "api_error"), "message": message}, "request_id": None})


def _text(content: str | list[_Block] | None) -> str:
    return joined(block.text for block in content) if isinstance(content, list) else content or ""


def _messages(wire: _Message) -> list[Message]:
    """One message of the wire; results of tools become messages of their own, after what the user said."""
    blocks = [_Block(type="text", text=wire.content)] if isinstance(wire.content, str) else wire.content
    text = joined(block.text for block in blocks if block.type == "text")
    if wire.role == "assistant":
        calls = tuple(ToolCall(id=block.id, name=block.name, arguments=block.input) for block in blocks if block.type == "tool_use")
        return [Message(role="assistant", text=text, tool_calls=calls)]
    if wire.role not in ("user", "system"):
        raise BadRequest(f"messages: unexpected role {wire.role!r}")
    images = tuple(_image(block.source) for block in blocks if block.type == "image" and block.source)
    said = [Message(role="system" if wire.role == "system" else "user", text=text, images=images)] if text or images else []
    results = [
        Message(role="tool", text=_text(block.content), tool_call_id=block.tool_use_id, is_error=bool(block.is_error))
        for block in blocks
        if block.type == "tool_result"
    ]
    return said + results


def _image(source: _Source) -> Image:
    return Image(url=source.url) if source.url else Image(data=source.data, media_type=source.media_type)


def _tool_use(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name}


def _frame(asked: Asked, number: int, content: list[dict[str, Any]], stop: str | None, usage: dict[str, Json]) -> dict[str, Json]:
    return {
        "id": f"msg_mock{number}", "type": "message", "role": "assistant", "model": asked.model,
        "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def _usage(reply: Reply) -> dict[str, Json]:
    return {
        "input_tokens": reply.tokens_prompt - reply.tokens_cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": reply.tokens_cached,
        "output_tokens": reply.tokens_completion,
        "service_tier": "standard",
    }


def _event(kind: str, **fields: Json) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + _encode({"type": kind, **fields}) + b"\n\n"
