"""benchmark_flow for tests: played from its template to its end, by a host in this process or by a server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from flowgauge.model.play import FINISHED

INSTANT = {"model": "mock/default", "extra": {"mock": {"latency_ms": 0}}}
"""Laid over a workflow: offline, and at once."""
ASK = """
name: ask
description: Answers a question about gardens.
inputs:
  - {name: question, required: true, description: What the user wants to know}
  - {name: words, type: integer, default: 20}
config: {model: mock/default, extra: {mock: {latency_ms: 0}}}
nodes:
  - {id: answer, type: ai, prompt: "Answer in {{ inputs.words }} words: {{ inputs.question }}"}
output: "{{ nodes.answer.text }}"
"""


class Operations(Protocol):
    """A host, or whoever calls one."""

    async def call(self, name: str, arguments: Mapping[str, Any], /) -> Any:
        """An operation by name."""


async def stored(host: Operations, text: str = ASK, **changes: str) -> dict[str, Any]:
    """A workflow of the text, with some words of it replaced."""
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    saved: dict[str, Any] = await host.call("workflow_set", {"text": text})
    return saved


async def flow_play(host: Operations, *, config: dict[str, Any] | None = None, **inputs: Any) -> dict[str, Any]:
    """The play once it has ended, however that was, with all its node runs."""
    flow = await host.call("workflow_from_template", {"name": "benchmark_flow"})
    asked = {"workflow_sid": flow["sid"], "input_data": inputs, "config": INSTANT if config is None else config}
    started = await host.call("play_start", asked)
    while (await host.call("play_get", {"sid": started["sid"]}))["status"] not in FINISHED:
        await asyncio.sleep(0.01)
    play: dict[str, Any] = await host.call("play_get", {"sid": started["sid"], "with_runs": True})
    return play


async def flow_benchmark(host: Operations, *, config: dict[str, Any] | None = None, **inputs: Any) -> dict[str, Any]:
    """The benchmark that a play of it has stored."""
    play = await flow_play(host, config=config, **inputs)
    assert play["status"] == "success", play["error"]
    benchmark: dict[str, Any] = await host.call("benchmark_get", {"sid": play["output"]["benchmark_sid"], "runs_limit": 1000})
    return benchmark
