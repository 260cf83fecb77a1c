"""How fast one provider may be called: requests and tokens a minute, and requests at once.

In: what the provider allows, and after each call how it went. Out: leases,
strictly in the order asked. A burst of 429s halves
the pace once; it grows back with time. While a Retry-After runs nobody starts;
one so long that waiting makes no sense fails the request instead.
A limiter belongs to one event loop at a time. Time is passed in.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.play import Failure

BURST_SHARE: Final = 0.1
"""How much of a minute's allowance may be used at once after a quiet time."""
RECOVERY_S: Final = 60.0
"""How long the pace takes to grow from nothing to full without another 429."""
SLOWEST_SHARE: Final = 1 / 64
LONGEST_PAUSE_S: Final = 600.0


class Limit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a provider allows; None: no limit known."""

    rpm: float | None = None
    tpm: float | None = None
    concurrency: int | None = None


class Timer(Protocol):
    """Something that was set to ring and can be told not to."""

    def cancel(self) -> None:
        """Do not ring."""


class TimeSource(Protocol):
    """Time, so that tests can hold it still."""

    def now_s(self) -> float:
        """Seconds of a clock that only runs forward."""

    def call_later(self, delay_s: float, ring: Callable[[], None]) -> Timer:
        """Ring once, after a while."""


class LoopTime:
    """The running event loop's timers and the machine's own clock."""

    def now_s(self) -> float:
        """Seconds of a clock that only runs forward."""
        return time.monotonic()

    def call_later(self, delay_s: float, ring: Callable[[], None]) -> Timer:
        """Ring once, after a while."""
        return asyncio.get_running_loop().call_later(delay_s, ring)


class Bucket:
    """Fills at so much a minute up to its size. One draw larger than it is leaves a debt."""

    __slots__ = ("_at_s", "_level", "_per_s", "_size")

    def __init__(self, per_minute: float, now_s: float) -> None:
        self._per_s = per_minute / 60
        self._size = max(1.0, per_minute * BURST_SHARE)
        self._level = self._size
        self._at_s = now_s

    def wait_s(self, amount: float, share: float, now_s: float) -> float:
        """How long until so much can be drawn at this share of the pace; 0: now."""
        self._level = min(self._size, self._level + (now_s - self._at_s) * self._per_s * share)
        self._at_s = now_s
        missing = min(amount, self._size) - self._level
        # A rounding error must not become a timer that rings before anything has flowed in.
        return missing / (self._per_s * share) if missing > 1e-9 * self._size else 0.0

    def draw(self, amount: float) -> None:
        """Take it out; a negative amount puts it back."""
        self._level -= amount


class Lease:
    """The right to have one request on the wire. `release` it exactly once."""

    __slots__ = ("_epoch", "_limiter", "_tokens", "queue_ms")

    def __init__(self, limiter: Limiter, tokens: float, epoch: int, queue_ms: float) -> None:
        self._limiter = limiter
        self._tokens = tokens
        self._epoch = epoch
        self.queue_ms = queue_ms

    def settle(self, tokens: int) -> None:
        """What was really used, in place of the estimate."""
        self._limiter.correct(tokens - self._tokens)

    def throttled(self, retry_after_s: float | None) -> None:
        """The provider said 429 to this request."""
        self._limiter.slow_down(self._epoch, retry_after_s)

    def release(self) -> None:
        """Let the next one start."""
        self._limiter.release()


class Limiter:
    """One provider's pace. Acquires without a wait cost a few microseconds."""

    def __init__(self, limit: Limit, *, provider: str = "", clock: TimeSource | None = None) -> None:
        self._clock = clock or LoopTime()
        now_s = self._clock.now_s()
        self._provider = provider
        self._ceiling = limit.concurrency
        self._requests = Bucket(limit.rpm, now_s) if limit.rpm else None
        self._tokens = Bucket(limit.tpm, now_s) if limit.tpm else None
        self._waiters: deque[tuple[asyncio.Future[None], float]] = deque()
        self._timer: Timer | None = None
        self._in_flight = 0
        self._epoch = 0
        self._share = 1.0
        self._slowed_at_s = now_s
        self._slowed_from: int = 0
        self._paused_until_s = now_s

    @property
    def in_flight(self) -> int:
        """Leases that were given and not yet released."""
        return self._in_flight

    @property
    def weighs_tokens(self) -> bool:
        """Whether an estimate of the tokens is of any use."""
        return self._tokens is not None

    async def acquire(self, tokens: float = 0.0) -> Lease:
        """Wait for the turn. Raises Failed(rate_limited) where the provider asked for a pause too long to sit out."""
        now_s = self._clock.now_s()
        if (pause := self._pause_too_long(now_s)) is not None:
            raise pause
        if not self._waiters and self._delay_s(tokens, now_s) == 0.0:
            self._take(tokens)
            return Lease(self, tokens, self._epoch, 0.0)
        await self._turn(tokens)
        return Lease(self, tokens, self._epoch, (self._clock.now_s() - now_s) * 1000)

    def release(self) -> None:
        """One request fewer on the wire."""
        self._in_flight -= 1
        if self._waiters:
            self._start_waiters()

    def correct(self, tokens: float) -> None:
        """Tokens that an estimate had missed, or had counted too much (negative)."""
        if self._tokens is not None:
            self._tokens.draw(tokens)

    def slow_down(self, epoch: int, retry_after_s: float | None) -> None:
        """A 429. Requests that started before the last slowing belong to the same burst: they slow no further."""
        now_s = self._clock.now_s()
        if retry_after_s:
            self._paused_until_s = max(self._paused_until_s, now_s + retry_after_s)
            self._turn_away(now_s)
        if epoch != self._epoch:
            return
        self._epoch += 1
        share = self._current_share(now_s)
        if share >= 1.0:
            self._slowed_from = min(self._in_flight, self._ceiling or self._in_flight)
        self._share = max(SLOWEST_SHARE, share / 2)
        self._slowed_at_s = now_s

    def _pause_too_long(self, now_s: float) -> Failed | None:
        pause_s = self._paused_until_s - now_s
        if pause_s <= LONGEST_PAUSE_S:
            return None
        who = self._provider or "The provider"
        message = f"{who} asks for a pause of {pause_s:.0f} s, longer than is waited for. Try again after it."
        return Failed(Failure(kind="rate_limited", message=message, retry_after_s=pause_s))

    def _turn_away(self, now_s: float) -> None:
        """Fail all who wait, where the pause is too long to sit out."""
        while self._waiters and (pause := self._pause_too_long(now_s)) is not None:
            waiter, _ = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(pause)

    async def _turn(self, tokens: float) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((mine, tokens))
        self._start_waiters()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled() and mine.exception() is None:
                self.release()  # the turn had come, but nobody is there to use it
            else:
                mine.cancel()
                self._start_waiters()
            raise

    def _start_waiters(self) -> None:
        """Let those at the head start, in order; set the timer for the first that cannot."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now_s = self._clock.now_s()
        while self._waiters:
            waiter, tokens = self._waiters[0]
            if not waiter.done():
                delay_s = self._delay_s(tokens, now_s)
                if delay_s is None:
                    return
                if delay_s > 0.0:
                    self._timer = self._clock.call_later(delay_s, self._start_waiters)
                    return
                self._take(tokens)
                waiter.set_result(None)
            self._waiters.popleft()

    def _take(self, tokens: float) -> None:
        self._in_flight += 1
        if self._requests is not None:
            self._requests.draw(1)
        if self._tokens is not None:
            self._tokens.draw(tokens)

    def _delay_s(self, tokens: float, now_s: float) -> float | None:
        """Seconds until a start is worth another look; 0: now; None: when somebody releases."""
        share = self._current_share(now_s)
        at_once = self._at_once(share)
        if at_once is not None and self._in_flight >= at_once:
            return None
        delay_s = max(0.0, self._paused_until_s - now_s)
        if self._requests is not None:
            delay_s = max(delay_s, self._requests.wait_s(1, share, now_s))
        if self._tokens is not None:
            delay_s = max(delay_s, self._tokens.wait_s(tokens, share, now_s))
        return delay_s

    def _at_once(self, share: float) -> int | None:
        if share >= 1.0:
            return self._ceiling
        return max(1, int(self._slowed_from * share))

    def _current_share(self, now_s: float) -> float:
        if self._share >= 1.0:
            return 1.0
        grown = self._share + (now_s - self._slowed_at_s) / RECOVERY_S
        if grown >= 1.0:
            self._share = 1.0
        return min(1.0, grown)
