"""The gateway: picks the provider, waits for its limiter, measures the exchange and prices it.

In: a request in no dialect. Out: a measured, priced answer, or errors.Failed (with what
was used and how long was queued, where known). It never retries. A provider that nobody
knows is refused with the names that are known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol, Self, runtime_checkable

from flowgauge.errors import Failed
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.exchange import ModelRequest, ModelResponse
from flowgauge.model.play import Failure, Usage
from flowgauge.providers.limits import settings as limit_settings
from flowgauge.providers.provider import Provider, Reply
from flowgauge.providers.wire.endpoints import OPENAI_COMPATIBLE
from flowgauge.providers.wire.http_failures import BrokenReply

if TYPE_CHECKING:
    from flowgauge.providers.limits.settings import Limits
    from flowgauge.providers.prices.table import PriceTable
    from flowgauge.providers.wire.transport import Wire

LIBRARY_PREFIX: Final = "library:"
CHARS_PER_TOKEN: Final = 4
OpenWire = Callable[[], "Wire"]
"""Opens the shared wire: a provider that needs none does not load HTTP."""


def _mock(_: OpenWire) -> Provider:
    from flowgauge.providers.mock.provider import MockProvider

    return MockProvider()


def _openai(wire: OpenWire) -> Provider:
    from flowgauge.providers.wire.openai_chat import OpenAIChat

    return OpenAIChat(wire())


def _anthropic(wire: OpenWire) -> Provider:
    from flowgauge.providers.wire.anthropic_messages import AnthropicMessages

    return AnthropicMessages(wire())


def _library(_: OpenWire) -> Provider:
    from flowgauge.providers.library.provider import Library

    return Library()


Factory = Callable[[OpenWire], Provider]

PROVIDERS: Final[dict[str, Factory]] = {
    "mock": _mock,
    "anthropic": _anthropic,
    **dict.fromkeys(OPENAI_COMPATIBLE, _openai),
}
"""Who has a dialect here. All others go through the library, or are whoever listens at their base_url."""


@runtime_checkable
class WarmsUp(Protocol):
    """A provider with something slow to load before its first request."""

    def warm_up(self, request: ModelRequest) -> None:
        """Load it."""


class LiveGateway:
    """Calls models. One session, and one limiter per provider for the whole process."""

    def __init__(
        self,
        *,
        providers: Mapping[str, Provider] | None = None,
        limits: Limits | None = None,
        prices: PriceTable | None = None,
    ) -> None:
        self._chosen: dict[tuple[str, bool], Provider] = {}
        self._given = dict(providers or {})
        self._made: dict[Factory, Provider] = {}
        self._limits = limits
        self._prices = prices
        self._wire: Wire | None = None

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelResponse:
        """One exchange. Waiting of our own is queueing: for the limiter, the imports of the first call, a busy event loop."""
        asked_s = time.perf_counter()
        provider = self._chosen.get((request.provider, bool(request.base_url))) or self._choose(request)
        limiter = (self._limits or limit_settings.shared()).of(request.provider.removeprefix(LIBRARY_PREFIX))
        lease = await limiter.acquire(_estimated_tokens(request) if limiter.weighs_tokens else 0.0)
        started_s = time.perf_counter()
        queue_ms = (started_s - asked_s) * 1000
        try:
            reply = await provider.complete(request, on_text=on_text)
            duration_ms = (time.perf_counter() - started_s) * 1000 - reply.late_ms
            lease.settle(reply.tokens_prompt + reply.tokens_completion)
        except Failed as error:
            if error.failure.kind == "rate_limited":
                lease.throttled(error.failure.retry_after_s)
            self._add_usage(request, error)
            error.queue_ms = queue_ms
            raise
        finally:
            lease.release()
        return ModelResponse(
            text=reply.text,
            tool_calls=reply.tool_calls,
            finish=reply.finish,
            model=reply.model,
            usage=self._usage(request, reply),
            duration_ms=duration_ms,
            first_token_ms=reply.first_token_ms,
            queue_ms=queue_ms + reply.late_ms,
        )

    def estimate_usd(self, request: ModelRequest) -> float | None:
        """What the request would cost at the least: four characters a token, and max_tokens where it is set."""
        return self._price_table().estimate(_priced_name(request), _prompt_tokens(request), request.max_tokens or 0)

    @property
    def price_table(self) -> str:
        """Which prices were used: package, version and override file."""
        return self._price_table().label

    async def close(self) -> None:
        """Let go of all connections."""
        for provider in [*self._made.values(), *self._given.values()]:
            await provider.close()
        self._made.clear()
        self._chosen.clear()
        if self._wire is not None:
            await self._wire.close()
            self._wire = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _choose(self, request: ModelRequest) -> Provider:
        provider = self._given.get(request.provider) or self._make(_factory(request))
        # Imports take up to seconds: they must be over before anything is measured.
        self._price_table().estimate(_priced_name(request), 0, 0)
        if isinstance(provider, WarmsUp):
            provider.warm_up(request)
        self._chosen[request.provider, bool(request.base_url)] = provider
        return provider

    def _make(self, factory: Factory) -> Provider:
        made = self._made.get(factory)
        if made is None:
            made = self._made[factory] = factory(self._open_wire)
        return made

    def _open_wire(self) -> Wire:
        from flowgauge.providers.wire.transport import Wire

        if self._wire is None:
            self._wire = Wire()
        return self._wire

    def _price_table(self) -> PriceTable:
        if self._prices is None:
            from flowgauge.providers.prices import table as prices

            self._prices = prices.table()
        return self._prices

    def _usage(self, request: ModelRequest, reply: Reply) -> Usage:
        cost_usd, source = self._price_table().cost(_priced_name(request), reply)
        return Usage(
            tokens_prompt=reply.tokens_prompt,
            tokens_completion=reply.tokens_completion,
            tokens_cached=reply.tokens_cached,
            cost_usd=cost_usd,
            cost_source=source,
        )

    def _add_usage(self, request: ModelRequest, error: Failed) -> None:
        if isinstance(error, BrokenReply):
            error.usage = self._usage(request, error.reply)


def known_providers() -> tuple[str, ...]:
    """Who can be called without a base_url: those with a dialect here, and some of the library's."""
    from flowgauge.providers.library.provider import EXAMPLES

    return tuple(sorted({*PROVIDERS, *EXAMPLES}))


def _factory(request: ModelRequest) -> Factory:
    from flowgauge.providers.library import provider as library

    name = request.provider
    if name == "mock" and request.base_url:
        return _openai  # the same mock, behind `flowgauge mock-server`
    if name in PROVIDERS:
        return PROVIDERS[name]
    if name.startswith(LIBRARY_PREFIX) or (not request.base_url and library.knows(name)):
        return _library
    if request.base_url:
        return _openai
    if name in library.EXAMPLES:
        return _library  # known, but the library is not installed: its refusal says what to install
    message = (
        f"Nobody knows the provider {name!r}. {did_you_mean(name, known_providers())}"
        " Set base_url for any other server that speaks OpenAI's chat dialect."
    )
    raise Failed(Failure(kind="provider_rejected", message=message))


def _priced_name(request: ModelRequest) -> str:
    return request.name.removeprefix(LIBRARY_PREFIX)


def _prompt_tokens(request: ModelRequest) -> int:
    return sum(len(message.text) for message in request.messages) // CHARS_PER_TOKEN


def _estimated_tokens(request: ModelRequest) -> float:
    return _prompt_tokens(request) + (request.max_tokens or 0)
