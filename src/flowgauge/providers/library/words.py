"""A request and its answer in pydantic-ai's words. Only imported when the library path is used.

Pure: our nouns in, the library's out, and back.
"""

from __future__ import annotations

import base64
from typing import Final, Literal

import msgspec
from pydantic_ai import messages as words
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from flowgauge.model.exchange import FinishReason, Image, Message, ModelRequest, ToolCall
from flowgauge.model.workflow import Json
from flowgauge.providers.provider import Reply
from flowgauge.providers.wire import http_failures
from flowgauge.providers.wire.http_failures import Caller
from flowgauge.providers.wire.schemas import wrapped
from flowgauge.providers.wire.transport import TIMEOUT_S

ANSWER_TOOL: Final = "answer"
FINISHES: Final[dict[str | None, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool_calls",
    "content_filter": "content_filter",
}


def messages_of(request: ModelRequest) -> list[words.ModelMessage]:
    """The turns; neighbouring ones that are not the model's become one request."""
    tool_names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    said: list[words.ModelMessage] = []
    for message in request.messages:
        if message.role == "assistant":
            said.append(_answer(message))
            continue
        part = _part(message, tool_names)
        last = said[-1] if said else None
        if isinstance(last, words.ModelRequest):
            said[-1] = words.ModelRequest(parts=[*last.parts, part])
        else:
            said.append(words.ModelRequest(parts=[part]))
    return said


def settings_of(request: ModelRequest, model: Model) -> ModelSettings:
    """What is set, without what this model's class would warn of. The library's retries are off: every attempt is counted."""
    timeout_s = request.timeout_s or TIMEOUT_S
    asked: dict[str, Json] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "timeout": timeout_s,
        "request_timeout": timeout_s,
        "max_retries": 0,
        "extra_body": request.extra or None,
    }
    settings = ModelSettings()
    settings.update({name: value for name, value in asked.items() if value is not None and name not in model.unsupported_settings})  # type: ignore[typeddict-item]
    return settings


def parameters_of(request: ModelRequest, model: Model) -> ModelRequestParameters:
    """Tools and schema. A model without structured outputs is made to call a tool with the answer."""
    tools = [ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters) for tool in request.tools]
    if request.schema is None:
        return ModelRequestParameters(function_tools=tools)
    if model.profile.get("supports_json_schema_output"):
        wanted = OutputObjectDefinition(json_schema=request.schema, name="answer")
        return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=wanted)
    answer = ToolDefinition(
        name=ANSWER_TOOL, description="Give the final answer.", parameters_json_schema=wrapped(request.schema), kind="output"
    )
    return ModelRequestParameters(function_tools=tools, output_mode="tool", output_tools=[answer], allow_text_output=False)


def reply_of(request: ModelRequest, caller: Caller, answer: words.ModelResponse, first_token_ms: float | None = None) -> Reply:
    """The answer in our words."""
    used = answer.usage
    reply = Reply(
        text="".join(part.content for part in answer.parts if isinstance(part, words.TextPart)),
        finish=FINISHES.get(answer.finish_reason, "other"),
        model=answer.model_name or "",
        tokens_prompt=used.input_tokens,
        tokens_completion=used.output_tokens,
        tokens_cached=used.cache_read_tokens,
        tokens_cache_written=used.cache_write_tokens,
        first_token_ms=first_token_ms,
    )
    calls = tuple(_call(caller, reply, part) for part in answer.parts if isinstance(part, words.ToolCallPart))
    return _with_calls(request, reply, calls) if calls else reply


def _with_calls(request: ModelRequest, reply: Reply, calls: tuple[ToolCall, ...]) -> Reply:
    own = tuple(call for call in calls if request.schema is None or call.name != ANSWER_TOOL)
    given = [call.arguments for call in calls if call not in own]
    finish: FinishReason = "tool_calls" if own else "stop"
    if reply.finish == "length":
        finish = "length"
    if not given or request.schema is None:
        return msgspec.structs.replace(reply, tool_calls=own, finish=finish)
    value = given[0] if request.schema.get("type") == "object" else given[0].get("answer")
    return msgspec.structs.replace(reply, text=msgspec.json.encode(value).decode(), tool_calls=own, finish=finish)


def _call(caller: Caller, reply: Reply, part: words.ToolCallPart) -> ToolCall:
    try:
        arguments = part.args if isinstance(part.args, dict) else msgspec.json.decode(part.args or "{}", type=dict[str, Json])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise http_failures.bad_arguments(caller, part.tool_name, str(part.args), reply) from error
    return ToolCall(id=part.tool_call_id, name=part.tool_name, arguments=arguments)


def _part(message: Message, tool_names: dict[str, str]) -> words.ModelRequestPart:
    if message.role == "system":
        return words.SystemPromptPart(content=message.text)
    if message.role == "tool":
        name = tool_names.get(message.tool_call_id, "")
        outcome: Literal["failed", "success"] = "failed" if message.is_error else "success"
        return words.ToolReturnPart(tool_name=name, content=message.text, tool_call_id=message.tool_call_id, outcome=outcome)
    if not message.images:
        return words.UserPromptPart(content=message.text)
    text = [message.text] if message.text else []
    return words.UserPromptPart(content=[*text, *(_image(image) for image in message.images)])


def _answer(message: Message) -> words.ModelResponse:
    parts: list[words.ModelResponsePart] = [words.TextPart(content=message.text)] if message.text else []
    parts += [words.ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id) for call in message.tool_calls]
    return words.ModelResponse(parts=parts)


def _image(image: Image) -> words.ImageUrl | words.BinaryContent:
    if image.url:
        return words.ImageUrl(url=image.url)
    return words.BinaryContent(data=base64.b64decode(image.data), media_type=image.media_type)


def heard(event: words.ModelResponseStreamEvent) -> tuple[str, bool]:
    """The text that an event of a stream adds, and whether the model said anything in it (a tool call counts)."""
    if isinstance(event, words.PartStartEvent):
        if isinstance(event.part, words.TextPart):
            return event.part.content, bool(event.part.content)
        return "", isinstance(event.part, words.ToolCallPart)
    if isinstance(event, words.PartDeltaEvent):
        if isinstance(event.delta, words.TextPartDelta):
            return event.delta.content_delta, True
        return "", isinstance(event.delta, words.ToolCallPartDelta)
    return "", False
