from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

import pytest

from flowgauge.model.ports import Job, Outcome
from flowgauge.sandbox import WorkerPool, landlock_abi

Tier = Literal["landlock", "process"]
RunJobs = Callable[..., list[Outcome]]

needs_landlock = pytest.mark.skipif(landlock_abi() < 1, reason="this kernel has no Landlock")


def run_in(tier: Tier) -> RunJobs:
    """Runs jobs one after the other in one pool of one worker."""

    def run(*jobs: Job) -> list[Outcome]:
        async def play() -> list[Outcome]:
            async with WorkerPool(1, tier) as pool:
                return [await pool.call(job) for job in jobs]

        return asyncio.run(play())

    return run


@pytest.fixture(params=["process", pytest.param("landlock", marks=needs_landlock)])
def run(request: pytest.FixtureRequest) -> RunJobs:
    """Both tiers in turn."""
    return run_in(request.param)


@pytest.fixture(params=[pytest.param("landlock", marks=needs_landlock)])
def run_walled(request: pytest.FixtureRequest) -> RunJobs:
    """Tier landlock only."""
    return run_in(request.param)
