"""One HTTP/1.1 answer, read from bytes as they come in, cut anywhere.

In: bytes, and the end of the connection. Out: the status, the headers, the whole
body, and whether the connection can be used for the next request. Refused:
what is no HTTP, lengths that contradict each other, and encodings that were not
asked for. It reads no clock and no socket.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Final

ACCEPTED_ENCODINGS: Final = "gzip, deflate"
LONGEST_HEAD: Final = 64 * 2**10
LONGEST_LINE: Final = 8 * 2**10
LARGEST_BODY: Final = 2**30
"""Of a body that was packed: what unpacks to more is an attack."""

_STATUS: Final = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: |\r|$)")
_FRAMING: Final = re.compile(rb"\r\n(content-length|transfer-encoding|connection|content-encoding)[ \t]*:[ \t]*([^\r\n]*)")
"""The headers that say where the body ends and how it is packed; in small letters."""
_WINDOWS: Final[dict[bytes, int]] = {b"gzip": 31, b"x-gzip": 31, b"deflate": 15}
"""What zlib calls them. Some servers send deflate without its wrapping: see `_unpacked`."""
_BARE_DEFLATE: Final = -15


class BadAnswer(Exception):
    """What came in is no answer of HTTP."""


class AnswerReader:
    """Fed until the answer is whole."""

    __slots__ = ("_buffer", "_head", "_left", "_packed", "_parts", "_take", "body", "reusable", "status")

    def __init__(self) -> None:
        self._take: Callable[[AnswerReader, bytes], bool] = AnswerReader._in_head
        self._buffer = bytearray()
        self._head = b""
        self._parts: list[bytes] = []
        self._left = 0
        self._packed = b""
        self.status = 0
        self.body = b""
        self.reusable = False
        """May another request go over the same connection? Known when the answer is whole."""

    def feed(self, data: bytes) -> bool:
        """Take what came in; true when the answer is whole. Raises BadAnswer."""
        return self._take(self, data)

    def closed(self) -> bool:
        """The connection has ended: is the answer whole by that? Raises BadAnswer."""
        if self._take is not AnswerReader._in_rest:
            return False
        self.reusable = False
        return self._whole()

    @property
    def began(self) -> bool:
        """Has anything of an answer come in?"""
        return bool(self.status or self._buffer)

    def headers(self) -> dict[str, str]:
        """By their names in small letters; of several with one name the first."""
        found: dict[str, str] = {}
        for line in self._head.decode("latin-1").split("\r\n")[1:]:
            name, colon, value = line.partition(":")
            if colon:
                found.setdefault(name.strip().lower(), value.strip())
        return found

    def _in_head(self, data: bytes) -> bool:
        if self._buffer:
            data = bytes(self._buffer) + data
            self._buffer.clear()
        while (end := data.find(b"\r\n\r\n")) >= 0:
            self._head, data = data[:end], data[end + 4 :]
            found = _STATUS.match(self._head)
            if found is None or found[2] == b"101":
                raise BadAnswer("it is no answer of HTTP/1.1")
            if found[2][0:1] != b"1":  # those say only that more is to come
                self.status = int(found[2])
                return self._begin_body(data, old=found[1] == b"0")
        if len(data) > LONGEST_HEAD:
            raise BadAnswer("its head does not end")
        self._buffer += data
        return False

    def _begin_body(self, data: bytes, *, old: bool) -> bool:
        framing: dict[bytes, list[bytes]] = {}
        for name, value in _FRAMING.findall(self._head.lower()):
            framing.setdefault(name, []).extend(part.strip() for part in value.split(b","))
        wishes = framing.get(b"connection", ())
        self.reusable = b"keep-alive" in wishes if old else b"close" not in wishes
        self._packed = b",".join(framing.get(b"content-encoding", ()))
        coding = framing.get(b"transfer-encoding", [])
        lengths = framing.get(b"content-length")
        if self.status in (204, 304):
            self._take, self._left = AnswerReader._in_length, 0
        elif coding:
            if coding != [b"chunked"]:
                raise BadAnswer("its transfer encoding was not asked for")
            self._take = AnswerReader._in_chunks
            self.reusable = self.reusable and lengths is None
        elif lengths is not None:
            self._take, self._left = AnswerReader._in_length, _length(lengths)
        else:
            self._take = AnswerReader._in_rest
        return self._take(self, data)

    def _in_length(self, data: bytes) -> bool:
        self._parts.append(data)
        self._left -= len(data)
        if self._left > 0:
            return False
        if self._left < 0:
            self.reusable = False
            self._parts[-1] = data[: self._left]
        return self._whole()

    def _in_rest(self, data: bytes) -> bool:
        self._parts.append(data)
        return False

    def _in_chunks(self, data: bytes) -> bool:
        buffer = self._buffer
        buffer += data
        while True:
            if self._left:
                piece = bytes(buffer[: self._left])
                del buffer[: len(piece)]
                self._parts.append(piece)
                self._left -= len(piece)
                if self._left:
                    return False
            line = self._line(2 if self._parts else 0)
            if line is None:
                return False
            self._left = _chunk_size(line)
            if not self._left:
                self._take = AnswerReader._in_trailer
                return self._in_trailer(b"")

    def _in_trailer(self, data: bytes) -> bool:
        self._buffer += data
        while (line := self._line(0)) is not None:
            if not line:
                self.reusable = self.reusable and not self._buffer
                return self._whole()
        return False

    def _line(self, skipped: int) -> bytes | None:
        """The next line, if it is all here. `skipped`: the line end that stands behind a chunk."""
        buffer = self._buffer
        if skipped and not b"\r\n".startswith(buffer[:skipped]):
            raise BadAnswer("a chunk is longer than it says")
        end = buffer.find(b"\r\n", skipped)
        if end < 0:
            if len(buffer) > LONGEST_LINE:
                raise BadAnswer("a line of its chunks does not end")
            return None
        line = bytes(buffer[skipped:end])
        del buffer[: end + 2]
        return line

    def _whole(self) -> bool:
        parts = self._parts
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        self.body = _unpacked(body, self._packed) if self._packed and body else body
        return True


def _length(values: list[bytes]) -> int:
    if len(set(values)) != 1 or not values[0].isdigit():
        raise BadAnswer("it does not say how long it is")
    return int(values[0])


def _chunk_size(line: bytes) -> int:
    size = line.partition(b";")[0].strip()
    if not re.fullmatch(rb"[0-9a-fA-F]{1,15}", size):
        raise BadAnswer("a chunk does not say how long it is")
    return int(size, 16)


def _unpacked(body: bytes, packed: bytes) -> bytes:
    if packed == b"identity":
        return body
    window = _WINDOWS.get(packed)
    if window is None:
        raise BadAnswer(f"it is packed as {packed.decode('latin-1')!r}, which was not asked for")
    if window == _WINDOWS[b"deflate"] and body[0] & 0x0F != 8:
        window = _BARE_DEFLATE
    unpacking = zlib.decompressobj(window)
    try:
        plain = unpacking.decompress(body, LARGEST_BODY)
    except zlib.error as error:
        raise BadAnswer(f"it cannot be unpacked: {error}") from error
    if not unpacking.eof:
        raise BadAnswer("what it was packed from is not all there")
    return plain
