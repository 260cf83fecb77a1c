"""Hosts for tests: in this process, on a store of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from flowgauge.app.host import Host, open_host
from flowgauge.model.play import FINISHED

Answer = TypeVar("Answer")

TWO_STEPS = """
name: two-steps
description: Outlines a topic, then writes about it.
inputs:
  - {name: topic, type: string, required: true}
  - {name: words, type: integer, default: 20}
config: {provider: mock, model: fast, extra: {mock: {latency_ms: LATENCY}}}
nodes:
  - {id: outline, type: ai, prompt: "Outline {{ inputs.topic }}"}
  - {id: draft, type: ai, needs: [outline], prompt: "Draft {{ nodes.outline.text }}"}
output: {text: "{{ nodes.draft.text }}"}
"""
CASES = [{"name": f"case {number}", "inputs": {"topic": f"topic {number}"}} for number in range(4)]


def hosted(db: str, work: Callable[[Host], Awaitable[Answer]], **options: Any) -> Answer:
    """Do something with a host, and close it."""

    async def main() -> Answer:
        async with open_host(db, lease_s=2.0, isolation="process", **options) as host:
            return await work(host)

    return asyncio.run(main())


async def saved(host: Host, *, latency_ms: int = 1, **change: Any) -> dict[str, Any]:
    """The workflow of these tests, stored."""
    text = TWO_STEPS.replace("LATENCY", str(latency_ms))
    for old, new in change.items():
        text = text.replace(old, new)
    answer: dict[str, Any] = await host.call("workflow_set", {"text": text})
    return answer


async def ended_play(host: Host, sid: str) -> dict[str, Any]:
    """A play once it has ended."""
    while (play := await host.call("play_get", {"sid": sid}))["status"] not in FINISHED:
        await asyncio.sleep(0.01)
    return dict(play)


async def ended_bench(host: Host, bench_id: str) -> dict[str, Any]:
    """A bench once it has ended."""
    while (bench := await host.call("bench_get", {"bench_id": bench_id}))["status"] == "running":
        await asyncio.sleep(0.01)
    return dict(bench)


async def benched(host: Host, workflow_sid: str, **options: Any) -> dict[str, Any]:
    """A bench of a workflow, measured."""
    asked = {"workflow_sid": workflow_sid, "configs": {"cases": CASES}, **options}
    started = await host.call("benchmark_start", asked)
    return await ended_bench(host, started["bench_id"])
