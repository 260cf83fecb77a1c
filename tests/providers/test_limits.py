from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowgauge.errors import Failed, UsageError
from flowgauge.providers.limits.limiter import Limit, Limiter
from flowgauge.providers.limits.settings import Limits, part_of, read_limits


class Ring:
    def __init__(self, ring: Callable[[], None]) -> None:
        self.ring: Callable[[], None] | None = ring

    def cancel(self) -> None:
        self.ring = None


class HeldClock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.at_s = 1000.0
        self._timers: list[tuple[float, int, Ring]] = []
        self._number = itertools.count()

    def now_s(self) -> float:
        return self.at_s

    def call_later(self, delay_s: float, ring: Callable[[], None]) -> Ring:
        timer = Ring(ring)
        heapq.heappush(self._timers, (self.at_s + delay_s, next(self._number), timer))
        return timer

    def pass_s(self, seconds: float) -> None:
        until_s = self.at_s + seconds
        while self._timers and self._timers[0][0] <= until_s:
            self.at_s, _, timer = heapq.heappop(self._timers)
            if timer.ring is not None:
                timer.ring()
        self.at_s = until_s

    @property
    def armed(self) -> int:
        return sum(timer.ring is not None for _, _, timer in self._timers)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def run(scenario: Callable[[HeldClock], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario(HeldClock()))


async def started(limiter: Limiter, count: int, order: list[int] | None = None) -> list[asyncio.Task[Any]]:
    """So many tasks that acquire and hold on, started in order."""

    async def one(number: int) -> Any:
        lease = await limiter.acquire()
        if order is not None:
            order.append(number)
        return lease

    tasks = [asyncio.create_task(one(number)) for number in range(count)]
    await settle()
    return tasks


def done(tasks: list[asyncio.Task[Any]]) -> int:
    return sum(task.done() for task in tasks)


async def drop(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_without_limits_nobody_waits() -> None:
    async def scenario(clock: HeldClock) -> None:
        tasks = await started(Limiter(Limit(), clock=clock), 1000)
        assert done(tasks) == 1000
        assert all(task.result().queue_ms == 0 for task in tasks)

    run(scenario)


def test_requests_at_once_are_limited_and_a_release_lets_the_next_one_start_in_order() -> None:
    async def scenario(clock: HeldClock) -> None:
        order: list[int] = []
        limiter = Limiter(Limit(concurrency=3), clock=clock)
        tasks = await started(limiter, 10, order)
        assert order == [0, 1, 2]
        clock.pass_s(2)
        tasks[1].result().release()
        await settle()
        assert order == [0, 1, 2, 3]
        assert tasks[3].result().queue_ms == 2000
        await drop(tasks)

    run(scenario)


def test_requests_a_minute_start_with_a_burst_and_go_on_evenly() -> None:
    async def scenario(clock: HeldClock) -> None:
        tasks = await started(Limiter(Limit(rpm=60), clock=clock), 40)
        assert done(tasks) == 6
        clock.pass_s(1)
        await settle()
        assert done(tasks) == 7
        clock.pass_s(20)
        await settle()
        assert done(tasks) == 27
        await drop(tasks)

    run(scenario)


def test_tokens_a_minute_are_counted_by_weight_and_corrected_by_what_was_used() -> None:
    async def scenario(clock: HeldClock) -> None:
        limiter = Limiter(Limit(tpm=6000), clock=clock)  # 600 at once, 100 a second
        first = await limiter.acquire(500)
        first.settle(600)
        second = asyncio.create_task(limiter.acquire(100))
        await settle()
        assert not second.done()
        clock.pass_s(1)
        await settle()
        assert second.done()

    run(scenario)


def test_a_request_larger_than_the_burst_starts_when_the_bucket_is_full_and_leaves_a_debt() -> None:
    async def scenario(clock: HeldClock) -> None:
        limiter = Limiter(Limit(tpm=6000), clock=clock)
        await limiter.acquire(1600)
        next_one = asyncio.create_task(limiter.acquire(100))
        clock.pass_s(10.9)
        await settle()
        assert not next_one.done()
        clock.pass_s(0.2)
        await settle()
        assert next_one.done()

    run(scenario)


def test_while_a_retry_after_runs_nobody_starts() -> None:
    async def scenario(clock: HeldClock) -> None:
        limiter = Limiter(Limit(), clock=clock)
        lease = await limiter.acquire()
        lease.throttled(30)
        lease.release()
        tasks = await started(limiter, 1)
        clock.pass_s(29.9)
        await settle()
        assert done(tasks) == 0
        clock.pass_s(0.2)
        await settle()
        assert done(tasks) == 1
        assert tasks[0].result().queue_ms == pytest.approx(30_100)  # the task runs when the test lets it

    run(scenario)


def test_a_pause_too_long_to_sit_out_fails_those_who_wait_and_those_who_come() -> None:
    async def scenario(clock: HeldClock) -> None:
        limiter = Limiter(Limit(concurrency=1), provider="openai", clock=clock)
        lease = await limiter.acquire()
        waiting = await started(limiter, 2)
        lease.throttled(3600)
        lease.release()
        outcomes = await asyncio.gather(*waiting, limiter.acquire(), return_exceptions=True)
        for outcome in outcomes:
            assert isinstance(outcome, Failed)
            assert (outcome.failure.kind, outcome.failure.retry_after_s) == ("rate_limited", 3600)
        clock.pass_s(3600)
        (await limiter.acquire()).release()
        assert limiter.in_flight == 0

    run(scenario)


def test_a_burst_of_429_halves_once_and_the_pace_grows_back_with_time() -> None:
    async def scenario(clock: HeldClock) -> None:
        limiter = Limiter(Limit(concurrency=16), clock=clock)

        async def room() -> int:
            tasks = await started(limiter, 40)
            count = done(tasks)
            for task in tasks[count:]:
                task.cancel()
            await settle()
            for task in tasks[:count]:
                task.result().release()
            return count

        burst = await started(limiter, 16)
        for task in burst:
            task.result().throttled(None)
            task.result().release()
        assert await room() == 8
        clock.pass_s(15)
        assert await room() == 12
        clock.pass_s(60)
        assert await room() == 16

    run(scenario)


def test_a_second_burst_halves_again() -> None:
    async def scenario(clock: HeldClock) -> None:
        limiter = Limiter(Limit(), clock=clock)
        for expected in (8, 4, 2, 1, 1):
            tasks = await started(limiter, 16)
            running = [task for task in tasks if task.done()]
            running[0].result().throttled(None)
            await drop(tasks[len(running) :])
            for task in running:
                task.result().release()
            again = await started(limiter, 16)
            assert done(again) == expected
            await drop(again[expected:])
            for task in again[:expected]:
                task.result().release()

    run(scenario)


def test_a_waiter_that_is_cancelled_in_the_moment_of_its_turn_gives_it_to_the_next() -> None:
    async def scenario(clock: HeldClock) -> None:
        limiter = Limiter(Limit(concurrency=1), clock=clock)
        lease = await limiter.acquire()
        tasks = await started(limiter, 2)
        lease.release()  # the first waiter's turn has come, but it has not run yet
        tasks[0].cancel()
        await settle()
        assert tasks[0].cancelled()
        assert tasks[1].done()
        assert limiter.in_flight == 1

    run(scenario)


def test_no_timer_is_left_when_nobody_waits() -> None:
    async def scenario(clock: HeldClock) -> None:
        tasks = await started(Limiter(Limit(rpm=1), clock=clock), 3)
        assert clock.armed == 1
        await drop(tasks)
        assert clock.armed == 0

    run(scenario)


ACTIONS = st.lists(st.tuples(st.sampled_from(["ask", "release", "cancel", "pass", "throttle"]), st.integers(0, 30)), max_size=80)


@settings(max_examples=150, deadline=None)
@given(actions=ACTIONS, at_once=st.integers(1, 5), rpm=st.sampled_from([None, 30, 600]))
def test_whatever_happens_the_limit_holds_the_order_holds_and_nothing_leaks(
    actions: list[tuple[str, int]], at_once: int, rpm: float | None
) -> None:
    async def scenario(clock: HeldClock) -> None:
        limiter = Limiter(Limit(concurrency=at_once, rpm=rpm), clock=clock)
        order: list[int] = []
        asked: list[asyncio.Task[Any]] = []
        held: list[Any] = []

        async def one(number: int) -> None:
            lease = await limiter.acquire()
            order.append(number)
            held.append(lease)

        for action, number in actions:
            if action == "ask":
                asked.append(asyncio.create_task(one(len(asked))))
            elif action == "release" and held:
                held.pop(number % len(held)).release()
            elif action == "throttle" and held:
                held[number % len(held)].throttled(number / 10)
            elif action == "cancel" and asked:
                asked[number % len(asked)].cancel()
            elif action == "pass":
                clock.pass_s(number)
            if number % 3 or action == "ask":  # those who asked are in line before anything else happens
                await settle()
            assert limiter.in_flight <= at_once
        await settle()
        while not all(task.done() for task in asked):
            while held:
                held.pop().release()
            clock.pass_s(10)
            await settle()
            assert limiter.in_flight <= at_once
        for lease in held:
            lease.release()
        assert order == sorted(order)
        assert limiter.in_flight == 0
        assert clock.armed == 0

    run(scenario)


@settings(max_examples=50, deadline=None)
@given(rpm=st.integers(1, 500), minutes=st.integers(1, 3))
def test_no_minute_has_more_requests_than_the_limit_and_its_burst(rpm: int, minutes: int) -> None:
    async def scenario(clock: HeldClock) -> None:
        tasks = await started(Limiter(Limit(rpm=rpm), clock=clock), rpm * (minutes + 1) + 1)
        begun = clock.at_s
        while clock.at_s < begun + minutes * 60:
            clock.pass_s(1)
        await settle()
        ceiling = rpm * minutes + max(1.0, rpm / 10)
        assert ceiling - 1.001 <= done(tasks) <= ceiling + 0.001
        await drop(tasks)

    run(scenario)


def test_each_provider_has_one_limiter_and_the_settings_name_it() -> None:
    limits = Limits({"openai": Limit(concurrency=1)})
    assert limits.of("openai") is limits.of("openai")
    assert limits.of("openai") is not limits.of("anthropic")


def test_limits_are_read_from_their_variable() -> None:
    text = "openai=rpm:500,tpm:200_000,concurrency:50; anthropic=rpm:50  *=concurrency:20"
    assert read_limits(text) == {
        "openai": Limit(rpm=500, tpm=200_000, concurrency=50),
        "anthropic": Limit(rpm=50),
        "*": Limit(concurrency=20),
    }
    assert read_limits("") == {}


@pytest.mark.parametrize(
    "text", ["openai", "openai=", "openai=rpm", "openai=rpm:x", "openai=rps:5", "=rpm:5", "openai=rpm:0", "openai=rpm:-1"]
)
def test_limits_that_cannot_be_read_are_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(UsageError, match=r"FLOWGAUGE_LIMITS.*rpm:500"):
        read_limits(text)


@pytest.mark.parametrize(
    ("whole", "processes", "part"),
    [
        pytest.param(Limit(rpm=500, tpm=1000, concurrency=50), 4, Limit(rpm=125, tpm=250, concurrency=12), id="equal parts"),
        pytest.param(Limit(rpm=3, tpm=3, concurrency=3), 8, Limit(rpm=1, tpm=1, concurrency=1), id="at least one"),
        pytest.param(Limit(rpm=60), 2, Limit(rpm=30), id="no limit stays none"),
        pytest.param(Limit(rpm=5, concurrency=1), 1, Limit(rpm=5, concurrency=1), id="one process has the whole of it"),
    ],
)
def test_processes_share_a_limit(whole: Limit, processes: int, part: Limit) -> None:
    assert part_of(whole, processes) == part
