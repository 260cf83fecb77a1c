"""A polite request to end (SIGTERM) is taken like an interrupt from the keyboard, so that what runs is stopped and tidied up."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import NoReturn


@contextlib.contextmanager
def ending_tidily() -> Iterator[None]:
    """Around what starts programs in sessions of their own, which no signal of ours would reach."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt
