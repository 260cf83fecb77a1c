"""A request in Anthropic's words.

In: a request in no dialect. Out: the body. System messages stand apart, neighbouring
tool results become one user message, and a schema becomes `output_config.format`
(structured outputs) where the model and the schema allow it, else a tool named
`answer` that the model must call. There is no seed in this dialect: it is left out.
"""

from __future__ import annotations

import re
from typing import Final

from flowgauge.model.exchange import Image, Message, ModelRequest
from flowgauge.model.workflow import Json
from flowgauge.providers.wire.schemas import narrowed, wrapped

ANSWER_TOOL: Final = "answer"
DEFAULT_MAX_TOKENS: Final = 4096
_BEFORE_STRUCTURED: Final = re.compile(r"claude-(?:instant|[23]|(?:opus|sonnet)-4(?:-0|-2025\d+)?$)")


def body_of(request: ModelRequest) -> dict[str, Json]:
    """The request in this dialect."""
    body: dict[str, Json] = {
        "model": wire_name(request.model),
        "max_tokens": request.max_tokens or DEFAULT_MAX_TOKENS,
        "messages": _messages(request.messages),
    }
    if system := "\n\n".join(message.text for message in request.messages if message.role == "system"):
        body["system"] = system
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.top_p is not None:
        body["top_p"] = request.top_p
    if request.tools:
        body["tools"] = [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in request.tools]
    if request.schema is not None:
        _ask_for_schema(body, request.schema)
    if request.stream:
        body["stream"] = True
    body.update(request.extra)
    return body


def wire_name(model: str) -> str:
    """Anthropic writes claude-sonnet-4-6 where others write claude-sonnet-4.6."""
    return model.replace(".", "-") if model.startswith("claude-") else model


def answers_by_tool(body: dict[str, Json]) -> bool:
    """Whether the schema was asked for by a tool, so that the call of it is the answer."""
    return any(tool.get("name") == ANSWER_TOOL for tool in body.get("tools", ())) and "tool_choice" in body


def _ask_for_schema(body: dict[str, Json], schema: dict[str, Json]) -> None:
    native = None if _BEFORE_STRUCTURED.match(body["model"]) else narrowed(schema)
    if native is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": native}}
        return
    tools = body.setdefault("tools", [])
    # With tools of the user's own the model may call those first, but must end with the answer.
    body["tool_choice"] = {"type": "any"} if tools else {"type": "tool", "name": ANSWER_TOOL}
    tools.append({"name": ANSWER_TOOL, "description": "Give the final answer.", "input_schema": wrapped(schema)})


def _messages(messages: tuple[Message, ...]) -> list[dict[str, Json]]:
    said: list[dict[str, Json]] = []
    results: list[dict[str, Json]] | None = None
    for message in messages:
        if message.role == "system":
            continue
        if message.role != "tool":
            results = None
            said.append({"role": message.role, "content": _content(message)})
            continue
        if results is None:
            results = []
            said.append({"role": "user", "content": results})
        results.append(_result(message))
    return said


def _result(message: Message) -> dict[str, Json]:
    result: dict[str, Json] = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.text}
    return {**result, "is_error": True} if message.is_error else result


def _content(message: Message) -> Json:
    if not message.images and not message.tool_calls:
        return message.text
    blocks: list[dict[str, Json]] = [_image(image) for image in message.images]
    if message.text:
        blocks.append({"type": "text", "text": message.text})
    return blocks + [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in message.tool_calls]


def _image(image: Image) -> dict[str, Json]:
    if image.url:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}
