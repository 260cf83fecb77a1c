"""What goes between an executor and its worker processes: frames of four bytes of length and a JSON body."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from flowgauge.model.bench import PlannedTrial, Trial
from flowgauge.run.trial_job import Recipe

_PREFIX_BYTES = 4
Message = TypeVar("Message")


class Setup(msgspec.Struct, frozen=True, tag=True):
    """The first frame to a worker."""

    recipe: Recipe
    slots: int


class Work(msgspec.Struct, frozen=True, tag=True):
    """Trials to run, in this order."""

    trials: list[PlannedTrial]


class Ping(msgspec.Struct, frozen=True, tag=True):
    """Is the event loop still turning?"""


class Finish(msgspec.Struct, frozen=True, tag=True):
    """Nothing more will come."""


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The job is made."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """A trial is over."""

    trial: Trial


class Pong(msgspec.Struct, frozen=True, tag=True):
    """It turns."""


class Broken(msgspec.Struct, frozen=True, tag=True):
    """The worker cannot go on, and another would not fare better."""

    message: str
    of_store: bool = False


ToWorker = Setup | Work | Ping | Finish
FromWorker = Ready | Done | Pong | Broken
_encoder = msgspec.json.Encoder()


class FrameLine(asyncio.Protocol, Generic[Message]):
    """One end of the line: whole messages are handed to `on_message`, the end to `on_lost`."""

    def __init__(self, kind: Any, on_message: Callable[[Message], None], on_lost: Callable[[], None]) -> None:
        self._decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(kind)
        self._on_message = on_message
        self._on_lost = on_lost
        self._inbox = bytearray()
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """By asyncio. Whatever the system does not take at once is waited for: what was sent is then out of our hands."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=0)

    def data_received(self, data: bytes) -> None:
        """By asyncio."""
        inbox = self._inbox
        inbox += data
        position = 0
        while len(inbox) - position >= _PREFIX_BYTES:
            begin = position + _PREFIX_BYTES
            end = begin + int.from_bytes(inbox[position:begin])
            if len(inbox) < end:
                break
            message = self._decoder.decode(bytes(inbox[begin:end]))
            position = end
            self._on_message(message)
        del inbox[:position]

    def pause_writing(self) -> None:
        """By asyncio."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """By asyncio."""
        self._writable.set()

    def connection_lost(self, _exc: Exception | None) -> None:
        """By asyncio."""
        self._writable.set()
        self._on_lost()

    def send(self, message: ToWorker | FromWorker) -> None:
        """Hand a message over; at once where the line is free."""
        body = _encoder.encode(message)
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(len(body).to_bytes(_PREFIX_BYTES) + body)

    async def sent(self) -> None:
        """Until the system has taken all that was handed over."""
        await self._writable.wait()

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()
