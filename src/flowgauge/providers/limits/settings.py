"""The limits of all providers: built in, laid over by FLOWGAUGE_LIMITS, one limiter each for the whole process.

In: the variable's text. Out: the limiter of a provider by its name. Refuses an
entry that it cannot read rather than calling faster than was meant.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import msgspec

from flowgauge.errors import UsageError
from flowgauge.providers.limits.limiter import Limit, Limiter, TimeSource

VARIABLE: Final = "FLOWGAUGE_LIMITS"

BUILT_IN: Final[dict[str, Limit]] = {
    "*": Limit(concurrency=256),
    "mock": Limit(),
    "ollama": Limit(concurrency=4),
    "lmstudio": Limit(concurrency=4),
}


class Limits:
    """The limiters of all providers, each made when it is first asked for."""

    def __init__(self, settings: Mapping[str, Limit] | None = None, *, clock: TimeSource | None = None) -> None:
        self._settings = {**BUILT_IN, **(settings or {})}
        self._clock = clock
        self._limiters: dict[str, Limiter] = {}

    @property
    def settings(self) -> Mapping[str, Limit]:
        """By provider; `*` holds for all others."""
        return self._settings

    def of(self, provider: str) -> Limiter:
        """The one limiter of a provider."""
        limiter = self._limiters.get(provider)
        if limiter is None:
            limit = self._settings.get(provider, self._settings["*"])
            limiter = self._limiters[provider] = Limiter(limit, provider=provider, clock=self._clock)
        return limiter


_shared: Limits | None = None


def shared() -> Limits:
    """The limits that everything in this process shares, as FLOWGAUGE_LIMITS says when first used."""
    global _shared
    if _shared is None:
        _shared = Limits(read_limits(os.environ.get(VARIABLE, "")))
    return _shared


def share(processes: int) -> None:
    """Let this process have one part of every limit: so many processes that call the same providers share them."""
    global _shared
    whole = {**BUILT_IN, **read_limits(os.environ.get(VARIABLE, ""))}
    _shared = Limits({provider: part_of(limit, processes) for provider, limit in whole.items()})


def part_of(limit: Limit, processes: int) -> Limit:
    """One of equal parts, each at least 1: with more processes than a limit allows requests, they may go over it."""
    parts = {name: value for name, value in msgspec.structs.asdict(limit).items() if value is not None}
    at_once = parts.pop("concurrency", None)
    return Limit(
        **{name: max(1.0, value / processes) for name, value in parts.items()},
        concurrency=None if at_once is None else max(1, at_once // processes),
    )


def read_limits(text: str) -> dict[str, Limit]:
    """`openai=rpm:500,tpm:200000,concurrency:50; anthropic=rpm:50; *=concurrency:20`; refuses anything else."""
    limits = {}
    for entry in text.replace(";", " ").split():
        provider, equals, values = entry.partition("=")
        pairs = [pair.partition(":") for pair in values.split(",")]
        try:
            limits[provider] = Limit(**{_known(name): _number(name, value) for name, _, value in pairs})
        except ValueError:
            equals = ""
        if not (provider and equals):
            raise UsageError(
                f"{VARIABLE} has an entry that cannot be read: {entry!r}.",
                remedy=f"Write {VARIABLE}='openai=rpm:500,tpm:200000,concurrency:50; anthropic=rpm:50', with numbers above zero.",
            )
    return limits


def _known(name: str) -> str:
    if name not in Limit.__struct_fields__:
        raise ValueError(name)
    return name


def _number(name: str, value: str) -> int:
    number = int(value.replace("_", ""))
    if number < 1:
        raise ValueError(name)
    return number
