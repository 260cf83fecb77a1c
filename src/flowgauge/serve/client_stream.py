"""Server-Sent Events as the client reads them: lines in, events out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http.client import HTTPException

import msgspec

from flowgauge.model.service import Event

_read_event = msgspec.json.Decoder(Event).decode


def read_stream(lines: Iterable[bytes]) -> Iterator[Event]:
    """Ends where the stream does, or breaks. Comments and what has no id (the server's last words) are left out."""
    fields: dict[bytes, bytes] = {}
    try:
        for line in lines:
            name, _, value = line.rstrip(b"\r\n").partition(b":")
            if name:
                fields[name] = value.removeprefix(b" ")
            elif fields:
                if b"id" in fields and b"data" in fields:
                    yield _read_event(fields[b"data"])
                fields = {}
    except (OSError, HTTPException):
        return
