"""Runs code of a check in a worker process, with its limits."""

from __future__ import annotations

from flowgauge.model.ports import Job
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import Services, fail


async def run_job(services: Services, job: Job) -> Json:
    """What the function answered. Raises Failed with its line and message."""
    sandbox = await services.sandbox()
    outcome = await sandbox.call(job)
    if outcome.failure is not None:
        raise fail(outcome.failure, outcome.message, detail=outcome.traceback or outcome.stderr[-2000:])
    return outcome.value
