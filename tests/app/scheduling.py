"""Hosts whose clock the test moves, and the schedules that they run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from flowgauge.app.host import Host
from flowgauge.app.schedules import Draft, put_schedule
from flowgauge.app.workspace import open_workspace
from flowgauge.model.service import Schedule
from flowgauge.run.clock import SystemClock

CASES = [{"name": "a", "inputs": {"topic": "one"}}, {"name": "b", "inputs": {"topic": "two"}}]
CHECKS = [{"type": "contains", "path": "output.text", "value": "right"}]
WORKFLOW = """
name: triage
inputs: [{name: topic, type: string, required: true}]
config: {provider: mock, model: fast, extra: {mock: {latency_ms: LATENCY}}}
nodes:
  - {id: say, type: ai, prompt: "Say {{ inputs.topic }}"}
output: {text: "ANSWER {{ nodes.say.text }}"}
"""


class MovedClock(SystemClock):
    """The real clock, moved by the test. Pauses are not waited for."""

    def __init__(self) -> None:
        self.moved_ms = 0
        self.sleeps: list[float] = []

    def now_ms(self) -> int:
        return super().now_ms() + self.moved_ms

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        await asyncio.sleep(0)


class Server:
    """A host without loops of its own: it looks when the test says so."""

    def __init__(self, host: Host, clock: MovedClock) -> None:
        self.host = host
        self.clock = clock
        self.store = host.store

    def pass_by(self, seconds: float) -> None:
        """Time passes, forwards or back."""
        self.clock.moved_ms += int(seconds * 1000)

    async def look(self) -> None:
        """Look for what is due and wait until it has ended."""
        await self.host.schedules.look()
        await self.rest()

    async def rest(self) -> None:
        while tasks := tuple(self.host.schedules._tasks.values()):
            await asyncio.wait(tasks)

    async def save(self, *, answer: str = "right", latency_ms: int = 0) -> str:
        """The workflow, with this answer; its version's sid."""
        text = WORKFLOW.replace("ANSWER", answer).replace("LATENCY", str(latency_ms))
        saved = await self.host.call("workflow_set", {"text": text})
        return str(saved["version"]["sid"])

    def add(self, name: str = "nightly", **fields: Any) -> Schedule:
        """Every hour, two cases, four runs each, checked."""
        request = {"workflow_sid": "triage", "configs": {"cases": CASES, "checks": CHECKS}, "runs": 4}
        ordinary: dict[str, Any] = {"request": request} | ({} if "cron" in fields else {"every_s": 3600})
        return put_schedule(self.store, Draft(name=name, **ordinary | fields), now_ms=self.clock.now_ms()).schedule

    def get(self, name: str = "nightly") -> Schedule:
        return self.store.get_schedule(name)

    async def kinds(self) -> list[str]:
        """The events of schedules, in their order."""
        return [event.kind for event in await self.events()]

    async def events(self) -> list[Any]:
        await self.host.hub._keep()
        return [event for event in self.store.events_after(0) if event.kind.startswith("schedule_")]


@contextlib.asynccontextmanager
async def serving(db: str) -> AsyncIterator[Server]:
    """One host on a store."""
    async with open_workspace(db, isolation="process", lease_s=2.0) as workspace:
        clock = workspace.services.clock = MovedClock()
        host = Host(workspace, log=workspace.store)
        try:
            yield Server(host, clock)
        finally:
            await host.stop(0.5)
