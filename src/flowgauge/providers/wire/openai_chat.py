"""The OpenAI-compatible chat dialect: POST {base_url}/chat/completions.

In: a request in no dialect. Out: a Reply. `extra` is merged into the body last, so it
can set or replace anything. Unknown fields of an answer are left out; an answer that
is malformed or broke off is a failure, never half a reply.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

import msgspec

from flowgauge.model.exchange import FinishReason, Image, Message, ModelRequest, ToolCall
from flowgauge.model.workflow import Json
from flowgauge.providers.provider import Reply
from flowgauge.providers.wire import http_failures
from flowgauge.providers.wire.endpoints import destination, openai_endpoint
from flowgauge.providers.wire.http_failures import Caller
from flowgauge.providers.wire.openai_answers import ANSWER, Function, ToolCallPart, Usage
from flowgauge.providers.wire.schemas import is_strict
from flowgauge.providers.wire.transport import TIMEOUT_S, Call, Wire

PATH: Final = "/chat/completions"
FINISHES: Final[dict[str | None, FinishReason]] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_NO_MAX_TOKENS: Final = re.compile(r"(^|/)(o\d|gpt-([5-9]|\d\d))")
"""Reasoning models: they refuse max_tokens, which would not count what they think."""

_encode: Final = msgspec.json.Encoder().encode
_UNTOLD: Final = Usage()


class OpenAIChat:
    """Any server that speaks this dialect; which one, the request says."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> Reply:
        """One exchange."""
        to = destination(request, openai_endpoint(request.provider), PATH)
        timeout_s = request.timeout_s or TIMEOUT_S
        call = Call(caller=to.caller, url=to.url, headers=to.headers, body=_encode(body_of(request)), timeout_s=timeout_s)
        if request.stream:
            return await self._stream(call, on_text)
        received = await self._wire.post(call)
        return _whole(to.caller, received.body, received.late_ms)

    async def close(self) -> None:
        """The wire is the gateway's: it closes it."""

    async def _stream(self, call: Call, on_text: Callable[[str], None] | None) -> Reply:
        started_s = time.perf_counter()
        gathered = _Gathered(call.caller, on_text)
        first_token_ms: float | None = None
        async with aclosing(self._wire.events(call)) as events:
            async for event in events:
                if event == b"[DONE]":
                    gathered.finish = gathered.finish or "stop"
                    break
                if gathered.add(event) and first_token_ms is None:
                    first_token_ms = (time.perf_counter() - started_s) * 1000
        return gathered.reply(first_token_ms)


def body_of(request: ModelRequest) -> dict[str, Json]:
    """The request in this dialect."""
    body: dict[str, Json] = {"model": request.model, "messages": [_message(message) for message in request.messages]}
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.top_p is not None:
        body["top_p"] = request.top_p
    if request.seed is not None:
        body["seed"] = request.seed
    if request.max_tokens is not None:
        body["max_completion_tokens" if _NO_MAX_TOKENS.search(request.model) else "max_tokens"] = request.max_tokens
    if request.tools:
        body["tools"] = [
            {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
            for tool in request.tools
        ]
    if request.schema is not None:
        answer = {"name": "answer", "schema": request.schema, "strict": is_strict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": answer}
    if request.stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    if request.extra:
        body.update(request.extra)
    return body


def _message(message: Message) -> dict[str, Json]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text}
    if message.tool_calls:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _encode(call.arguments).decode()}}
            for call in message.tool_calls
        ]
        return {"role": message.role, "content": message.text or None, "tool_calls": calls}
    if message.images:
        text: list[Json] = [{"type": "text", "text": message.text}] if message.text else []
        return {"role": message.role, "content": text + [_image(image) for image in message.images]}
    return {"role": message.role, "content": message.text}


def _image(image: Image) -> dict[str, Json]:
    return {"type": "image_url", "image_url": {"url": image.url or f"data:{image.media_type};base64,{image.data}"}}


def _whole(caller: Caller, body: bytes, late_ms: float) -> Reply:
    try:
        answer = ANSWER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise http_failures.malformed(caller, str(error), body) from error
    if answer.error:
        raise http_failures.of_error_body(caller, answer.error)
    if not answer.choices:
        raise http_failures.malformed(caller, "it has no choices", body)
    choice = answer.choices[0]
    said = choice.message
    reply = _reply(answer.model, said.text or said.refusal or "", choice.finish_reason, answer.usage, late_ms=late_ms)
    if said.refusal:
        reply = msgspec.structs.replace(reply, finish="content_filter")
    return _with_tools(caller, reply, said.tool_calls) if said.tool_calls else reply


def _reply(
    model: str | None, text: str, finish: str | None, usage: Usage | None, first_token_ms: float | None = None, *, late_ms: float = 0.0
) -> Reply:
    used = usage or _UNTOLD
    return Reply(
        text=text,
        finish=FINISHES.get(finish, "other"),
        model=model or "",
        tokens_prompt=used.prompt_tokens or 0,
        tokens_completion=used.completion_tokens or 0,
        tokens_cached=used.cached,
        cost_usd=used.cost,
        first_token_ms=first_token_ms,
        late_ms=late_ms,
    )


def _with_tools(caller: Caller, reply: Reply, parts: list[ToolCallPart]) -> Reply:
    calls = tuple(_tool_call(caller, reply, number, part) for number, part in enumerate(parts))
    finish: FinishReason = "tool_calls" if reply.finish in ("stop", "other") else reply.finish
    return msgspec.structs.replace(reply, tool_calls=calls, finish=finish)


def _tool_call(caller: Caller, reply: Reply, number: int, part: ToolCallPart) -> ToolCall:
    written = part.function.arguments
    try:
        arguments = written if isinstance(written, dict) else msgspec.json.decode(written or "{}", type=dict[str, Json])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise http_failures.bad_arguments(caller, part.function.name or "", str(written), reply) from error
    return ToolCall(id=part.id or f"call_{number}", name=part.function.name or "", arguments=arguments)


class _Gathered:
    """A streamed answer, as far as it has come."""

    def __init__(self, caller: Caller, on_text: Callable[[str], None] | None) -> None:
        self._caller = caller
        self._on_text = on_text
        self._text: list[str] = []
        self._tools: dict[int, ToolCallPart] = {}
        self._model: str | None = None
        self._usage: Usage | None = None
        self.finish: str | None = None

    def add(self, event: bytes) -> bool:
        """Take one chunk; true where it holds something that the model said."""
        try:
            chunk = ANSWER.decode(event)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise http_failures.malformed(self._caller, str(error), event) from error
        if chunk.error:
            raise http_failures.of_error_body(self._caller, chunk.error)
        self._model = chunk.model or self._model
        self._usage = chunk.usage or self._usage
        if not chunk.choices:
            return False
        choice = chunk.choices[0]
        self.finish = choice.finish_reason or self.finish
        text = choice.delta.text or choice.delta.refusal or ""
        if text:
            self._text.append(text)
            if self._on_text is not None:
                self._on_text(text)
        for part in choice.delta.tool_calls or ():
            self._add_tool(part)
        return bool(text or choice.delta.tool_calls)

    def _add_tool(self, part: ToolCallPart) -> None:
        index = part.index if part.index is not None else len(self._tools)
        before = self._tools.get(index)
        if before is None:
            self._tools[index] = part
            return
        arguments = str(before.function.arguments or "") + str(part.function.arguments or "")
        function = Function(name=before.function.name or part.function.name, arguments=arguments)
        self._tools[index] = ToolCallPart(id=before.id or part.id, function=function)

    def reply(self, first_token_ms: float | None) -> Reply:
        """The whole answer, or a failure where the stream ended early."""
        reply = _reply(self._model, "".join(self._text), self.finish, self._usage, first_token_ms)
        if self.finish is None:
            raise http_failures.cut_off(self._caller, "The stream ended without a finish reason.")
        return _with_tools(self._caller, reply, list(self._tools.values())) if self._tools else reply
