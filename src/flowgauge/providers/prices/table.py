"""What a model's tokens cost, and where that price comes from.

A model's name and its usage in, US dollars and their source out. Prices come
from an override file, the mock's profiles and the genai-prices package, in this
order; nothing is fetched. A model that none of them knows has no price: None,
never 0.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from flowgauge.model.ids import content_hash
from flowgauge.model.play import CostSource
from flowgauge.providers.mock.profiles import Profile, load_profiles
from flowgauge.providers.prices.aliases import LOCAL, parted, spellings
from flowgauge.providers.prices.overrides import Override, read_overrides
from flowgauge.providers.provider import Reply

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

ENVIRONMENT = "FLOWGAUGE_PRICES"
PACKAGE = "genai-prices"
RECHECK_S = 60.0
"""Some models cost less at night: their price is looked up again after this time."""

Tiers = tuple[tuple[int, float], ...]
"""Above how many prompt tokens which USD per million tokens applies, the highest first."""


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """USD for a million tokens of each kind, and for the request itself."""

    prompt: Tiers
    completion: Tiers
    cached: Tiers
    cache_written: Tiers
    request: float = 0.0
    source: str = ""
    good_until: float = float("inf")

    def cost_usd(self, reply: Reply) -> float:
        """Cached and written tokens are part of the prompt's and have their own price."""
        asked, cached, written = reply.tokens_prompt, reply.tokens_cached, reply.tokens_cache_written
        millionths = max(0, asked - cached - written) * _at(self.prompt, asked) + reply.tokens_completion * _at(self.completion, asked)
        if cached or written:
            millionths += cached * _at(self.cached, asked) + written * _at(self.cache_written, asked)
        return millionths / 1e6 + self.request


class KnownPrice(msgspec.Struct, frozen=True, kw_only=True):
    """One row of `flowgauge models`."""

    provider: str
    model: str
    prompt_per_1m: float
    completion_per_1m: float
    source: str


class PriceTable:
    """All prices; asks the package only for what the override file and the mock do not know."""

    def __init__(self, overrides: str | Path | None = None, *, mock_profiles: Mapping[str, Profile] | str | Path | None = None) -> None:
        self._file = Path(overrides) if overrides else None
        content, self._overrides = read_overrides(self._file) if self._file else (b"", {})
        self._hash = content_hash(content)[:8]
        self._profiles = mock_profiles if isinstance(mock_profiles, Mapping) else load_profiles(mock_profiles)
        self._known: dict[str, Rates | None] = {}

    @property
    def label(self) -> str:
        """`genai-prices 0.2.1 + prices.yaml@1a2b3c4d`."""
        return f"{_package_version()} + {self._file.name}@{self._hash}" if self._file else _package_version()

    def cost(self, model_name: str, reply: Reply) -> tuple[float | None, CostSource]:
        """What the provider says it charged, else what its usage comes to."""
        if reply.cost_usd is not None:
            return reply.cost_usd, "provider"
        rates = self.rates(model_name)
        return (None, "unpriced") if rates is None else (rates.cost_usd(reply), "computed")

    def estimate(self, model_name: str, prompt_tokens: int, completion_tokens: int) -> float | None:
        """What so many tokens would cost, nothing cached."""
        rates = self.rates(model_name)
        return None if rates is None else rates.cost_usd(Reply(tokens_prompt=prompt_tokens, tokens_completion=completion_tokens))

    def rates(self, model_name: str) -> Rates | None:
        """Remembered per model, so that a lookup costs next to nothing."""
        try:
            rates = self._known[model_name]
        except KeyError:
            rates = None
        else:
            if rates is None or rates.good_until == _ALWAYS or time.monotonic() < rates.good_until:
                return rates
        rates = self._known[model_name] = self._find(model_name)
        return rates

    def known(self) -> Iterator[KnownPrice]:
        """Every priced model: the override file's, the mock's, the package's. An overridden one is listed once."""
        for name, override in self._overrides.items():
            yield _row(name, _own(override, ""), self._file.name if self._file else "")
        for name, profile in self._profiles.items():
            if f"mock/{name}" not in self._overrides:
                yield _row(f"mock/{name}", _mock(profile), "mock")
        from genai_prices.data import providers

        for provider in providers:
            for model in provider.models:
                rates = _package(model)
                if rates and f"{provider.id}/{model.id}" not in self._overrides:
                    yield _row(f"{provider.id}/{model.id}", rates, PACKAGE)

    def load(self) -> None:
        """Import the price package now (about half a second), for example in a thread before work begins."""
        from genai_prices.data_snapshot import get_snapshot

        get_snapshot()

    def _find(self, model_name: str) -> Rates | None:
        provider, model = parted(model_name)
        for name in (model_name, f"{provider}/{model}"):
            if name in self._overrides:
                return _own(self._overrides[name], self._file.name if self._file else "")
        if provider == "mock":
            profile = self._profiles.get(model_name.partition("/")[2])
            return _mock(profile) if profile else None
        if provider in LOCAL or not model:
            return None
        return _packaged(provider, model)


_ALWAYS = float("inf")


@cache
def table() -> PriceTable:
    """The table of this process: with the file that FLOWGAUGE_PRICES names."""
    return PriceTable(os.environ.get(ENVIRONMENT) or None)


@cache
def _package_version() -> str:
    """Read once: every play names it, and looking a version up costs more than the play's own work."""
    from importlib.metadata import version

    return f"{PACKAGE} {version(PACKAGE)}"


def _at(tiers: Tiers, prompt_tokens: int) -> float:
    for start, price in tiers:
        if prompt_tokens > start:
            return price
    return tiers[-1][1]


def _flat(per_1m: float) -> Tiers:
    return ((-1, per_1m),)


def _own(override: Override, source: str) -> Rates:
    cached = override.prompt_per_1m if override.cached_per_1m is None else override.cached_per_1m
    written = override.prompt_per_1m if override.cache_written_per_1m is None else override.cache_written_per_1m
    return Rates(
        prompt=_flat(override.prompt_per_1m),
        completion=_flat(override.completion_per_1m),
        cached=_flat(cached),
        cache_written=_flat(written),
        source=source,
    )


def _mock(profile: Profile) -> Rates:
    price = profile.price
    return _own(Override(price.prompt_per_1m, price.completion_per_1m, price.cached_per_1m), "mock")


def _packaged(provider: str, model: str) -> Rates | None:
    from genai_prices.data_snapshot import get_snapshot

    for spelling in spellings(provider, model):
        try:
            _, found = get_snapshot().find_provider_model(spelling, None, provider, None)
        except LookupError:
            continue
        if rates := _package(found):
            return rates
    return None


def _package(model: ModelInfo) -> Rates | None:
    """None where the package knows the model but no price for its tokens."""
    from datetime import UTC, datetime

    price: ModelPrice = model.get_prices(datetime.now(UTC))
    prompt, completion = _tiers(price.input_mtok), _tiers(price.output_mtok)
    if not prompt and not completion:
        return None
    prompt = prompt or _flat(0)
    return Rates(
        prompt=prompt,
        completion=completion or _flat(0),
        cached=_tiers(price.cache_read_mtok) or prompt,
        cache_written=_tiers(price.cache_write_mtok) or prompt,
        request=_at(_tiers(price.requests_kcount) or _flat(0), 0) / 1000,
        source=PACKAGE,
        good_until=time.monotonic() + RECHECK_S if isinstance(model.prices, list) and len(model.prices) > 1 else _ALWAYS,
    )


def _tiers(price: Decimal | TieredPrices | None) -> Tiers:
    if price is None:
        return ()
    if isinstance(price, Decimal):
        return _flat(float(price))
    above = sorted(((tier.start, float(tier.price)) for tier in price.tiers), reverse=True)
    return (*above, (-1, float(price.base)))


def _row(name: str, rates: Rates, source: str) -> KnownPrice:
    provider, _, model = name.partition("/")
    return KnownPrice(
        provider=provider,
        model=model,
        prompt_per_1m=rates.prompt[-1][1],
        completion_per_1m=rates.completion[-1][1],
        source=source,
    )
