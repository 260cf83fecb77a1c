from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.providers.canned_server import Outcome, Respond, answers, exchange, hangs, hangs_up, streams, user

from flowgauge.model.exchange import Image, Message, ModelRequest, ToolCall, ToolSpec
from flowgauge.providers.wire.anthropic_messages import AnthropicMessages
from flowgauge.providers.wire.http_failures import BrokenReply
from flowgauge.providers.wire.schemas import narrowed

HELLO: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Hello."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20},
}
CITY = {"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}, "required": ["city"]}


def play(respond: Respond, path: str = "", **changes: Any) -> Outcome:
    request = ModelRequest(**{"provider": "anthropic", "model": "claude-sonnet-4-6", "messages": user(), **changes})
    return exchange(AnthropicMessages, request, respond, path=path)


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {msgspec.json.encode({'type': kind, **fields}).decode()}\n\n"


START = event(
    "message_start", message={"model": "claude-sonnet-4-6", "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}}
)
STOP = event("message_stop")


def ends(reason: str, tokens: int = 7) -> str:
    return event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": tokens})


def text(piece: str) -> str:
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})


def test_prompt_tokens_include_what_was_read_from_and_written_to_the_cache() -> None:
    reply = play(answers(HELLO)).good
    assert (reply.text, reply.finish, reply.model) == ("Hello.", "stop", "claude-sonnet-4-6")
    assert (reply.tokens_prompt, reply.tokens_completion, reply.tokens_cached, reply.tokens_cache_written) == (130, 3, 100, 20)


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_with_or_without_v1(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-mine")
    seen = play(answers(HELLO), path=path).seen[0]
    assert seen.path == "/v1/messages"
    assert (seen.headers["x-api-key"], seen.headers["anthropic-version"]) == ("key-of-mine", "2023-06-01")


def test_what_is_set_goes_into_the_body_and_max_tokens_always() -> None:
    messages = (Message(role="system", text="Be brief."), *user())
    body = play(answers(HELLO), model="claude-sonnet-4.6", messages=messages, temperature=0.0, seed=4, extra={"top_k": 3}).body
    assert body == {
        "model": "claude-sonnet-4-6",
        "max_tokens": 4096,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Say hello."}],
        "temperature": 0.0,
        "top_k": 3,
    }


def test_a_conversation_with_tools_and_images_is_spelled_as_the_dialect_wants() -> None:
    calls = (ToolCall(id="a", name="look", arguments={"at": 1}), ToolCall(id="b", name="look", arguments={}))
    messages = (
        Message(role="user", text="See.", images=(Image(url="https://x.test/a.png"), Image(data="QUJD"))),
        Message(role="assistant", text="I look.", tool_calls=calls),
        Message(role="tool", text="a cat", tool_call_id="a"),
        Message(role="tool", text="broken", tool_call_id="b", is_error=True),
        Message(role="user", text="And?"),
    )
    body = play(answers(HELLO), messages=messages, tools=(ToolSpec(name="look"),)).body
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
                {"type": "text", "text": "See."},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "look", "input": {"at": 1}},
                {"type": "tool_use", "id": "b", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "a cat"},
                {"type": "tool_result", "tool_use_id": "b", "content": "broken", "is_error": True},
            ],
        },
        {"role": "user", "content": "And?"},
    ]
    assert body["tools"] == [{"name": "look", "description": "", "input_schema": {"type": "object", "properties": {}}}]


def test_tool_use_is_a_tool_call() -> None:
    content = [{"type": "text", "text": "I add."}, {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}}]
    reply = play(answers({**HELLO, "content": content, "stop_reason": "tool_use"})).good
    assert (reply.text, reply.finish, reply.tool_calls) == ("I add.", "tool_calls", (ToolCall(id="t", name="add", arguments={"a": 1}),))


def test_a_schema_is_asked_for_as_structured_output_with_closed_objects_and_without_bounds() -> None:
    body = play(answers(HELLO), schema=CITY).body
    closed = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": closed}}
    assert "tools" not in body


@pytest.mark.parametrize(
    ("model", "schema", "given", "answer"),
    [
        pytest.param("claude-3-haiku-20240307", CITY, {"city": "Bern"}, '{"city":"Bern"}', id="an older model"),
        pytest.param("claude-sonnet-4-20250514", CITY, {"city": "Bern"}, '{"city":"Bern"}', id="the first Claude 4"),
        pytest.param("claude-sonnet-4-6", {"type": "array", "items": {}}, {"answer": [1]}, "[1]", id="an answer that is no object"),
        pytest.param("claude-sonnet-4-6", {"type": "object", "additionalProperties": {}}, {"a": 1}, '{"a":1}', id="an open object"),
    ],
)
def test_where_structured_output_does_not_fit_the_model_must_call_a_tool(
    model: str, schema: dict[str, Any], given: dict[str, Any], answer: str
) -> None:
    content = [{"type": "tool_use", "id": "t", "name": "answer", "input": given}]
    outcome = play(answers({**HELLO, "content": content, "stop_reason": "tool_use"}), model=model, schema=schema)
    assert outcome.body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert outcome.body["tools"][0]["input_schema"]["type"] == "object"
    assert (outcome.good.text, outcome.good.finish, outcome.good.tool_calls) == (answer, "stop", ())


def test_with_tools_of_its_own_the_model_may_call_them_before_the_answer() -> None:
    content = [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]
    body = {**HELLO, "content": content, "stop_reason": "tool_use"}
    outcome = play(answers(body), model="claude-3-haiku-20240307", schema=CITY, tools=(ToolSpec(name="look"),))
    assert outcome.body["tool_choice"] == {"type": "any"}
    assert outcome.good.tool_calls == (ToolCall(id="t", name="look", arguments={}),)
    assert outcome.good.finish == "tool_calls"


def test_narrowing_reaches_every_object_in_a_schema() -> None:
    deep = {
        "type": "object",
        "properties": {"x": {"anyOf": [{"type": "array", "items": CITY}, {"$ref": "#/$defs/c"}]}},
        "$defs": {"c": CITY},
    }
    found = narrowed(deep)
    assert found is not None
    written = msgspec.json.encode(found).decode()
    assert written.count('"additionalProperties":false') == 3
    assert "minLength" not in written


@pytest.mark.parametrize(("reason", "finish"), [("max_tokens", "length"), ("refusal", "content_filter"), ("pause_turn", "other")])
def test_each_stop_reason_is_a_finish(reason: str, finish: str) -> None:
    assert play(answers({**HELLO, "stop_reason": reason})).good.finish == finish


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "provider_rejected"), (401, "provider_rejected"), (404, "provider_rejected"),
        (429, "rate_limited"), (500, "provider_error"), (529, "provider_error"),
    ],
)  # fmt: skip
def test_each_status_is_a_kind_of_failure(status: int, kind: str) -> None:
    body = {"type": "error", "error": {"type": "some_error", "message": "That went wrong."}}
    failure = play(answers(body, status=status, headers={"retry-after": "2"})).bad
    assert (failure.kind, failure.retry_after_s) == (kind, 2)
    assert f"anthropic answered {status}: That went wrong." in failure.message


@pytest.mark.parametrize("body", [b'{"content": [{"type": "te', b"{}", b"nonsense", b'{"content": "text"}'])
def test_an_answer_that_cannot_be_read_is_a_failure(body: bytes) -> None:
    assert play(answers(body)).bad.kind == "provider_error"


def test_no_answer_and_no_connection_are_told_apart() -> None:
    assert play(hangs, timeout_s=0.05).bad.kind == "timeout"
    assert play(hangs_up).bad.kind == "connection"


def test_a_stream_gives_its_pieces_its_usage_and_the_time_of_its_first_token() -> None:
    thinking = event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"})
    begins = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    outcome = play(streams([START, event("ping"), begins, thinking, text("Hel"), text("lo."), ends("end_turn"), STOP]), stream=True)
    reply = outcome.good
    assert outcome.texts == ["Hel", "lo."]
    assert (reply.text, reply.finish, reply.model) == ("Hello.", "stop", "claude-sonnet-4-6")
    assert (reply.tokens_prompt, reply.tokens_completion, reply.tokens_cached) == (15, 7, 5)
    assert reply.first_token_ms is not None
    assert reply.first_token_ms > 0


def test_streamed_tool_use_is_put_together() -> None:
    def piece(index: int, written: str) -> str:
        return event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": written})

    def begins(index: int, name: str) -> str:
        return event("content_block_start", index=index, content_block={"type": "tool_use", "id": f"t{index}", "name": name, "input": {}})

    events = [START, begins(0, "add"), piece(0, ""), piece(0, '{"a": '), piece(0, "1}"), begins(1, "now"), ends("tool_use"), STOP]
    reply = play(streams(events), stream=True).good
    assert reply.tool_calls == (ToolCall(id="t0", name="add", arguments={"a": 1}), ToolCall(id="t1", name="now", arguments={}))
    assert reply.first_token_ms is not None


OVERLOADED = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
LIMITED = event("error", error={"type": "rate_limit_error", "message": "Too fast"})


@pytest.mark.parametrize(
    ("events", "cut", "kind"),
    [
        pytest.param([START, text("Hel")], False, "provider_error", id="ended without message_stop"),
        pytest.param([START, text("Hel")], True, "provider_error", id="closed in the middle"),
        pytest.param([START, "data: {nonsense\n\n"], False, "provider_error", id="an event that is no JSON"),
        pytest.param([START, OVERLOADED], False, "provider_error", id="overloaded"),
        pytest.param([START, LIMITED], False, "rate_limited", id="rate limited"),
    ],
)
def test_a_stream_that_goes_wrong_is_a_failure_that_still_says_what_it_used(events: list[str], cut: bool, kind: str) -> None:
    outcome = play(streams(events, cut=cut), stream=True)
    assert outcome.bad.kind == kind
    assert isinstance(outcome.error, BrokenReply)
    assert outcome.error.reply.tokens_prompt == 15
