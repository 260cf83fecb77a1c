"""What the mock server asks of a wire dialect: read a request, write answers, streams and errors.

Bytes in, a request out; a reply in, bytes out. A body that cannot be read is
refused with BadRequest, as the real server does with status 400.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

import msgspec

from flowgauge.model.exchange import Image, ModelRequest
from flowgauge.providers.provider import Reply

Wire = TypeVar("Wire")


class BadRequest(Exception):
    """The body does not fit the dialect."""


class Asked(msgspec.Struct, frozen=True):
    """A request as the wire brought it. `model` is echoed; request.model is the profile's name as asked."""

    request: ModelRequest
    model: str
    with_usage: bool = True


class Dialect(Protocol):
    """One wire format."""

    def read(self, body: bytes) -> Asked:
        """Raises BadRequest."""

    def whole(self, asked: Asked, reply: Reply, number: int, /) -> bytes:
        """The body of an answer that is not streamed."""

    def head(self, asked: Asked, reply: Reply, number: int, /) -> bytes:
        """What a stream begins with."""

    def piece(self, asked: Asked, text: str, number: int, /) -> bytes:
        """Some text of a stream."""

    def tail(self, asked: Asked, reply: Reply, number: int, /) -> bytes:
        """Tool calls, why it ends, what it used, and the end."""

    def error(self, status: int, message: str) -> bytes:
        """The body of a failure."""


def decoded(decoder: msgspec.json.Decoder[Wire], body: bytes) -> Wire:
    """The body as the dialect declares it, or BadRequest."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(str(error)) from error


def image_of(url: str) -> Image:
    """An address, or a data URL taken apart."""
    if not url.startswith("data:"):
        return Image(url=url)
    kind, _, data = url.removeprefix("data:").partition(",")
    return Image(data=data, media_type=kind.partition(";")[0] or "image/png")


def joined(texts: Iterable[str]) -> str:
    """The texts of several parts, as one."""
    return "\n".join(text for text in texts if text)
