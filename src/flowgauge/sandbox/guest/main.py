"""The worker's loop: a frame in, a frame out, until the parent closes the channel.

A frame is four bytes of length and JSON. The first one holds the settings and is
answered with what is in force; each further one is a job.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from .confine import confine
from .job import answer
from .state import State

_PREFIX_BYTES = 4


def main(folder: str, channel: int) -> None:
    """Never returns."""
    sys.path.remove(folder)
    os.set_inheritable(channel, False)
    faulthandler.enable(2)
    incoming = frames(channel)
    settings = json.loads(next(incoming))
    for name in [name for name in sys.modules if name.split(".")[0] == __package__]:
        del sys.modules[name]
    try:
        ready = confine(settings)
        state = State(settings["scratch"])
    except Exception as error:  # noqa: BLE001  (whatever it is, the parent must hear of it)
        send(channel, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(0)
    gc.freeze()
    send(channel, json.dumps(ready).encode())
    _serve(channel, incoming, state)


def _serve(channel: int, incoming: Iterator[bytes], state: State) -> None:
    for frame in incoming:
        request: dict[str, Any] = json.loads(frame)
        send(channel, answer(request, state))
    os._exit(0)


def frames(channel: int) -> Iterator[bytes]:
    """What the parent sends, until it hangs up."""
    kept = bytearray()
    while True:
        while len(kept) < _PREFIX_BYTES or len(kept) < _PREFIX_BYTES + int.from_bytes(kept[:_PREFIX_BYTES]):
            piece = os.read(channel, 1 << 18)
            if not piece:
                return
            kept += piece
        end = _PREFIX_BYTES + int.from_bytes(kept[:_PREFIX_BYTES])
        frame = bytes(kept[_PREFIX_BYTES:end])
        del kept[:end]
        yield frame


def send(channel: int, body: bytes) -> None:
    """One frame back."""
    left = memoryview(len(body).to_bytes(_PREFIX_BYTES) + body)
    while left:
        left = left[os.write(channel, left) :]
