from __future__ import annotations

import email.utils
import time
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.providers.canned_server import Outcome, Respond, answers, breaks_off, exchange, hangs, hangs_up, streams, user

from flowgauge.model.exchange import Image, Message, ModelRequest, ToolCall, ToolSpec
from flowgauge.providers.wire import transport as wire
from flowgauge.providers.wire.http_failures import BrokenReply
from flowgauge.providers.wire.openai_chat import OpenAIChat

HELLO: dict[str, Any] = {
    "id": "x",
    "model": "gpt-4o-mini-2024-07-18",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop", "logprobs": None}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15, "prompt_tokens_details": {"cached_tokens": 8}},
    "system_fingerprint": None,
}
CLOSED = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}


def asked(**changes: Any) -> ModelRequest:
    return ModelRequest(**{"provider": "openai", "model": "gpt-4o-mini", "messages": user(), **changes})


def play(respond: Respond, path: str = "/v1", **changes: Any) -> Outcome:
    return exchange(OpenAIChat, asked(**changes), respond, path=path)


def said(message: dict[str, Any], finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {**HELLO, "choices": [{"message": message, "finish_reason": finish}], **more}


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
    body = {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return f"data: {msgspec.json.encode(body).decode()}\n\n"


def test_an_answer_has_its_text_its_model_and_all_its_tokens() -> None:
    outcome = play(answers(HELLO))
    reply = outcome.good
    assert (reply.text, reply.finish, reply.model) == ("Hello.", "stop", "gpt-4o-mini-2024-07-18")
    assert (reply.tokens_prompt, reply.tokens_completion, reply.tokens_cached, reply.cost_usd) == (12, 3, 8, None)
    assert outcome.seen[0].path == "/v1/chat/completions"


def test_what_is_set_goes_into_the_body_and_nothing_else() -> None:
    body = play(answers(HELLO), temperature=0.2, top_p=0.9, max_tokens=50, seed=7, extra={"user": "me", "seed": 8}).body
    assert body == {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": "Say hello."}],
        "temperature": 0.2,
        "top_p": 0.9,
        "max_tokens": 50,
        "seed": 8,
        "user": "me",
    }


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("gpt-4o", "max_tokens"),
        ("gpt-4.1", "max_tokens"),
        ("llama-3.3-70b", "max_tokens"),
        ("o3-mini", "max_completion_tokens"),
        ("gpt-5-pro", "max_completion_tokens"),
        ("openai/gpt-5.1", "max_completion_tokens"),
    ],
)
def test_reasoning_models_get_their_own_name_for_max_tokens(model: str, field: str) -> None:
    assert play(answers(HELLO), model=model, max_tokens=9).body[field] == 9


def test_a_conversation_with_tools_and_images_is_spelled_as_the_dialect_wants() -> None:
    messages = (
        Message(role="system", text="Be brief."),
        Message(role="user", text="What is this?", images=(Image(url="https://x.test/a.png"), Image(data="QUJD", media_type="image/jpeg"))),
        Message(role="assistant", tool_calls=(ToolCall(id="c1", name="look", arguments={"at": "é"}),)),
        Message(role="tool", text="a cat", tool_call_id="c1"),
    )
    tool = ToolSpec(name="look", description="Look.", parameters={"type": "object", "properties": {"at": {"type": "string"}}})
    body = play(answers(HELLO), messages=messages, tools=(tool,)).body
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"é"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
    ]
    assert body["tools"][0]["function"]["name"] == "look"


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        pytest.param(CLOSED, True, id="closed and all required"),
        pytest.param({**CLOSED, "required": []}, False, id="an optional property"),
        pytest.param({**CLOSED, "additionalProperties": True}, False, id="an open object"),
        pytest.param({"type": "array", "items": {"type": "object", "properties": {}}}, False, id="an open object inside"),
    ],
)
def test_a_schema_is_strict_only_where_it_can_be(schema: dict[str, Any], strict: bool) -> None:
    asked_for = play(answers(HELLO), schema=schema).body["response_format"]
    assert asked_for == {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": strict}}


def test_tool_calls_are_parsed() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": [2]}'}}]
    reply = play(answers(said({"content": None, "tool_calls": calls}, "tool_calls"))).good
    assert reply.tool_calls == (ToolCall(id="c1", name="add", arguments={"a": 1, "b": [2]}),)
    assert (reply.finish, reply.text) == ("tool_calls", "")


def test_tool_calls_of_servers_that_send_objects_and_say_stop_are_understood() -> None:
    reply = play(answers(said({"content": "", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}, "stop"))).good
    assert reply.tool_calls == (ToolCall(id="call_0", name="add", arguments={"a": 1}),)
    assert reply.finish == "tool_calls"


def test_tool_arguments_that_are_no_json_are_the_models_fault_and_are_still_paid_for() -> None:
    outcome = play(answers(said({"tool_calls": [{"function": {"name": "add", "arguments": '{"a": '}}]}, "length")))
    assert outcome.bad.kind == "invalid_output"
    assert "max_tokens" in outcome.bad.message
    assert isinstance(outcome.error, BrokenReply)
    assert outcome.error.reply.tokens_prompt == 12


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        pytest.param(said({"content": "cut"}, "length"), "cut", "length", id="cut at max_tokens"),
        pytest.param(said({"content": None, "refusal": "I won't."}), "I won't.", "content_filter", id="a refusal"),
        pytest.param(said({"content": "x"}, "content_filter"), "x", "content_filter", id="filtered"),
        pytest.param(said({"content": "x"}, "who knows"), "x", "other", id="an unknown reason"),
        pytest.param(said({"content": [{"type": "thinking"}, {"type": "text", "text": "x"}]}), "x", "stop", id="content in pieces"),
        pytest.param(said({"content": "x"}, usage=None, model=None), "x", "stop", id="no usage and no model"),
    ],
)
def test_the_shapes_that_servers_really_send(body: dict[str, Any], text: str, finish: str) -> None:
    reply = play(answers(body)).good
    assert (reply.text, reply.finish) == (text, finish)


def test_a_reported_cost_is_taken_over() -> None:
    assert play(answers({**HELLO, "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.0125}})).good.cost_usd == 0.0125


def test_deepseeks_cached_tokens_are_found() -> None:
    assert play(answers({**HELLO, "usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 5}})).good.tokens_cached == 5


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "provider_rejected"), (401, "provider_rejected"), (402, "provider_rejected"), (403, "provider_rejected"),
        (404, "provider_rejected"), (422, "provider_rejected"), (307, "provider_rejected"), (408, "timeout"),
        (429, "rate_limited"), (500, "provider_error"), (502, "provider_error"), (503, "provider_error"), (529, "provider_error"),
    ],
)  # fmt: skip
def test_each_status_is_a_kind_of_failure_that_names_it(status: int, kind: str) -> None:
    failure = play(answers({"error": {"message": "That went wrong.", "type": "x"}}, status=status)).bad
    assert failure.kind == kind
    assert f"openai answered {status}: That went wrong." in failure.message


def test_a_refused_key_names_its_variable_and_never_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "very-secret-key-of-mine"
    monkeypatch.setenv("MY_KEY", key)
    outcome = play(answers({"error": {"message": f"Bad key {key}."}}, status=401), api_key_env="MY_KEY")
    assert outcome.seen[0].headers["authorization"] == f"Bearer {key}"
    assert "Set MY_KEY to a valid key" in outcome.bad.message
    assert key not in msgspec.json.encode(outcome.bad).decode()
    assert key not in repr(outcome.error)


def test_a_server_on_loopback_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert play(answers(HELLO)).seen[0].headers["authorization"] == "Bearer no-key-needed"


def test_azure_has_its_own_header_and_keeps_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key")
    seen = play(answers(HELLO), path="/openai/deployments/d?api-version=2024-10-21", provider="azure").seen[0]
    assert seen.path == "/openai/deployments/d/chat/completions?api-version=2024-10-21"
    assert seen.headers["api-key"] == "azure-key"
    assert "authorization" not in seen.headers


@pytest.mark.parametrize(
    ("headers", "at_least", "at_most"),
    [
        pytest.param({"Retry-After": "7"}, 7, 7, id="in seconds"),
        pytest.param({"Retry-After": "1.5"}, 1.5, 1.5, id="in parts of a second"),
        pytest.param({"retry-after-ms": "250", "Retry-After": "9"}, 0.25, 0.25, id="in milliseconds, which are finer"),
        pytest.param({"Retry-After": email.utils.formatdate(time.time() + 3600, usegmt=True)}, 3000, 3600, id="as a date"),
        pytest.param({"Retry-After": email.utils.formatdate(time.time() - 3600, usegmt=True)}, 0, 0, id="as a date that is past"),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], at_least: float, at_most: float) -> None:
    failure = play(answers({"error": "slow down"}, status=429, headers=headers)).bad
    assert failure.kind == "rate_limited"
    assert failure.retry_after_s is not None
    assert at_least <= failure.retry_after_s <= at_most


@pytest.mark.parametrize("written", ["soon", "", "nan", "inf", "Wed, 99 Foo"])
def test_a_retry_after_that_says_nothing_is_none(written: str) -> None:
    assert play(answers({}, status=429, headers={"Retry-After": written})).bad.retry_after_s is None


def test_a_quota_that_is_used_up_is_not_worth_a_wait() -> None:
    failure = play(answers({"error": {"message": "No money.", "code": "insufficient_quota"}}, status=429)).bad
    assert failure.kind == "provider_rejected"
    assert "Top up" in failure.message


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param({"error": {"message": "upstream", "code": 502}}, "provider_error", id="with a status as its code"),
        pytest.param({"error": {"message": "upstream", "code": 429}}, "rate_limited", id="with 429 as its code"),
        pytest.param({"error": "no model"}, "provider_error", id="as a string"),
    ],
)
def test_an_error_in_a_success_is_a_failure(body: dict[str, Any], kind: str) -> None:
    assert play(answers(body)).bad.kind == kind


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"choices": [{"mess', id="truncated JSON"),
        pytest.param(b"<html>gateway</html>", id="HTML"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"[1, 2]", id="JSON of another shape"),
        pytest.param(b'{"choices": []}', id="no choices"),
        pytest.param(b'{"choices": [{"message": {"content": 5}}]}', id="a number for text"),
        pytest.param(b'{"choices": [{"message": {"content": "\xff"}}]}', id="no UTF-8"),
        pytest.param(b"x" * 100_000, id="a flood"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_failure_with_a_short_detail(body: bytes) -> None:
    failure = play(answers(body)).bad
    assert failure.kind == "provider_error"
    assert len(failure.detail) <= 500


def test_an_answer_that_breaks_off_is_the_providers_failure() -> None:
    assert play(breaks_off).bad.kind == "provider_error"


def test_a_connection_that_is_closed_without_a_word_is_a_connection_failure() -> None:
    assert play(hangs_up).bad.kind == "connection"


def test_an_answer_that_does_not_come_is_a_timeout() -> None:
    failure = play(hangs, timeout_s=0.05).bad
    assert failure.kind == "timeout"
    assert "0.05 s" in failure.message


def test_a_stream_that_stalls_is_a_timeout() -> None:
    async def stalls(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(chunk({"content": "Hel"}).encode())
        return await hangs(request)

    outcome = play(stalls, stream=True, timeout_s=0.2)
    assert outcome.bad.kind == "timeout"
    assert outcome.texts == ["Hel"]


def test_a_stream_gives_its_pieces_its_usage_and_the_time_of_its_first_token() -> None:
    usage = {"prompt_tokens": 4, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
    outcome = play(
        streams(
            [
                ": a comment\n\n",
                chunk({"role": "assistant", "content": ""}),
                chunk({"content": "Hel"}),
                chunk({"content": "lo."}),
                chunk({}, "stop"),
                f'data: {{"choices": [], "usage": {msgspec.json.encode(usage).decode()}}}\r\n\r\n',
                "data: [DONE]\n\n",
            ]
        ),
        stream=True,
    )
    reply = outcome.good
    assert outcome.texts == ["Hel", "lo."]
    assert (reply.text, reply.finish, reply.tokens_prompt, reply.tokens_completion, reply.tokens_cached) == ("Hello.", "stop", 4, 2, 1)
    assert reply.first_token_ms is not None
    assert reply.first_token_ms > 0
    assert outcome.body["stream_options"] == {"include_usage": True}


def test_streamed_tool_calls_are_put_together() -> None:
    def piece(index: int, arguments: str, **more: Any) -> str:
        named = {"name": more.pop("name")} if "name" in more else {}
        return chunk({"tool_calls": [{"index": index, "function": {**named, "arguments": arguments}, **more}]})

    events = [
        piece(0, "", id="a", name="add"),
        piece(0, '{"x"'),
        piece(1, '{"y": 2}', id="b", name="sub"),
        piece(0, ": 1}"),
        chunk({}, "tool_calls"),
        "data: [DONE]\n\n",
    ]
    reply = play(streams(events), stream=True).good
    assert reply.tool_calls == (ToolCall(id="a", name="add", arguments={"x": 1}), ToolCall(id="b", name="sub", arguments={"y": 2}))
    assert reply.finish == "tool_calls"
    assert reply.first_token_ms is not None


@pytest.mark.parametrize(
    ("events", "cut", "kind"),
    [
        pytest.param([chunk({"content": "Hel"})], False, "provider_error", id="ended without a finish reason"),
        pytest.param([chunk({"content": "Hel"})], True, "provider_error", id="closed in the middle"),
        pytest.param([chunk({"content": "Hel"}), "data: {not json\n\n"], False, "provider_error", id="an event that is no JSON"),
        pytest.param(['data: {"error": {"message": "busy", "code": 429}}\n\n'], False, "rate_limited", id="an error in the stream"),
    ],
)
def test_a_stream_that_goes_wrong_is_a_failure_and_never_half_an_answer(events: list[str], cut: bool, kind: str) -> None:
    assert play(streams(events, cut=cut), stream=True).bad.kind == kind


def test_a_refused_stream_is_the_same_failure_as_a_refused_answer() -> None:
    failure = play(answers({"error": {"message": "slow"}}, status=429, headers={"Retry-After": "3"}), stream=True).bad
    assert (failure.kind, failure.retry_after_s) == ("rate_limited", 3)


def test_events_come_whole_however_the_bytes_are_cut() -> None:
    raw = b"event: x\ndata: one\n\n: note\n\ndata:two\r\ndata: lines\r\n\r\ndata: [DONE]\n\n"
    for size in range(1, len(raw) + 1):
        parser = wire.EventParser()
        events = [event for start in range(0, len(raw), size) for event in parser.feed(raw[start : start + size])]
        assert events == [b"one", b"two\nlines", b"[DONE]"]
