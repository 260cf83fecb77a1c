"""The mock server's side of OpenAI chat completions.

Bodies of `POST /v1/chat/completions` in, bodies and server-sent events out, in
the shapes that the official SDK reads. Refuses more than one choice.
"""

from __future__ import annotations

import time
from typing import Any, Literal

import msgspec

from flowgauge.model.exchange import Message, ModelRequest, ToolCall, ToolSpec
from flowgauge.model.workflow import Json
from flowgauge.providers.mock.dialect import Asked, BadRequest, decoded, image_of, joined
from flowgauge.providers.provider import Reply

_encode = msgspec.json.encode
_ROLES: dict[str, Literal["system", "user", "assistant", "tool"]] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip
_ERRORS = {
    400: ("invalid_request_error", None),
    404: ("invalid_request_error", "not_found"),
    429: ("requests", "rate_limit_exceeded"),
    504: ("server_error", "timeout"),
}


class _Url(msgspec.Struct):
    url: str


class _Content(msgspec.Struct):
    type: str
    text: str = ""
    image_url: _Url | None = None


class _Function(msgspec.Struct):
    name: str
    arguments: str = "{}"


class _Call(msgspec.Struct):
    id: str
    function: _Function


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Content] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""


class _Declared(msgspec.Struct):
    name: str
    description: str | None = ""
    parameters: dict[str, Json] | None = None


class _Tool(msgspec.Struct):
    function: _Declared


class _Named(msgspec.Struct):
    schema: dict[str, Json] = {}


class _Format(msgspec.Struct):
    type: str
    json_schema: _Named | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool = False


class _Body(msgspec.Struct):
    model: str
    messages: list[_Message]
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    seed: int | None = None
    n: int | None = 1
    tools: list[_Tool] | None = None
    tool_choice: Json = None
    response_format: _Format | None = None
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    mock: dict[str, Json] | None = None


_body = msgspec.json.Decoder(_Body)


class OpenAIDialect:
    """Implements mock_dialect.Dialect."""

    def read(self, body: bytes) -> Asked:
        """The request; tools are left out where `tool_choice` is none."""
        wire = decoded(_body, body)
        if wire.n not in (None, 1):
            raise BadRequest("The mock server gives one choice: leave 'n' out.")
        if not wire.messages:
            raise BadRequest("'messages' must not be empty.")
        request = ModelRequest(
            provider="mock",
            model=wire.model,
            messages=tuple(map(_message, wire.messages)),
            temperature=wire.temperature,
            top_p=wire.top_p,
            max_tokens=wire.max_completion_tokens or wire.max_tokens,
            seed=wire.seed,
            tools=() if wire.tool_choice == "none" else tuple(map(_tool, wire.tools or ())),
            schema=_schema(wire.response_format),
            stream=bool(wire.stream),
            extra={"mock": wire.mock} if wire.mock else {},
        )
        return Asked(request, wire.model, bool(wire.stream_options and wire.stream_options.include_usage))

    def whole(self, asked: Asked, reply: Reply, number: int) -> bytes:
        """A chat.completion."""
        message: dict[str, Json] = {"role": "assistant", "content": reply.text or None, "refusal": None}
        if reply.tool_calls:
            message["tool_calls"] = list(map(_call, reply.tool_calls))
        else:
            message["content"] = reply.text
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish}
        return _encode({**_frame("chat.completion", asked, number), "choices": [choice], "usage": _usage(reply)})

    def head(self, asked: Asked, reply: Reply, number: int) -> bytes:
        """The chunk that names the role."""
        return _chunk(asked, number, {"role": "assistant", "content": "" if reply.text else None, "refusal": None})

    def piece(self, asked: Asked, text: str, number: int) -> bytes:
        """A chunk of content."""
        return _chunk(asked, number, {"content": text})

    def tail(self, asked: Asked, reply: Reply, number: int) -> bytes:
        """Tool calls with their arguments in two halves, the finish reason, the usage where asked for."""
        events = []
        for index, call in enumerate(reply.tool_calls):
            whole = _call(call)
            arguments = whole["function"]["arguments"]
            middle = len(arguments) // 2
            whole["function"]["arguments"] = ""
            events.append(_chunk(asked, number, {"tool_calls": [{"index": index, **whole}]}))
            events += [
                _chunk(asked, number, {"tool_calls": [{"index": index, "function": {"arguments": half}}]})
                for half in (arguments[:middle], arguments[middle:])
            ]
        events.append(_chunk(asked, number, {}, finish=reply.finish))
        if asked.with_usage:
            events.append(_event({**_frame("chat.completion.chunk", asked, number), "choices": [], "usage": _usage(reply)}))
        return b"".join([*events, b"data: [DONE]\n\n"])

    def error(self, status: int, message: str) -> bytes:
        """An error object."""
        kind, code = _ERRORS.get(status, ("server_error", None))
        return _encode({"error": {"message": message, "type": kind, "param": None, "code": code}})


def _message(wire: _Message) -> Message:
    role = _ROLES.get(wire.role)
    if role is None:
        raise BadRequest(f"Unknown role {wire.role!r}.")
    parts = wire.content if isinstance(wire.content, list) else [_Content(type="text", text=wire.content or "")]
    text = joined(part.text for part in parts)
    images = tuple(image_of(part.image_url.url) for part in parts if part.image_url)
    calls = tuple(map(_called, wire.tool_calls or ()))
    return Message(role=role, text=text, images=images, tool_calls=calls, tool_call_id=wire.tool_call_id)


def _called(call: _Call) -> ToolCall:
    arguments = decoded(_ARGUMENTS, call.function.arguments.encode() or b"{}")
    return ToolCall(id=call.id, name=call.function.name, arguments=arguments)


_ARGUMENTS: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


def _tool(tool: _Tool) -> ToolSpec:
    declared = tool.function
    parameters = declared.parameters or {"type": "object", "properties": {}}
    return ToolSpec(name=declared.name, description=declared.description or "", parameters=parameters)


def _schema(wanted: _Format | None) -> dict[str, Json] | None:
    if wanted is None or wanted.type == "text":
        return None
    return wanted.json_schema.schema if wanted.json_schema else {"type": "object", "properties": {"answer": {"type": "string"}}}


def _frame(kind: str, asked: Asked, number: int) -> dict[str, Json]:
    return {
        "id": f"chatcmpl-mock{number}", "object": kind, "created": int(time.time()), "model": asked.model,
        "service_tier": "default", "system_fingerprint": "fp_mock",
    }  # fmt: skip


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _encode(call.arguments).decode()}}


def _usage(reply: Reply) -> dict[str, Json]:
    return {
        "prompt_tokens": reply.tokens_prompt,
        "completion_tokens": reply.tokens_completion,
        "total_tokens": reply.tokens_prompt + reply.tokens_completion,
        "prompt_tokens_details": {"cached_tokens": reply.tokens_cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }


def _chunk(asked: Asked, number: int, delta: dict[str, Json], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event({**_frame("chat.completion.chunk", asked, number), "choices": [choice]})


def _event(value: dict[str, Json]) -> bytes:
    return b"data: " + _encode(value) + b"\n\n"
