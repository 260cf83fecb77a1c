from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.providers.canned_server import Respond, Seen, answers, hangs, serving, streams, user

from flowgauge.errors import Failed
from flowgauge.model.exchange import Message, ModelRequest, ModelResponse
from flowgauge.model.play import Failure
from flowgauge.providers import gateway
from flowgauge.providers.gateway import LiveGateway, known_providers
from flowgauge.providers.limits.limiter import Limit
from flowgauge.providers.limits.settings import Limits
from flowgauge.providers.mock.server import running_mock_server
from flowgauge.providers.provider import Reply
from flowgauge.providers.wire import endpoints

CHAT = {
    "model": "gpt-4o-mini",
    "choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 1000},
}


class Scripted:
    """A provider that does what it is told, one item a request."""

    def __init__(self, *script: Reply | Failure, hold: asyncio.Event | None = None) -> None:
        self.script = list(script)
        self.hold = hold
        self.running = 0
        self.most_at_once = 0
        self.closed = False

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> Reply:
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            await (self.hold.wait() if self.hold else asyncio.sleep(0))
            outcome = self.script.pop(0) if self.script else Reply(text="again")
            if isinstance(outcome, Failure):
                raise Failed(outcome)
            return outcome
        finally:
            self.running -= 1

    async def close(self) -> None:
        self.closed = True


def asked(provider: str = "openai", model: str = "gpt-4o-mini", **changes: Any) -> ModelRequest:
    return ModelRequest(**{"provider": provider, "model": model, "messages": user(), **changes})


def one(request: ModelRequest, **settings: Any) -> ModelResponse:
    async def play() -> ModelResponse:
        async with LiveGateway(limits=Limits(), **settings) as live:
            return await live.complete(request)

    return asyncio.run(play())


def against(respond: Respond, request: Callable[[str], ModelRequest], seen: list[Seen] | None = None) -> ModelResponse:
    async def play() -> ModelResponse:
        async with serving(respond, seen) as address, LiveGateway(limits=Limits()) as live:
            return await live.complete(request(address))

    return asyncio.run(play())


def through_mock_server(scenario: Callable[[LiveGateway, str], Coroutine[Any, Any, Any]]) -> Any:
    async def play() -> Any:
        async with running_mock_server() as address, LiveGateway(limits=Limits()) as live:
            return await scenario(live, address)

    return asyncio.run(play())


def test_an_answer_is_measured_and_priced_by_the_table() -> None:
    response = against(answers(CHAT), lambda address: asked(base_url=f"{address}/v1"))
    assert response.text == "Hi."
    assert (response.usage.tokens_prompt, response.usage.tokens_completion) == (1000, 1000)
    assert response.usage.cost_usd == pytest.approx(0.00015 + 0.0006)
    assert response.usage.cost_source == "computed"
    assert response.duration_ms > 0
    assert response.queue_ms > 0, "the first call waits for the imports, and that is not the wire's time"


def test_what_the_provider_says_it_charged_wins() -> None:
    body = {**CHAT, "usage": {"prompt_tokens": 10, "completion_tokens": 10, "cost": 0.5}}
    usage = against(answers(body), lambda address: asked("openrouter", "any/model", base_url=f"{address}/v1")).usage
    assert (usage.cost_usd, usage.cost_source) == (0.5, "provider")


def test_a_model_without_a_price_is_unpriced_and_not_free() -> None:
    usage = against(answers(CHAT), lambda address: asked("elsewhere", "nobodys-model", base_url=f"{address}/v1")).usage
    assert (usage.cost_usd, usage.cost_source) == (None, "unpriced")


def test_time_to_the_first_token_is_within_the_duration() -> None:
    events = ['data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n', "data: [DONE]\n\n"]
    response = against(streams(events), lambda address: asked(base_url=f"{address}/v1", stream=True))
    assert response.first_token_ms is not None
    assert 0 < response.first_token_ms <= response.duration_ms


def test_an_unknown_provider_with_an_address_speaks_openai_with_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVER_API_KEY", "the-key-of-my-server")
    seen: list[Seen] = []
    against(answers(CHAT), lambda address: asked("my-server", "m", base_url=f"{address}/api"), seen)
    assert seen[0].path == "/api/chat/completions"
    assert seen[0].headers["authorization"] == "Bearer the-key-of-my-server"


def failure_of(request: ModelRequest, **settings: Any) -> Failure:
    with pytest.raises(Failed) as caught:
        one(request, **settings)
    return caught.value.failure


def test_an_unknown_provider_without_an_address_is_refused_with_the_names_that_are_known() -> None:
    assert "Did you mean 'openai'?" in failure_of(asked("opnai")).message
    failure = failure_of(asked("zzz"))
    assert failure.kind == "provider_rejected"
    for name in ("openai", "anthropic", "mock", "google", "base_url"):
        assert name in failure.message


@pytest.mark.parametrize(
    ("provider", "variable"), [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("groq", "GROQ_API_KEY")]
)
def test_a_missing_key_is_refused_with_the_variable_to_set(provider: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable, raising=False)
    failure = failure_of(asked(provider))
    assert failure.kind == "provider_rejected"
    assert f"Set the environment variable {variable}" in failure.message


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-one\r\nX-Evil: secret-two")
    failure = failure_of(asked(base_url="http://127.0.0.1:9/v1"))
    assert failure.kind == "provider_rejected"
    assert "OPENAI_API_KEY" in failure.message
    assert "secret" not in failure.message


def test_azure_without_an_address_says_what_the_address_looks_like() -> None:
    assert "openai.azure.com" in failure_of(asked("azure")).message


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://x/v1", "http://", "http://[::1", "http://x:99999/"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    failure = failure_of(asked(base_url=address))
    assert failure.kind == "provider_rejected"
    assert "base_url" in failure.message


def test_nobody_listening_is_a_connection_failure() -> None:
    failure = failure_of(asked(base_url="http://127.0.0.1:9/v1"))
    assert failure.kind == "connection"
    assert "base_url" in failure.message


def test_every_provider_of_the_table_has_an_address_or_a_hint_and_a_key_variable() -> None:
    for name, row in endpoints.OPENAI_COMPATIBLE.items():
        assert row.base_url or row.hint, name
        assert row.key_env, name
        assert row.needs_key or endpoints.is_loopback(row.base_url), name
        assert name in known_providers()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://localhost:1/v1", True), ("http://127.0.0.2", True), ("http://[::1]:80/", True), ("http://x.localhost/", True),
        ("https://api.openai.com/v1", False), ("http://localhost.evil.test", False), ("http://10.0.0.1", False), ("", False),
    ],
)  # fmt: skip
def test_loopback_is_told_from_elsewhere(address: str, expected: bool) -> None:
    assert endpoints.is_loopback(address) is expected


def test_the_limiter_holds_requests_back_and_the_wait_is_not_in_the_duration() -> None:
    async def play() -> None:
        hold = asyncio.Event()
        provider = Scripted(hold=hold)
        live = LiveGateway(providers={"p": provider}, limits=Limits({"p": Limit(concurrency=2)}))
        live.estimate_usd(asked("p"))  # what is loaded once is loaded now
        tasks = [asyncio.create_task(live.complete(asked("p"))) for _ in range(6)]
        await asyncio.sleep(0.1)
        assert provider.running == 2
        hold.set()
        responses = await asyncio.gather(*tasks)
        assert provider.most_at_once == 2
        assert min(response.queue_ms for response in responses[2:]) > max(response.queue_ms for response in responses[:2])
        assert responses[-1].duration_ms < responses[-1].queue_ms
        await live.close()
        assert provider.closed

    asyncio.run(play())


def test_after_a_429_nobody_of_that_provider_starts_before_its_time_but_others_do() -> None:
    async def play() -> None:
        limited = Scripted(Failure(kind="rate_limited", message="slow", retry_after_s=0.05))
        limits = Limits()
        live = LiveGateway(providers={"p": limited, "q": Scripted()}, limits=limits)
        with pytest.raises(Failed):
            await live.complete(asked("p"))
        lease = await limits.of("q").acquire()
        assert lease.queue_ms == 0
        lease.release()
        response = await live.complete(asked("p"))
        assert response.queue_ms >= 45
        assert limits.of("p").in_flight == 0

    asyncio.run(play())


def test_a_failure_says_how_long_it_was_queued() -> None:
    async def play() -> None:
        provider = Scripted(
            Failure(kind="rate_limited", message="slow", retry_after_s=0.05), Failure(kind="provider_error", message="broken")
        )
        live = LiveGateway(providers={"p": provider}, limits=Limits())
        with pytest.raises(Failed):
            await live.complete(asked("p"))
        with pytest.raises(Failed) as caught:
            await live.complete(asked("p"))
        assert caught.value.queue_ms >= 45

    asyncio.run(play())


def test_a_failure_after_the_model_has_spoken_says_what_it_cost() -> None:
    async def play() -> None:
        call = {"function": {"name": "f", "arguments": "{"}}
        body = {**CHAT, "choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
        async with serving(answers(body)) as address, LiveGateway(limits=Limits()) as live:
            with pytest.raises(Failed) as caught:
                await live.complete(asked(base_url=f"{address}/v1"))
        assert caught.value.usage is not None
        assert caught.value.usage.cost_usd == pytest.approx(0.00075)

    asyncio.run(play())


def test_a_cancelled_request_gives_its_place_back() -> None:
    async def play() -> None:
        limits = Limits({"openai": Limit(concurrency=1)})
        async with serving(hangs) as address, LiveGateway(limits=limits) as live:
            task = asyncio.create_task(live.complete(asked(base_url=f"{address}/v1")))
            await asyncio.sleep(0.05)
            assert limits.of("openai").in_flight == 1
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert limits.of("openai").in_flight == 0

    asyncio.run(play())


def test_tokens_a_minute_are_weighed_by_the_prompt_and_max_tokens() -> None:
    async def play() -> None:
        limits = Limits({"p": Limit(tpm=6000)})  # 600 at once
        live = LiveGateway(providers={"p": Scripted(Reply(tokens_prompt=600))}, limits=limits)
        await live.complete(asked("p", messages=(Message(role="user", text="x" * 400),), max_tokens=500))
        task = asyncio.create_task(live.complete(asked("p", max_tokens=300)))
        await asyncio.sleep(0.02)
        assert not task.done()
        task.cancel()

    asyncio.run(play())


def test_an_estimate_counts_the_prompt_and_max_tokens_and_knows_what_it_does_not_know() -> None:
    live = LiveGateway()
    prompt = (Message(role="user", text="x" * 4000),)
    assert live.estimate_usd(asked(messages=prompt)) == pytest.approx(0.00015)
    assert live.estimate_usd(asked(messages=prompt, max_tokens=1000)) == pytest.approx(0.00075)
    assert live.estimate_usd(asked("library:openai", messages=prompt)) == pytest.approx(0.00015)
    assert live.estimate_usd(asked("elsewhere", "nobodys-model", messages=prompt)) is None


def test_the_price_table_is_named() -> None:
    assert "genai-prices" in LiveGateway().price_table


def test_the_mock_answers_in_process_without_http() -> None:
    response = one(asked("mock", "fast"))
    assert response.text
    assert response.usage.cost_source == "computed"


def test_the_mock_server_answers_through_both_dialects_alike() -> None:
    async def scenario(live: LiveGateway, address: str) -> None:
        for streamed in (False, True):
            openai = await live.complete(asked(model="gpt-4o-mini", base_url=f"{address}/v1", stream=streamed, seed=1))
            claude = await live.complete(asked("anthropic", "claude-haiku", base_url=address, stream=streamed))
            assert openai.text
            assert claude.text
            for response in (openai, claude):
                assert response.usage.tokens_prompt > 0
                assert response.usage.tokens_completion > 0
                assert response.usage.cost_source == "computed"
                assert (response.first_token_ms is not None) is streamed

    through_mock_server(scenario)


def test_the_mock_by_address_is_the_mock_server() -> None:
    async def scenario(live: LiveGateway, address: str) -> None:
        response = await live.complete(asked("mock", "fast", base_url=f"{address}/v1"))
        assert response.text == (await live.complete(asked("mock", "fast"))).text

    through_mock_server(scenario)


def test_the_mock_servers_faults_are_our_failures() -> None:
    async def scenario(live: LiveGateway, address: str) -> set[str]:
        kinds: set[str] = set()
        for number in range(12):
            for provider, base in (("openai", f"{address}/v1"), ("anthropic", address)):
                try:
                    message = (Message(role="user", text=f"Question {number}"),)
                    await live.complete(asked(provider, "broken", base_url=base, messages=message, timeout_s=2))
                except Failed as error:
                    kinds.add(error.failure.kind)
        return kinds

    kinds = through_mock_server(scenario)
    assert kinds
    assert kinds <= {"rate_limited", "provider_error", "timeout", "connection", "invalid_output"}


def test_a_gateway_that_was_closed_opens_again_in_another_loop() -> None:
    live = LiveGateway(limits=Limits())

    async def play() -> str:
        async with serving(answers(CHAT)) as address, live:
            return (await live.complete(asked(base_url=f"{address}/v1"))).text

    assert asyncio.run(play()) == asyncio.run(play()) == "Hi."


def test_all_who_have_a_dialect_are_in_one_table() -> None:
    assert {"mock", "anthropic", "openai", "azure", "ollama", "vllm", "groq", "openrouter"} <= gateway.PROVIDERS.keys()
