from __future__ import annotations

import asyncio
import importlib.util
from typing import Any

import msgspec
import pytest
from tests.providers.canned_server import Outcome, Respond, answers, exchange, hangs, hangs_up, serving, streams, user

from flowgauge.errors import Failed, MissingExtra
from flowgauge.model.exchange import Image, Message, ModelRequest, ModelResponse, ToolCall, ToolSpec
from flowgauge.providers.gateway import LiveGateway
from flowgauge.providers.library.provider import Library, knows
from flowgauge.providers.limits.settings import Limits
from flowgauge.providers.mock.server import running_mock_server

pytest.importorskip("pydantic_ai")

CHAT: dict[str, Any] = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-mini",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15, "prompt_tokens_details": {"cached_tokens": 8}},
}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}


def play(respond: Respond, path: str = "/v1", **changes: Any) -> Outcome:
    request = ModelRequest(**{"provider": "library:openai", "model": "gpt-4o-mini", "messages": user(), **changes})
    return exchange(lambda _: Library(), request, respond, path=path)


def test_openai_through_the_library_gives_the_same_reply_as_the_dialect() -> None:
    reply = play(answers(CHAT)).good
    assert (reply.text, reply.finish, reply.model) == ("Hi.", "stop", "gpt-4o-mini")
    assert (reply.tokens_prompt, reply.tokens_completion, reply.tokens_cached) == (12, 3, 8)


def test_what_is_set_reaches_the_provider() -> None:
    outcome = play(answers(CHAT), temperature=0.5, top_p=0.9, max_tokens=9, seed=4, extra={"user": "me"})
    body = outcome.body
    assert (body["temperature"], body["top_p"], body["seed"], body["user"]) == (0.5, 0.9, 4, "me")
    assert body.get("max_completion_tokens", body.get("max_tokens")) == 9


def test_a_conversation_with_tools_and_images_is_carried_over() -> None:
    calls = [{"id": "d", "type": "function", "function": {"name": "look", "arguments": '{"at": 2}'}}]
    body = {
        **CHAT,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}],
    }
    messages = (
        Message(role="system", text="Be brief."),
        Message(role="user", text="See.", images=(Image(data="QUJD"),)),
        Message(role="assistant", tool_calls=(ToolCall(id="c", name="look", arguments={"at": 1}),)),
        Message(role="tool", text="a cat", tool_call_id="c"),
    )
    outcome = play(answers(body), messages=messages, tools=(ToolSpec(name="look", description="Look."),))
    roles = [message["role"] for message in outcome.body["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert outcome.body["messages"][1]["content"][1]["image_url"]["url"] == "data:image/png;base64,QUJD"
    assert outcome.body["messages"][3]["content"] == "a cat"
    assert outcome.body["tools"][0]["function"]["name"] == "look"
    assert outcome.good.tool_calls == (ToolCall(id="d", name="look", arguments={"at": 2}),)
    assert outcome.good.finish == "tool_calls"


def test_a_schema_is_asked_for_natively_where_the_model_can() -> None:
    asked = play(answers(CHAT), schema=CITY).body["response_format"]
    assert asked["type"] == "json_schema"
    assert asked["json_schema"]["schema"]["properties"] == CITY["properties"]


def test_a_stream_gives_its_pieces_and_the_time_of_its_first_token() -> None:
    def chunk(delta: dict[str, str] | None, finish: str | None = None, **more: Any) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if delta is not None else []
        body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}
        return f"data: {msgspec.json.encode(body).decode()}\n\n"

    usage = chunk(None, usage={"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6})
    events = [chunk({"role": "assistant", "content": "Hel"}), chunk({"content": "lo."}), chunk({}, "stop"), usage, "data: [DONE]\n\n"]
    outcome = play(streams(events), stream=True)
    assert "".join(outcome.texts) == outcome.good.text == "Hello."
    assert (outcome.good.tokens_prompt, outcome.good.tokens_completion) == (4, 2)
    assert outcome.good.first_token_ms is not None


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "provider_rejected"), (401, "provider_rejected"), (404, "provider_rejected"), (429, "rate_limited"), (500, "provider_error")],
)
def test_the_librarys_errors_are_our_kinds_and_nothing_is_tried_twice(status: int, kind: str) -> None:
    outcome = play(answers({"error": {"message": "That went wrong."}}, status=status, headers={"Retry-After": "2"}))
    assert (outcome.bad.kind, outcome.bad.retry_after_s) == (kind, 2)
    assert f"answered {status}: That went wrong." in outcome.bad.message
    assert len(outcome.seen) == 1


def test_no_answer_no_connection_and_nonsense_are_told_apart() -> None:
    assert play(hangs, timeout_s=0.2).bad.kind == "timeout"
    assert play(hangs_up).bad.kind in ("connection", "provider_error")
    assert play(answers(b"nonsense")).bad.kind == "provider_error"


def test_the_key_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "very-secret-key-of-mine")
    outcome = play(answers({"error": {"message": "Bad key very-secret-key-of-mine."}}, status=401), api_key_env="MY_KEY")
    assert outcome.seen[0].headers["authorization"] == "Bearer very-secret-key-of-mine"
    assert "Set MY_KEY" in outcome.bad.message
    assert "very-secret" not in outcome.bad.message + outcome.bad.detail


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    request = ModelRequest(provider="library:openai", model="m", messages=user())
    with pytest.raises(Failed, match="OPENAI_API_KEY"):
        asyncio.run(Library().complete(request))


@pytest.mark.parametrize("provider", ["google", "gemini", "mistral", "cohere", "bedrock", "groq"])
def test_the_library_knows_providers_that_have_no_dialect_here(provider: str) -> None:
    assert knows(provider)


def test_the_library_does_not_know_what_nobody_knows() -> None:
    assert not knows("opnai")


def test_a_provider_whose_package_or_key_is_missing_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    async def scenario() -> None:
        async with LiveGateway(limits=Limits()) as live:
            await live.complete(ModelRequest(provider="google", model="gemini-2.5-flash", messages=user()))

    with pytest.raises(Failed, match=r"GOOGLE_API_KEY") as caught:
        asyncio.run(scenario())
    assert caught.value.failure.kind == "provider_rejected"


def test_google_speaks_through_the_library_in_its_own_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_GOOGLE_KEY", "google-key")
    body = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Grüezi."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7},
        "modelVersion": "gemini-2.5-flash",
    }
    paths: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # By hand: the library sends User-Agent twice, which aiohttp's server refuses.
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        paths.append(head.split()[1])
        content = msgspec.json.encode(body)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
        await writer.drain()
        writer.close()

    async def scenario() -> ModelResponse:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        request = ModelRequest(
            provider="library:google", model="gemini-2.5-flash", messages=user(), base_url=address, api_key_env="MY_GOOGLE_KEY"
        )
        async with server, LiveGateway(limits=Limits()) as live:
            return await live.complete(request)

    response = asyncio.run(scenario())
    assert (response.text, response.usage.tokens_prompt, response.usage.tokens_completion) == ("Grüezi.", 5, 2)
    assert response.usage.cost_source == "computed"
    assert "gemini-2.5-flash:generateContent" in paths[0]


def test_without_the_library_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"flowgauge\[llm\]"):
        asyncio.run(Library().complete(ModelRequest(provider="google", model="m", messages=user())))
    assert not knows("google")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("provider", "model", "path"), [("openai", "gpt-4o-mini", "/v1"), ("anthropic", "claude-sonnet-4-6", "")])
def test_the_mock_server_answers_through_the_library(provider: str, model: str, path: str, streamed: bool) -> None:
    async def scenario() -> ModelResponse:
        async with running_mock_server() as address, LiveGateway(limits=Limits()) as live:
            request = ModelRequest(
                provider=f"library:{provider}", model=model, base_url=address + path, messages=user(), stream=streamed, seed=1
            )
            return await live.complete(request)

    response = asyncio.run(scenario())
    assert response.text
    assert response.finish == "stop"
    assert response.usage.tokens_prompt > 0
    assert response.usage.tokens_completion > 0
    assert response.usage.cost_source == "computed"
    assert (response.first_token_ms is not None) is streamed


def test_loading_the_library_is_not_in_the_first_answers_time() -> None:
    async def scenario() -> None:
        loaded: list[bool] = []

        class Watched(Library):
            async def complete(self, request: ModelRequest, **rest: Any) -> Any:
                loaded.append(bool(self._providers))
                return await super().complete(request, **rest)

        async with serving(answers(CHAT)) as address, LiveGateway(providers={"library:openai": Watched()}, limits=Limits()) as live:
            await live.complete(ModelRequest(provider="library:openai", model="m", messages=user(), base_url=f"{address}/v1"))
        assert loaded == [True]

    asyncio.run(scenario())
