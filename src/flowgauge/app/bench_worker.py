"""The job of a bench in a worker process: made from a payload, with a store and services of its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import msgspec

from flowgauge.app.bench_job import Setting, open_job
from flowgauge.app.hosted import open_hosted
from flowgauge.run.trial_job import BenchJob


@contextlib.asynccontextmanager
async def worker_job(payload: bytes) -> AsyncIterator[BenchJob]:
    """The same job in a worker process: it opens the store by itself and writes its own plays."""
    from flowgauge.providers.limits import settings

    setting = msgspec.json.decode(payload, type=Setting)
    settings.share(setting.workers)
    async with (
        open_hosted(setting.db, isolation=setting.isolation) as workspace,
        open_job(workspace, setting, in_worker=True) as (job, _),
    ):
        yield job
