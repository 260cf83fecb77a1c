"""The official SDKs, with their retries off, take the mock server for their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import aiohttp
import anthropic
import msgspec
import openai
import pytest

from flowgauge.errors import UsageError
from flowgauge.providers.mock.server import running_mock_server

Outcome = TypeVar("Outcome")
ASK: list[Any] = [{"role": "user", "content": "billing, technical or general? I was charged twice"}]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
WEATHER: list[Any] = [{"role": "user", "content": "What is the weather in Lisbon?"}]


def with_server(use: Callable[[str], Awaitable[Outcome]]) -> Outcome:
    async def main() -> Outcome:
        async with running_mock_server() as base_url:
            return await use(base_url)

    return asyncio.run(main())


def with_openai(use: Callable[[openai.AsyncOpenAI], Awaitable[Outcome]]) -> Outcome:
    async def main(base_url: str) -> Outcome:
        async with openai.AsyncOpenAI(base_url=f"{base_url}/v1", api_key="none", max_retries=0, timeout=20) as client:
            return await use(client)

    return with_server(main)


def with_anthropic(use: Callable[[anthropic.AsyncAnthropic], Awaitable[Outcome]]) -> Outcome:
    async def main(base_url: str) -> Outcome:
        async with anthropic.AsyncAnthropic(base_url=base_url, api_key="none", max_retries=0, timeout=20) as client:
            return await use(client)

    return with_server(main)


def test_openai_sdk_reads_a_plain_answer_and_the_asked_model_is_echoed() -> None:
    async def use(client: openai.AsyncOpenAI) -> Any:
        return await client.chat.completions.create(model="gpt-4o-mini", messages=ASK)

    answer = with_openai(use)
    assert answer.model == "gpt-4o-mini"
    assert answer.choices[0].message.content == "billing"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 2


def test_openai_sdk_reads_a_stream_that_says_the_same_as_the_plain_answer() -> None:
    async def use(client: openai.AsyncOpenAI) -> tuple[str, Any, str | None]:
        asked: list[Any] = [{"role": "user", "content": "Tell me something about sailing on stormy seas"}]
        plain = await client.chat.completions.create(model="fast", messages=asked)
        text, usage, finish = "", None, None
        stream = await client.chat.completions.create(model="default", messages=asked, stream=True, stream_options={"include_usage": True})
        async for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
        again = await client.chat.completions.create(model="default", messages=asked)
        assert again.choices[0].message.content == text
        assert plain.choices[0].message.content
        return text, usage, finish

    text, usage, finish = with_openai(use)
    assert text.endswith(".")
    assert usage.completion_tokens > 0
    assert finish == "stop"


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_openai_sdk_calls_a_tool_and_gets_an_answer_in_words(stream: bool) -> None:
    tools: Any = [{"type": "function", "function": {"name": "get_weather", "description": "Weather of a city", "parameters": SCHEMA}}]

    async def use(client: openai.AsyncOpenAI) -> str:
        if stream:
            async with client.chat.completions.stream(model="fast", messages=WEATHER, tools=tools) as events:
                first: Any = await events.get_final_completion()
        else:
            first = await client.chat.completions.create(model="fast", messages=WEATHER, tools=tools)
        assert first.choices[0].finish_reason == "tool_calls"
        call: Any = (first.choices[0].message.tool_calls or [])[0]
        assert call.function.name == "get_weather"
        assert msgspec.json.decode(call.function.arguments)["city"] == "Lisbon"
        told: list[Any] = [
            *WEATHER,
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": call.id, "type": "function", "function": {"name": "get_weather", "arguments": call.function.arguments}}
                ],
            },
            {"role": "tool", "tool_call_id": call.id, "content": "21 degrees, sunny"},
        ]
        second = await client.chat.completions.create(model="fast", messages=told, tools=tools)
        return second.choices[0].message.content or ""

    assert "21 degrees, sunny" in with_openai(use)


def test_openai_sdk_gets_json_of_its_schema() -> None:
    async def use(client: openai.AsyncOpenAI) -> Any:
        return await client.chat.completions.create(
            model="fast",
            messages=WEATHER,
            response_format={"type": "json_schema", "json_schema": {"name": "weather", "schema": SCHEMA, "strict": True}},
        )

    value = msgspec.json.decode(with_openai(use).choices[0].message.content)
    assert value["city"] == "Lisbon"
    assert 1 <= value["degrees"] <= 9


def test_openai_sdk_lists_the_profiles_as_models() -> None:
    async def use(client: openai.AsyncOpenAI) -> list[str]:
        return [model.id async for model in await client.models.list()]

    assert {"default", "mock/slow", "expensive"} <= set(with_openai(use))


def test_openai_sdk_sees_its_own_errors_and_the_third_try_succeeds() -> None:
    async def use(client: openai.AsyncOpenAI) -> Any:
        for _ in range(2):
            with pytest.raises(openai.RateLimitError) as limited:
                await client.chat.completions.create(model="ratelimited", messages=ASK)
            assert float(limited.value.response.headers["retry-after"]) == 0.2
            assert limited.value.code == "rate_limit_exceeded"
        with pytest.raises(openai.InternalServerError):
            await client.chat.completions.create(model="mock/broken", messages=ASK)
        with pytest.raises(openai.BadRequestError, match="one choice"):
            await client.chat.completions.create(model="fast", messages=ASK, n=2)
        return await client.chat.completions.create(model="ratelimited", messages=ASK)

    assert with_openai(use).choices[0].message.content == "billing"


def test_openai_sdk_meets_each_fault_on_demand() -> None:
    async def use(client: openai.AsyncOpenAI) -> None:
        async def ask(kind: str, **fault: Any) -> Any:
            return await client.chat.completions.create(
                model="fast", messages=ASK, extra_body={"mock": {"faults": [{"kind": kind, **fault}]}}, timeout=0.3
            )

        with pytest.raises(openai.APITimeoutError):
            await ask("timeout", hang_s=30)
        with pytest.raises(openai.APIConnectionError):
            await ask("disconnect")
        with pytest.raises(ValueError, match=r"delimiter|Unterminated|Expecting"):
            await ask("malformed")
        assert (await ask("truncated")).choices[0].finish_reason == "length"
        text = (await ask("invalid_json")).choices[0].message.content
        with pytest.raises(msgspec.DecodeError):
            msgspec.json.decode(text)

    with_openai(use)


def test_anthropic_sdk_reads_a_plain_answer_and_the_asked_model_is_echoed() -> None:
    async def use(client: anthropic.AsyncAnthropic) -> Any:
        return await client.messages.create(model="claude-sonnet-4-6", max_tokens=100, system="Answer with one word.", messages=ASK)

    answer = with_anthropic(use)
    assert answer.model == "claude-sonnet-4-6"
    assert answer.content[0].text == "billing"
    assert answer.stop_reason == "end_turn"
    assert answer.usage.input_tokens > 5


def test_anthropic_sdk_reads_a_stream() -> None:
    async def use(client: anthropic.AsyncAnthropic) -> tuple[str, Any]:
        async with client.messages.stream(
            model="default", max_tokens=100, messages=[{"role": "user", "content": "Tell me about stormy seas"}]
        ) as stream:
            return "".join([text async for text in stream.text_stream]), await stream.get_final_message()

    text, final = with_anthropic(use)
    assert text == final.content[0].text
    assert text.endswith(".")
    assert final.stop_reason == "end_turn"
    assert final.usage.output_tokens > 1


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_anthropic_sdk_calls_a_tool_and_gets_an_answer_in_words(stream: bool) -> None:
    tools: Any = [{"name": "get_weather", "description": "Weather of a city", "input_schema": SCHEMA}]

    async def use(client: anthropic.AsyncAnthropic) -> str:
        if stream:
            async with client.messages.stream(model="fast", max_tokens=100, messages=WEATHER, tools=tools) as events:
                first: Any = await events.get_final_message()
        else:
            first = await client.messages.create(model="fast", max_tokens=100, messages=WEATHER, tools=tools)
        assert first.stop_reason == "tool_use"
        call = first.content[-1]
        assert call.input["city"] == "Lisbon"
        told: list[Any] = [
            *WEATHER,
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "21 degrees, sunny"}]},
        ]
        second: Any = await client.messages.create(model="fast", max_tokens=100, messages=told, tools=tools)
        return str(second.content[0].text)

    assert "21 degrees, sunny" in with_anthropic(use)


def test_anthropic_sdk_gets_json_of_its_schema_and_a_cut_answer_says_max_tokens() -> None:
    async def use(client: anthropic.AsyncAnthropic) -> tuple[Any, Any]:
        wanted: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}
        whole = await client.messages.create(model="fast", max_tokens=100, messages=WEATHER, output_config=wanted)
        return whole, await client.messages.create(model="fast", max_tokens=2, messages=WEATHER)

    whole, cut = with_anthropic(use)
    assert msgspec.json.decode(whole.content[0].text)["city"] == "Lisbon"
    assert cut.stop_reason == "max_tokens"
    assert cut.usage.output_tokens == 2


def test_anthropic_sdk_sees_its_own_errors_and_lists_models() -> None:
    async def use(client: anthropic.AsyncAnthropic) -> list[str]:
        with pytest.raises(anthropic.RateLimitError) as limited:
            await client.messages.create(model="ratelimited", max_tokens=10, messages=ASK)
        assert limited.value.response.headers["retry-after"] == "0.2"
        with pytest.raises(anthropic.InternalServerError):
            await client.messages.create(model="broken", max_tokens=10, messages=ASK)
        return [model.id async for model in client.models.list()]

    assert "flaky" in with_anthropic(use)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"{", "truncated", id="not JSON"),
        pytest.param(b'{"model":"fast","max_tokens":5}', "messages", id="no messages"),
        pytest.param(b'{"model":"fast","messages":[],"max_tokens":5}', "message", id="empty messages"),
        pytest.param(b'{"model":"fast","max_tokens":5,"messages":[{"role":"alien","content":"x"}]}', "role", id="unknown role"),
        pytest.param(
            b'{"model":"fast","max_tokens":5,"messages":[{"role":"user","content":"x"}],"mock":{"x":1}}', "extra.mock", id="bad mock"
        ),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_body_that_cannot_be_read_is_a_400_that_says_why(path: str, body: bytes, said: str) -> None:
    async def use(base_url: str) -> None:
        async with aiohttp.ClientSession() as session, session.post(base_url + path, data=body) as response:
            assert response.status == 400
            assert said in (await response.json())["error"]["message"]

    with_server(use)


def test_a_host_that_is_not_loopback_is_refused_unless_allowed() -> None:
    async def main() -> None:
        async with running_mock_server(host="0.0.0.0"):
            pass

    with pytest.raises(UsageError, match="loopback"):
        asyncio.run(main())


def test_a_port_that_is_taken_is_said_so() -> None:
    async def use(base_url: str) -> None:
        port = int(base_url.rpartition(":")[2])
        with pytest.raises(UsageError, match="cannot listen"):
            async with running_mock_server(port):
                pass

    with_server(use)


def test_a_hanging_request_does_not_hold_up_the_end_of_the_server() -> None:
    async def main() -> None:
        async with running_mock_server() as base_url, aiohttp.ClientSession() as session:
            body = {"model": "fast", "messages": ASK, "mock": {"faults": [{"kind": "timeout", "hang_s": 600}]}}
            with pytest.raises(TimeoutError):
                await session.post(f"{base_url}/v1/chat/completions", json=body, timeout=aiohttp.ClientTimeout(total=0.1))

    asyncio.run(asyncio.wait_for(main(), 60))
