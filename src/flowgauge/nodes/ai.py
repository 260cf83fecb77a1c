"""`ai`: one question to a model, or a conversation with tools.

A retry goes on where the last attempt broke off: tools that have answered are
not called again, and an answer that did not fit is shown to the model together
with what was wrong with it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.lang.path import kind_of
from flowgauge.model.exchange import Image, Message, ModelRequest, ModelResponse
from flowgauge.model.workflow import Config, FailureKind, Json, Node
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.kind import PASSING, Complaint, Kind
from flowgauge.nodes.mending import mended
from flowgauge.nodes.output import fenced_code, parse_json
from flowgauge.nodes.tools import Tool, Toolbox, tool_complaints

DEFAULT_PROVIDER, DEFAULT_MODEL = "mock", "default"


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One message of a conversation that the file begins."""

    role: Literal["system", "user", "assistant"] = "user"
    text: Annotated[str, Meta(description="A template.")]
    images: Annotated[tuple[str, ...], Meta(description="https URLs or data: URLs; templates.")] = ()


class AiNode(Node, frozen=True, kw_only=True, tag="ai", tag_field="type"):
    """Ask a model."""

    prompt: Annotated[str, Meta(description="The user's message; a template.")] = ""
    system: Annotated[str, Meta(description="What the model is told about its task; a template.")] = ""
    messages: Annotated[tuple[ChatMessage, ...], Meta(description="A conversation so far; the prompt comes after it.")] = ()
    images: Annotated[tuple[str, ...], Meta(description="Pictures beside the prompt: https URLs or data: URLs; templates.")] = ()
    schema: Annotated[dict[str, Json] | None, Meta(description="A JSON Schema: the answer must be JSON that fits it.")] = None
    schema_from: Annotated[str, Meta(description="Instead of `schema`: a template that names one.")] = ""
    mend: Annotated[bool, Meta(description="Mend what can only be meant one way before an answer is found not to fit its schema.")] = False
    tools: tuple[Tool, ...] = ()
    max_turns: Annotated[int, Meta(ge=1, le=200, description="Calls to the model at the most, in a conversation with tools.")] = 8


def check(node: AiNode) -> Iterable[Complaint]:
    """Something must be asked; a schema must be one; tools must be whole."""
    if not (node.prompt or node.messages):
        yield Complaint("prompt", "There is nothing to ask.", "Give a `prompt` or `messages`.")
    if node.schema is not None:
        problem = schema_problem(node.schema)
        if problem:
            yield Complaint("schema", f"Not a JSON Schema: {problem}.", "See json-schema.org for its words.")
    if node.schema is not None and node.schema_from:
        yield Complaint("schema_from", "There is a `schema` already.", "Give one of them.")
    if node.mend and node.schema is None and not node.schema_from:
        yield Complaint("mend", "Without a schema there is nothing to mend.", "Give a `schema`, or leave `mend` out.")
    yield from tool_complaints(node.tools)


async def run(node: AiNode, fields: Mapping[str, Json], context: Context) -> Json:
    """{text, json, code, finish, turns}."""
    if node.schema_from:
        node = msgspec.structs.replace(node, schema=_schema_named(fields["schema_from"]))
    conversation: list[Message] = context.memory.setdefault("conversation", [])
    if not conversation:
        conversation.extend(opening(fields))
    if not node.tools:
        return await _converse(node, context, conversation, Toolbox((), context))
    async with Toolbox(node.tools, context) as toolbox:
        return await _converse(node, context, conversation, toolbox)


async def _converse(node: AiNode, context: Context, conversation: list[Message], toolbox: Toolbox) -> Json:
    for turn in range(1, node.max_turns + 1):
        response = await context.complete(request_for(node, context.config, tuple(conversation), toolbox, context.timeout_s))
        if not response.tool_calls:
            return _answer(node, response, turn, conversation)
        conversation.append(Message(role="assistant", text=response.text, tool_calls=response.tool_calls))
        conversation.extend(await toolbox.answer(response.tool_calls))
    raise fail("turn_limit", f"The model still asked for tools after {node.max_turns} turns. Raise max_turns.")


def opening(fields: Mapping[str, Json]) -> Iterable[Message]:
    """The messages before the model has said anything."""
    if fields.get("system"):
        yield Message(role="system", text=_text(fields["system"]))
    for message in fields.get("messages") or ():
        yield Message(role=message.get("role", "user"), text=_text(message["text"]), images=_images(message.get("images")))
    if fields.get("prompt"):
        yield Message(role="user", text=_text(fields["prompt"]), images=_images(fields.get("images")))


def request_for(node: AiNode, config: Config, messages: tuple[Message, ...], toolbox: Toolbox, timeout_s: float | None) -> ModelRequest:
    """The whole request, in no provider's dialect."""
    provider, model = model_of(config)
    return ModelRequest(
        provider=provider,
        model=model,
        messages=messages,
        temperature=config.temperature,
        top_p=config.top_p,
        max_tokens=config.max_tokens,
        seed=config.seed,
        tools=toolbox.specs,
        schema=node.schema,
        stream=bool(config.stream),
        extra=config.extra or {},
        base_url=config.base_url or "",
        api_key_env=config.api_key_env or "",
        timeout_s=timeout_s,
    )


def model_of(config: Config) -> tuple[str, str]:
    """(provider, model), whether they are written apart or as provider/model."""
    if config.provider:
        return config.provider, (config.model or DEFAULT_MODEL).removeprefix(f"{config.provider}/")
    provider, slash, model = (config.model or "").partition("/")
    if slash:
        return provider, model
    if config.model:
        raise fail("provider_rejected", f"The model '{config.model}' has no provider. Write provider/model, or set config.provider.")
    return DEFAULT_PROVIDER, DEFAULT_MODEL


def _answer(node: AiNode, response: ModelResponse, turns: int, conversation: list[Message]) -> Json:
    value = None
    if node.schema is not None:
        try:
            value = parse_json(response.text)
            if node.mend:
                value = mended(value, node.schema)
            _must_fit(value, node.schema)
        except Failed as error:
            conversation.append(Message(role="assistant", text=response.text))
            complaint = f"That does not fit: {error.failure.message} Answer again with nothing but JSON that fits the schema."
            conversation.append(Message(role="user", text=complaint))
            raise
    return {"text": response.text, "json": value, "code": fenced_code(response.text), "finish": response.finish, "turns": turns}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _images(values: Json) -> tuple[Image, ...]:
    return tuple(_image(str(value)) for value in values or ())


def _image(value: str) -> Image:
    if value.startswith(("https://", "http://")):
        return Image(url=value)
    head, comma, data = value.partition(",")
    if not (head.startswith("data:") and head.endswith(";base64") and comma):
        raise fail("template", f"'{value[:40]}' is no picture. Give an https URL or data:image/png;base64,….")
    return Image(data=data, media_type=head[5:-7])


def _schema_named(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise fail("template", f"`schema_from` must name a JSON Schema and names {kind_of(value)}.")
    if problem := schema_problem(value):
        raise fail("template", f"`schema_from` names something that is no JSON Schema: {problem}.")
    return value


def schema_problem(schema: Mapping[str, Json]) -> str:
    """What keeps this from being a JSON Schema; empty where nothing does."""
    import jsonschema

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        return f"{'.'.join(map(str, error.absolute_path)) or 'schema'}: {error.message}"
    return ""


def _must_fit(value: Json, schema: dict[str, Json]) -> None:
    from referencing.exceptions import Unresolvable

    try:
        errors = sorted(_validator(msgspec.json.encode(schema, order="sorted")).iter_errors(value), key=lambda error: error.json_path)
    except Unresolvable as error:
        raise fail("template", f"The schema refers to {error.ref}, which is not in it. Put it under $defs.") from error
    if errors:
        listed = "; ".join(f"{error.json_path}: {error.message[:200]}" for error in errors[:5])
        raise fail("invalid_output", f"The answer does not fit its schema: {listed}.")


@functools.lru_cache(maxsize=256)
def _validator(schema: bytes) -> Any:
    import jsonschema
    from referencing import Registry

    # A registry of its own: without one, a $ref to a URL would be fetched.
    registry: Any = Registry()
    return jsonschema.Draft202012Validator(msgspec.json.decode(schema), registry=registry)


_RETRY_ON: frozenset[FailureKind] = PASSING | {"invalid_output"}

KIND = Kind(
    struct=AiNode,
    run=run,
    summary="Ask a model: text, or JSON that fits a schema, with tools if it needs them.",
    templates=("prompt", "system", "messages", "images", "schema_from"),
    outputs=("text", "json", "code", "finish", "turns"),
    check=check,
    retry_on=_RETRY_ON,
    calls_out=True,
)
