"""What the OpenAI-compatible dialect answers: the fields that are read, in the shapes that servers really send."""

from __future__ import annotations

from typing import Final

import msgspec

from flowgauge.model.workflow import Json


class CachedTokens(msgspec.Struct, frozen=True):
    """How the prompt's tokens were counted."""

    cached_tokens: int | None = None


class Usage(msgspec.Struct, frozen=True):
    """Tokens, and for some providers (OpenRouter) the price they charged."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: CachedTokens | None = None
    prompt_cache_hit_tokens: int | None = None
    """DeepSeek's name for cached tokens."""
    cost: float | None = None

    @property
    def cached(self) -> int:
        """Prompt tokens that came from the provider's cache."""
        details = self.prompt_tokens_details
        return (details.cached_tokens if details else None) or self.prompt_cache_hit_tokens or 0


class Function(msgspec.Struct, frozen=True):
    """A call of a tool; the arguments are JSON in a string, but for servers that send the object itself."""

    name: str | None = None
    arguments: str | dict[str, Json] | None = None


class ToolCallPart(msgspec.Struct, frozen=True):
    """A tool call, or in a stream a piece of one."""

    id: str | None = None
    index: int | None = None
    function: Function = Function()


class TextPart(msgspec.Struct, frozen=True):
    """One of several pieces of content, as Mistral sends them; only text is read."""

    type: str = ""
    text: str | None = None


class Said(msgspec.Struct, frozen=True):
    """A message, or in a stream what was added to it."""

    content: str | list[TextPart] | None = None
    refusal: str | None = None
    tool_calls: list[ToolCallPart] | None = None

    @property
    def text(self) -> str:
        """The content's text."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


class Choice(msgspec.Struct, frozen=True):
    """One answer; there is never asked for more than one."""

    message: Said = Said()
    delta: Said = Said()
    finish_reason: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """A whole answer, or one chunk of a streamed one."""

    choices: list[Choice] | None = None
    model: str | None = None
    usage: Usage | None = None
    error: Json = None


ANSWER: Final = msgspec.json.Decoder(Answer)
