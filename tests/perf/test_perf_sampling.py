"""The machine through a run: sampled while it goes on, bounded in number, and said to be unknown where it cannot be."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest
from msgspec.structs import replace
from tests.perf.stage_rows import sample

from flowgauge.perf import sampling
from flowgauge.perf.charts import FEWEST_SAMPLES
from flowgauge.perf.host import this_host
from flowgauge.perf.sampling import Sampler, system_summary


def sampled(seconds: float, pids: tuple[int, ...] = ()) -> Sampler:
    done = iter(range(10**6))
    sampler = Sampler(lambda: pids, lambda: next(done))

    async def run() -> None:
        async with sampler.sampling():
            await asyncio.sleep(seconds)

    asyncio.run(run())
    return sampler


def test_a_run_too_short_for_a_sample_has_one_all_the_same() -> None:
    (only,) = sampled(0.0).samples
    assert only.process_rss_bytes > 1_000_000
    assert only.open_files > 0


def test_samples_come_in_order_with_what_was_done_by_then() -> None:
    found = sampled(0.45).samples
    assert len(found) >= 3
    assert [one.episodes_done for one in found] == list(range(len(found)))
    assert [one.at_s for one in found] == sorted(one.at_s for one in found)


def test_the_first_samples_come_sooner_so_that_a_short_run_has_enough_for_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    async def run() -> None:
        sampler = Sampler(tuple, lambda: 0)
        async with sampler.sampling():
            while len(sampler.samples) < 6:
                await sleep(0)

    monkeypatch.setattr("flowgauge.perf.sampling.asyncio.sleep", noted)
    asyncio.run(run())
    assert pauses[:6] == [0.01, 0.02, 0.04, 0.08, 0.1, 0.1]
    assert sum(pauses[:FEWEST_SAMPLES]) < 0.1


def test_a_sample_counts_for_as_long_as_it_tells_of() -> None:
    found = [replace(sample(at_s), cpu_percent=percent) for at_s, percent in ((0.01, 100.0), (0.02, 100.0), (1.0, 0.0))]
    assert system_summary(found).cpu_percent == 2.0


def test_workers_count_and_those_that_are_gone_do_not() -> None:
    (alone,) = sampled(0.0).samples
    (twice,) = sampled(0.0, (os.getpid(), 2**22 - 1)).samples
    assert twice.process_rss_bytes > 1.5 * alone.process_rss_bytes


def test_in_a_long_run_every_second_one_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MOST_SAMPLES", 6)
    monkeypatch.setattr(sampling, "EVERY_S", 0.005)
    found = sampled(0.5).samples
    assert 3 <= len(found) <= 7
    assert found[-1].at_s > 0.2


def test_without_psutil_there_are_none_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    found = sampled(0.05)
    assert found.samples == []
    summary = system_summary(found.samples)
    assert (summary.available, summary.provider, summary.samples, summary.process_rss_bytes) == (False, "none", 0, None)


def test_the_host_is_named() -> None:
    host = this_host("class", "abc+")
    assert (host.machine, host.git, host.cores) == ("class", "abc+", os.cpu_count())
    assert host.cpu
    assert host.memory_bytes > 10**8
    assert {"flowgauge", "psutil"} <= host.versions.keys()
