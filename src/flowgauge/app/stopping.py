"""SIGINT and SIGTERM as a wish to end, for what lives on."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def signals(asked: asyncio.Event) -> Iterator[None]:
    """The first one asks; after that they do what they always do."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(*_: object) -> None:
        restore()
        loop.call_soon_threadsafe(asked.set)

    for number in before:
        signal.signal(number, ask)
    try:
        yield
    finally:
        restore()
