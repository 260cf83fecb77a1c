"""A steady heap while something is measured or summed up.

A full garbage collection walks every object of the process: with a few big
libraries imported that is 50 to 100 ms in which nothing else runs, and it is
counted as the latency of whatever was waiting. What is there before is
therefore set aside; what comes after is little, and is collected less often.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (20_000, 50, 100)
"""New objects before a collection of the youngest, and how many of those before one of the older ones; Python's own is 700, 10, 10."""
_lock = threading.Lock()
_measuring = 0
_usual = gc.get_threshold()


@contextmanager
def steady_heap() -> Iterator[None]:
    """Keep the collector away from what is there already. May be nested and may overlap; the last one out puts it back."""
    global _measuring, _usual
    with _lock:
        if _measuring == 0:
            _usual = gc.get_threshold()
            gc.set_threshold(*THRESHOLDS)
            gc.freeze()
        _measuring += 1
    try:
        yield
    finally:
        with _lock:
            _measuring -= 1
            if _measuring == 0:
                gc.unfreeze()
                gc.set_threshold(*_usual)
