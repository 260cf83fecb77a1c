"""What the Anthropic messages dialect answers: the fields that are read."""

from __future__ import annotations

from typing import Final

import msgspec

from flowgauge.model.workflow import Json


class Usage(msgspec.Struct, frozen=True):
    """Tokens. `input_tokens` leaves out what was read from or written to the cache."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def updated(self, newer: Usage) -> Usage:
        """A stream's later counts replace the earlier ones, where they are given."""
        return Usage(
            *(new if (new := getattr(newer, name)) is not None else getattr(self, name) for name in self.__struct_fields__),
        )


class Block(msgspec.Struct, frozen=True):
    """A piece of content: text, or a call of a tool; thinking and the like are left out."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Json = None


class Answer(msgspec.Struct, frozen=True):
    """A whole message, or the start of a streamed one."""

    type: str = ""
    model: str | None = None
    content: list[Block] | None = None
    stop_reason: str | None = None
    usage: Usage = Usage()
    error: Json = None


class Delta(msgspec.Struct, frozen=True):
    """What an event adds to a block, or to the message as a whole."""

    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class Event(msgspec.Struct, frozen=True):
    """One event of a stream; which fields it has, its type says."""

    type: str = ""
    message: Answer | None = None
    index: int = 0
    content_block: Block = Block()
    delta: Delta = Delta()
    usage: Usage = Usage()
    error: Json = None


ANSWER: Final = msgspec.json.Decoder(Answer)
EVENT: Final = msgspec.json.Decoder(Event)
