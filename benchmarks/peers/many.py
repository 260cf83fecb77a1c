"""One coroutine, many times, so many at once; each call timed as a user of a bare client would."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


async def timed(call: Callable[[], Awaitable[object]], count: int, at_once: int) -> tuple[float, list[float]]:
    """Seconds for all, milliseconds for each."""
    left = iter(range(count))
    latencies_ms: list[float] = []

    async def worker() -> None:
        for _ in left:
            begun = time.perf_counter()
            await call()
            latencies_ms.append((time.perf_counter() - begun) * 1000)

    begun = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return time.perf_counter() - begun, latencies_ms
