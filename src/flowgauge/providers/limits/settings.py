"""The limits of all providers: built in, laid over by FLOWGAUGE_LIMITS, one limiter each for the whole process.

In: the variable's text. Out: the limiter of a provider by its name. Refuses an
entry that it cannot read rather than calling faster than was meant.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

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
