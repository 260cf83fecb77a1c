"""The real clock."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Wall time for moments, a steady clock for lengths."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def tick_ms(self) -> float:
        """Milliseconds of a clock that only runs forward."""
        return time.perf_counter() * 1000.0

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
