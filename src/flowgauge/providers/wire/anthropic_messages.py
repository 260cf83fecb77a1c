"""The Anthropic messages dialect: POST {base_url}/v1/messages.

In: a request in no dialect. Out: a Reply, whose prompt tokens include the cached ones.
An answer that is malformed or broke off is a failure, never half a reply.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.exchange import FinishReason, ModelRequest, ToolCall
from flowgauge.model.play import Failure
from flowgauge.model.workflow import Json
from flowgauge.providers.provider import Reply
from flowgauge.providers.wire import http_failures
from flowgauge.providers.wire.anthropic_answers import ANSWER, EVENT, Block, Event, Usage
from flowgauge.providers.wire.anthropic_body import ANSWER_TOOL, answers_by_tool, body_of
from flowgauge.providers.wire.endpoints import ANTHROPIC, destination
from flowgauge.providers.wire.http_failures import Caller
from flowgauge.providers.wire.transport import TIMEOUT_S, Call, Wire

PATH: Final = "/v1/messages"
VERSION: Final = "2023-06-01"
FINISHES: Final[dict[str | None, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


class AnthropicMessages:
    """Anthropic, or any server that speaks its dialect."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> Reply:
        """One exchange."""
        to = destination(request, ANTHROPIC, PATH)
        body = body_of(request)
        headers = {**to.headers, "anthropic-version": VERSION}
        timeout_s = request.timeout_s or TIMEOUT_S
        call = Call(caller=to.caller, url=to.url, headers=headers, body=msgspec.json.encode(body), timeout_s=timeout_s)
        reply = await (self._stream(call, on_text) if request.stream else self._post(call))
        return _unwrapped(reply, request.schema) if request.schema is not None and answers_by_tool(body) else reply

    async def close(self) -> None:
        """The wire is the gateway's: it closes it."""

    async def _post(self, call: Call) -> Reply:
        received = await self._wire.post(call)
        return msgspec.structs.replace(_whole(call.caller, received.body), late_ms=received.late_ms)

    async def _stream(self, call: Call, on_text: Callable[[str], None] | None) -> Reply:
        started_s = time.perf_counter()
        gathered = _Gathered(call.caller, on_text)
        first_token_ms: float | None = None
        try:
            async with aclosing(self._wire.events(call)) as events:
                async for data in events:
                    if gathered.add(data) and first_token_ms is None:
                        first_token_ms = (time.perf_counter() - started_s) * 1000
                    if gathered.ended:
                        break
        except Failed as error:
            raise gathered.with_usage(error.failure) from error
        return gathered.reply(first_token_ms)


def _whole(caller: Caller, body: bytes) -> Reply:
    try:
        answer = ANSWER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise http_failures.malformed(caller, str(error), body) from error
    if answer.error:
        raise http_failures.of_error_body(caller, answer.error)
    if answer.content is None:
        raise http_failures.malformed(caller, "it has no content", body)
    text = "".join(block.text or "" for block in answer.content if block.type == "text")
    reply = _reply(answer.model, text, answer.stop_reason, answer.usage)
    calls = tuple(_tool_call(caller, reply, block, block.input) for block in answer.content if block.type == "tool_use")
    return msgspec.structs.replace(reply, tool_calls=calls) if calls else reply


def _reply(model: str | None, text: str, stop_reason: str | None, used: Usage, first_token_ms: float | None = None) -> Reply:
    cached, written = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
    return Reply(
        text=text,
        finish=FINISHES.get(stop_reason, "other"),
        model=model or "",
        tokens_prompt=(used.input_tokens or 0) + cached + written,
        tokens_completion=used.output_tokens or 0,
        tokens_cached=cached,
        tokens_cache_written=written,
        first_token_ms=first_token_ms,
    )


def _tool_call(caller: Caller, reply: Reply, block: Block, arguments: Json) -> ToolCall:
    if not isinstance(arguments, dict):
        raise http_failures.bad_arguments(caller, block.name or "", repr(arguments), reply)
    return ToolCall(id=block.id or "", name=block.name or "", arguments=arguments)


def _unwrapped(reply: Reply, schema: dict[str, Json]) -> Reply:
    """The call of the answer tool becomes the text of the answer."""
    answer = next((call for call in reply.tool_calls if call.name == ANSWER_TOOL), None)
    if answer is None:
        return reply
    value = answer.arguments if schema.get("type") == "object" else answer.arguments.get("answer")
    others = tuple(call for call in reply.tool_calls if call.name != ANSWER_TOOL)
    finish: FinishReason = "stop" if reply.finish == "tool_calls" and not others else reply.finish
    return msgspec.structs.replace(reply, text=msgspec.json.encode(value).decode(), tool_calls=others, finish=finish)


class _Gathered:
    """A streamed message, as far as it has come."""

    def __init__(self, caller: Caller, on_text: Callable[[str], None] | None) -> None:
        self._caller = caller
        self._on_text = on_text
        self._text: list[str] = []
        self._tools: dict[int, tuple[Block, list[str]]] = {}
        self._model: str | None = None
        self._usage = Usage()
        self._stop_reason: str | None = None
        self.ended = False

    def add(self, data: bytes) -> bool:
        """Take one event; true where it holds something that the model said."""
        try:
            event = EVENT.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise http_failures.malformed(self._caller, str(error), data) from error
        match event.type:
            case "message_start" if event.message is not None:
                self._model, self._usage = event.message.model, event.message.usage
            case "content_block_start" if event.content_block.type == "tool_use":
                self._tools[event.index] = (event.content_block, [])
            case "content_block_start" | "content_block_delta":
                return self._add_piece(event)
            case "message_delta":
                self._stop_reason = event.delta.stop_reason or self._stop_reason
                self._usage = self._usage.updated(event.usage)
            case "message_stop":
                self.ended = True
            case "error":
                raise http_failures.of_error_body(self._caller, event.error)
        return event.type == "content_block_start"

    def _add_piece(self, event: Event) -> bool:
        if event.delta.partial_json is not None and event.index in self._tools:
            self._tools[event.index][1].append(event.delta.partial_json)
            return True
        text = event.delta.text or (event.content_block.text if event.content_block.type == "text" else None)
        if not text:
            return False
        self._text.append(text)
        if self._on_text is not None:
            self._on_text(text)
        return True

    def with_usage(self, failure: Failure) -> Failed:
        """A failure that also says what was used until then, where that is known."""
        return http_failures.BrokenReply(failure, self._so_far()) if self._usage != Usage() else Failed(failure)

    def _so_far(self, first_token_ms: float | None = None) -> Reply:
        return _reply(self._model, "".join(self._text), self._stop_reason, self._usage, first_token_ms)

    def reply(self, first_token_ms: float | None) -> Reply:
        """The whole answer, or a failure where the stream ended early."""
        reply = self._so_far(first_token_ms)
        if not self.ended:
            raise self.with_usage(http_failures.cut_off(self._caller, "The stream ended without message_stop.").failure)
        calls = tuple(self._finished_call(reply, block, pieces) for block, pieces in self._tools.values())
        return msgspec.structs.replace(reply, tool_calls=calls) if calls else reply

    def _finished_call(self, reply: Reply, block: Block, pieces: list[str]) -> ToolCall:
        written = "".join(pieces)
        try:
            arguments = msgspec.json.decode(written) if written else block.input or {}
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise http_failures.bad_arguments(self._caller, block.name or "", written, reply) from error
        return _tool_call(self._caller, reply, block, arguments)
