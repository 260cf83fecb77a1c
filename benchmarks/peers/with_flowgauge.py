"""Flowgauge: whole benches through `fg.abench`, durable in SQLite, from opening the store to the stored aggregate."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.nothing import nothing
from benchmarks.peers.told import MODEL, PROMPT, Asked, asked, tell, version_of

import flowgauge as fg
from flowgauge.app.bench_api import BenchResult
from flowgauge.define.workflow import parse_workflow

CALL_NODE = {"id": "n", "type": "call", "function": "benchmarks.peers.nothing:nothing"}
AI_NODE = {"id": "n", "type": "ai", "prompt": PROMPT}
EQUALS = {"type": "equals", "path": "output", "value": "ok"}


def target(asked: Asked) -> Any:
    """What each trial calls."""
    if asked.what in ("noop", "cases"):
        return nothing
    if asked.what == "play":
        return parse_workflow({"name": "one-node", "nodes": [CALL_NODE], "output": "{{ nodes.n.value }}"}).workflow
    config = {"provider": "openai", "model": MODEL, "base_url": asked.url}
    return parse_workflow({"name": "one-call", "config": config, "nodes": [AI_NODE], "output": "{{ nodes.n.text }}"}).workflow


async def benched(asked: Asked, count: int, name: str) -> BenchResult:
    definition: dict[str, Any] = {"name": name, "configs": [{"name": "only"}], "runs": count}
    if asked.what != "calls":
        definition["checks"] = [EQUALS]
    if asked.what == "cases":
        cases = [{"name": f"case-{number}", "state": {"prompt": PROMPT}} for number in range(count)]
        definition |= {"runs": 1, "state_variants": cases}
    return await fg.abench(target(asked), definition, max_concurrency=asked.at_once, db=str(Path(asked.folder) / f"{name}.db"))


async def measure(asked: Asked) -> None:
    os.environ["OPENAI_API_KEY"] = "not-a-key"
    await benched(asked, asked.at_once, "warm-up")
    worked, begun = time.process_time(), time.perf_counter()
    result = await benched(asked, asked.trials, "measured")
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    only = result.configs["only"]
    if only.success.count != asked.trials or only.latency is None:
        raise SystemExit(f"only {only.success.count} of {asked.trials} trials succeeded")
    tell(
        seconds,
        run_seconds=result.outcome.record.duration_ms / 1000,
        cpu_us=worked / asked.trials * 1e6,
        p50_ms=only.latency.p50,
        p95_ms=only.latency.p95,
        version=version_of("flowgauge"),
    )


if __name__ == "__main__":
    asyncio.run(measure(asked()))
