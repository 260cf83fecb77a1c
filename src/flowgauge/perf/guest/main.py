"""The worker's program: settings, then a setup, then episodes, until the parent hangs up.

It speaks as the sandbox's own worker does (`sandbox.guest.main`), so the same
parent starts it, watches it and kills it.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from flowgauge.perf.guest.stage import Stage, opened
from flowgauge.perf.orders import EpisodeOrder, Setup
from flowgauge.sandbox.guest.confine import confine
from flowgauge.sandbox.guest.main import frames, send
from flowgauge.sandbox.guest.state import State


def main(channel: int) -> NoReturn:
    """Never returns."""
    os.set_inheritable(channel, False)
    faulthandler.enable(2)
    sys.dont_write_bytecode = True
    incoming = frames(channel)
    settings: dict[str, Any] = json.loads(next(incoming))
    tempfile.tempdir = settings["scratch"]
    scratch = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="episode-")
    os.chdir(scratch)
    try:
        ready = confine(settings)
        state = State(scratch)
    except Exception as error:  # noqa: BLE001  (whatever it is, the parent must hear of it)
        send(channel, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(0)
    send(channel, json.dumps(ready).encode())
    _serve(channel, incoming, scratch, state)
    os._exit(0)


def _serve(channel: int, incoming: Iterator[bytes], scratch: str, state: State) -> None:
    first = json.loads(next(incoming))
    stage, started = opened(msgspec.convert(first["arguments"], Setup), scratch, state)
    gc.collect()
    gc.freeze()
    _answer(channel, first["id"], started)
    if stage is not None:
        for frame in incoming:
            _episode(channel, json.loads(frame), stage)


def _episode(channel: int, request: dict[str, Any], stage: Stage) -> None:
    answer = stage.run(msgspec.convert(request["arguments"], EpisodeOrder))
    _answer(channel, request["id"], answer, retire=answer.retire)


def _answer(channel: int, number: int, value: Any, retire: str = "") -> None:
    send(channel, msgspec.json.encode({"id": number, "value": value, "retire": retire}))
