"""The mock provider: a model that needs no network and repeats itself.

A request in, a reply or a failure out. What comes out depends on the profile,
the request's content and seed, and how often this instance has seen that same
request; never on the time or on other requests. An unknown profile is refused.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from hashlib import blake2b
from pathlib import Path

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.exchange import FinishReason, ModelRequest, ToolCall
from flowgauge.model.play import Failure
from flowgauge.model.workflow import FailureKind
from flowgauge.providers.mock.answers import Answer, built_in, last_user_text, system_text
from flowgauge.providers.mock.dice import Dice
from flowgauge.providers.mock.profiles import ENVIRONMENT, Fault, FaultKind, Latency, Override, Profile, Turn, load_profiles
from flowgauge.providers.provider import Reply

Sleep = Callable[[float], Awaitable[None]]
REMEMBERED = 200_000
"""So many different requests are counted; the oldest are forgotten, so that memory stays bounded."""
KEPT = 1024
PIECES = 16
_CHARS_PER_TOKEN = 4
_encode = msgspec.json.Encoder(order="deterministic").encode

_FAILURES: dict[FaultKind, tuple[FailureKind, str]] = {
    "rate_limited": ("rate_limited", "The mock provider answered 429: too many requests."),
    "server_error": ("provider_error", "The mock provider answered 500: internal server error."),
    "timeout": ("timeout", "The mock provider did not answer in time."),
    "malformed": ("provider_error", "The mock provider's response is not JSON."),
    "disconnect": ("connection", "The mock provider closed the connection."),
}


class Decision(msgspec.Struct, frozen=True):
    """What will happen to a request: a fault that stops it, or a reply after some time."""

    reply: Reply
    latency_s: float
    first_token_s: float
    fault: Fault | None = None
    """A fault that leaves no reply; those that only spoil it are in it already."""

    def failure(self) -> Failure:
        """The fault as the gateway knows failures."""
        assert self.fault is not None
        kind, message = _FAILURES[self.fault.kind]
        retry_after_s = self.fault.retry_after_s if kind == "rate_limited" else None
        return Failure(kind=kind, message=self.fault.message or message, retry_after_s=retry_after_s)


class _Seen(msgspec.Struct):
    """How often one request was made, and how often it was answered."""

    asked: int = 0
    answered: int = 0


class MockProvider:
    """Implements providers.provider.Provider for `mock/<profile>`."""

    def __init__(
        self,
        *,
        profiles: Mapping[str, Profile] | str | Path | None = None,
        sleep: Sleep = asyncio.sleep,
        tick_ms: Callable[[], float] = lambda: time.perf_counter() * 1000,
    ) -> None:
        self.profiles = profiles if isinstance(profiles, Mapping) else load_profiles(profiles)
        self._sleep = sleep
        self._tick_ms = tick_ms
        self._seen: OrderedDict[bytes, _Seen] = OrderedDict()
        self._kept: dict[bytes, Reply] = {}

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> Reply:
        """One exchange, with the latency and the faults of the profile."""
        started = self._tick_ms()
        decision = self.decide(request)
        fault = decision.fault
        hang_s = fault.hang_s if fault and fault.kind == "timeout" else decision.latency_s
        if request.timeout_s is not None and hang_s > request.timeout_s:
            await self._sleep(request.timeout_s)
            message = f"The mock provider did not answer within {request.timeout_s:g} s."
            raise Failed(Failure(kind="timeout", message=message))
        if fault:
            await self._wait(hang_s)
            raise Failed(decision.failure())
        if not request.stream:
            await self._wait(decision.latency_s)
            return decision.reply
        return await self._stream(decision, started, on_text or (lambda _: None))

    async def close(self) -> None:
        """Nothing is held."""

    def decide(self, request: ModelRequest) -> Decision:
        """What will happen; counts the request as made."""
        profile = self._profile(request)
        override = _override(request)
        key = _key(request)
        seen = self._count(key)
        dice = Dice(blake2b(seen.asked.to_bytes(8, "big"), key=key, digest_size=32).digest())
        chance, spread = dice.unit(), _normal(dice)
        faults = profile.faults if override.faults is None else override.faults
        fault = _fault(faults, seen.asked, chance)
        reply = self._reply(request, profile, override, key, seen.answered)
        if fault is None or fault.kind in _SPOILS:
            seen.answered += 1
            reply = _limited(_SPOILS[fault.kind](reply) if fault else reply, request.max_tokens)
            fault = None
        latency = _latency(profile, override)
        latency_s = _latency_s(latency, spread, reply.tokens_completion if fault is None else 0)
        return Decision(reply, latency_s, latency_s * latency.first_token, fault)

    def _profile(self, request: ModelRequest) -> Profile:
        profile = self.profiles.get(request.model)
        if profile is None:
            known = ", ".join(sorted(self.profiles))
            message = f"There is no mock profile {request.model!r}. Known: {known}. Declare others in the file of {ENVIRONMENT}."
            raise Failed(Failure(kind="provider_rejected", message=message))
        return profile

    def _count(self, key: bytes) -> _Seen:
        seen = self._seen.get(key)
        if seen is None:
            seen = self._seen[key] = _Seen()
            if len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        else:
            self._seen.move_to_end(key)
        seen.asked += 1
        return seen

    def _reply(self, request: ModelRequest, profile: Profile, override: Override, key: bytes, answered: int) -> Reply:
        turn = answered + sum(message.role == "assistant" for message in request.messages)
        scripted = Turn(text=override.answer) if isinstance(override.answer, str) else override.answer
        scripted = scripted or _scripted(profile, request, turn)
        if scripted is None:
            return self._built_in(request, key)
        calls = tuple(
            ToolCall(id=f"call_{key.hex()[:12]}{turn}{index}", name=call.name, arguments=call.arguments)
            for index, call in enumerate(scripted.tool_calls)
        )
        return _reply_of(request, Answer(scripted.text, calls), scripted)

    def _built_in(self, request: ModelRequest, key: bytes) -> Reply:
        """The same for every repeat of a request, so the last ones are kept."""
        reply = self._kept.get(key)
        if reply is None:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            reply = self._kept[key] = _reply_of(request, built_in(request, Dice(key)), Turn())
        return reply

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            await self._sleep(seconds)

    async def _stream(self, decision: Decision, started: float, on_text: Callable[[str], None]) -> Reply:
        await self._wait(decision.first_token_s)
        first_token_ms = self._tick_ms() - started
        cut = pieces(decision.reply.text)
        pause_s = (decision.latency_s - decision.first_token_s) / max(1, len(cut) - 1)
        for index, piece in enumerate(cut):
            if index:
                await self._wait(pause_s)
            on_text(piece)
        return msgspec.structs.replace(decision.reply, first_token_ms=first_token_ms)


def estimated_tokens(text: str) -> int:
    """Four characters make a token."""
    return math.ceil(len(text) / _CHARS_PER_TOKEN)


def pieces(text: str) -> list[str]:
    """A text as a stream brings it: whole words, at most PIECES of them at once."""
    words = re.findall(r"\S+\s*|\s+", text)
    size = max(1, math.ceil(len(words) / PIECES))
    return ["".join(words[at : at + size]) for at in range(0, len(words), size)]


def _key(request: ModelRequest) -> bytes:
    """What makes two requests the same: all but where it goes, how long it may take and whether it streams."""
    content = (request.model, request.messages, request.temperature, request.top_p, request.max_tokens,
               request.seed, request.tools, request.schema, request.extra)  # fmt: skip
    return blake2b(_encode(content), digest_size=32).digest()


def _override(request: ModelRequest) -> Override:
    asked = request.extra.get("mock") if request.extra else None
    if asked is None:
        return _NO_OVERRIDE
    try:
        return msgspec.convert(asked, Override)
    except msgspec.ValidationError as error:
        message = f"extra.mock cannot be used: {error}. It may hold latency, latency_ms, faults and answer."
        raise Failed(Failure(kind="provider_rejected", message=message)) from error


_NO_OVERRIDE = Override()


def _latency(profile: Profile, override: Override) -> Latency:
    if override.latency_ms is not None:
        return Latency(kind="fixed", median_ms=override.latency_ms)
    return override.latency or profile.latency


def _normal(dice: Dice) -> float:
    """A throw of the standard normal distribution (Box and Muller)."""
    return math.sqrt(-2 * math.log(1 - dice.unit())) * math.cos(math.tau * dice.unit())


def _latency_s(latency: Latency, spread: float, tokens: int) -> float:
    whole_ms = latency.median_ms + latency.per_token_ms * tokens
    if latency.kind == "lognormal" and latency.sigma and whole_ms:
        whole_ms *= math.exp(latency.sigma * spread)
    return whole_ms / 1000


def _fault(faults: tuple[Fault, ...], occurrence: int, chance: float) -> Fault | None:
    """The first that is due; rates share one throw, so that they add up."""
    passed = 0.0
    for fault in faults:
        passed += fault.by_chance
        if fault.due(occurrence) or chance < passed:
            return fault
    return None


def _scripted(profile: Profile, request: ModelRequest, turn: int) -> Turn | None:
    for script in profile.answers:
        user, system = last_user_text(request), system_text(request)
        subject = {"user": user, "system": system, "any": f"{system}\n{user}"}[script.on]
        if re.search(script.match, subject):
            return script.answer(turn)
    return None


def _reply_of(request: ModelRequest, answer: Answer, scripted: Turn) -> Reply:
    finish: FinishReason = scripted.finish or ("tool_calls" if answer.tool_calls else "stop")
    spoken = answer.text + "".join(call.name + _encode(call.arguments).decode() for call in answer.tool_calls)
    return Reply(
        text=answer.text,
        tool_calls=answer.tool_calls,
        finish=finish,
        model=request.model,
        tokens_prompt=_prompt_tokens(request) if scripted.tokens_prompt is None else scripted.tokens_prompt,
        tokens_completion=max(1, estimated_tokens(spoken)) if scripted.tokens_completion is None else scripted.tokens_completion,
        tokens_cached=scripted.tokens_cached,
    )


def _prompt_tokens(request: ModelRequest) -> int:
    """Texts and tools by their length, four for each message, a fixed sum for each image."""
    declared = len(_encode(request.tools)) if request.tools else 0
    declared += len(_encode(request.schema)) if request.schema else 0
    spoken = sum(estimated_tokens(message.text) + 4 + 85 * len(message.images) for message in request.messages)
    called = sum(len(_encode(message.tool_calls)) for message in request.messages if message.tool_calls)
    return spoken + math.ceil((declared + called) / _CHARS_PER_TOKEN)


def _limited(reply: Reply, max_tokens: int | None) -> Reply:
    if max_tokens is None or reply.tokens_completion <= max_tokens or reply.tool_calls:
        return reply
    return msgspec.structs.replace(reply, text=reply.text[: max_tokens * _CHARS_PER_TOKEN], finish="length", tokens_completion=max_tokens)


def _truncated(reply: Reply) -> Reply:
    kept = reply.text[: len(reply.text) // 2]
    return msgspec.structs.replace(reply, text=kept, tool_calls=(), finish="length", tokens_completion=max(1, estimated_tokens(kept)))


def _invalid_json(reply: Reply) -> Reply:
    kept = reply.text[: max(1, len(reply.text) - 1)] if reply.text.startswith(("{", "[")) else f'{{"answer": {reply.text}'
    return msgspec.structs.replace(reply, text=kept, tool_calls=(), finish="stop", tokens_completion=max(1, estimated_tokens(kept)))


_SPOILS: dict[FaultKind, Callable[[Reply], Reply]] = {"truncated": _truncated, "invalid_json": _invalid_json}
