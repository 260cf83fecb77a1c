"""Benches that are killed: 200 trials in a process of their own, which dies where the test says.

The process is forked from a clean server that has everything imported. Every
call of a model or a function is written to a log that outlives the process.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

import msgspec

from flowgauge.app.bench import BenchRequest, Follower, Started, run_bench, summary_of
from flowgauge.app.workspace import open_workspace
from flowgauge.model.exchange import ModelRequest
from flowgauge.providers.mock.provider import Decision, MockProvider
from flowgauge.report.bench_json import BenchReport
from flowgauge.store import open_store

Kind = Literal["workflow", "python"]
TRIALS = 200
AT_ONCE = 10
BENCH_ID = "to-be-killed"
LOG = "FLOWGAUGE_TEST_LOG"

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["tests.faults.killing", "tests.faults.killing_bench", "flowgauge.providers.gateway", "flowgauge.store.postgres", "psycopg"]
    + [f"flowgauge.{name}" for name in ("app.bench_job", "define.bench", "define.workflow", "score.table", "aggregate.benchmarks")]
)

WORKFLOW = """
name: to-be-killed
inputs: [{name: topic, type: string, required: true}]
config: {provider: mock, model: fast, extra: {mock: {latency_ms: 4}}}
nodes:
  - {id: sort, type: ai, prompt: "good or bad? {{ inputs.topic }}"}
  - {id: reply, type: ai, needs: [sort], prompt: "Answer to this {{ nodes.sort.text }} one: {{ inputs.topic }}"}
output: {label: "{{ nodes.sort.text }}", text: "{{ nodes.reply.text }}"}
"""
CASES = [{"name": f"case {number}", "inputs": {"topic": f"topic {number}"}} for number in range(TRIALS // 2)]
CONFIGS = [{"name": name, "workflow_overrides": {"config": {"temperature": degree}}} for name, degree in (("cold", 0), ("warm", 1))]
"""Two temperatures: no two trials make the same request, so that an answer does not depend on which came first."""
BENCHES: dict[Kind, dict[str, Any]] = {
    "workflow": {"configs": CONFIGS, "cases": CASES, "checks": [{"type": "equals", "path": "output.label", "value": "good"}]},
    "python": {"configs": CONFIGS, "cases": CASES[:20], "runs": 5, "checks": [{"type": "contains", "value": "7"}]},
}


async def function(topic: str, config: dict[str, Any]) -> dict[str, Any]:
    """Deterministic; one topic in ten fails."""
    note(f"{topic} {config['temperature']}")
    await asyncio.sleep(0.004)
    if topic.endswith("3"):
        raise ValueError(topic)
    return {"output": f"{topic} at {config['temperature']}", "tokens_prompt": len(topic), "tokens_completion": 2, "cost_usd": 0.001}


def note(line: str) -> None:
    """Into the log, if there is one: one line, written whole."""
    if path := os.environ.get(LOG):
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(log, f"{line}\n".encode())
        os.close(log)


def calls(log: Path) -> Counter[str]:
    """What was called how often, over all processes."""
    return Counter(line for line in (log.read_text().splitlines() if log.exists() else ()) if line != "begun")


def start(db: str, log: Path, kind: Kind) -> BaseProcess:
    """A process that runs the bench, until it is killed."""
    process = _CONTEXT.Process(target=run, args=(db, str(log), kind))
    process.start()
    return process


def run(db: str, log: str, kind: Kind) -> None:
    """What the command does, and what the same command does again."""
    os.environ[LOG] = log
    decide = MockProvider.decide

    def noting(self: MockProvider, request: ModelRequest) -> Decision:
        note(f"{request.temperature} {request.messages[-1]}")
        return decide(self, request)

    MockProvider.decide = noting  # type: ignore[method-assign]
    try:
        asyncio.run(_run(db, kind))
    finally:
        MockProvider.decide = decide  # type: ignore[method-assign]
        del os.environ[LOG]


class _Begun(Follower):
    def started(self, started: Started) -> None:
        note("begun")


async def _run(db: str, kind: Kind) -> None:
    async with open_workspace(db, isolation="process") as workspace:
        request = BenchRequest(
            workflow=_saved(workspace.store) if kind == "workflow" else "",
            target="" if kind == "workflow" else f"python:{__name__}:function",
            configs=BENCHES[kind],
            options={"name": "to-be-killed", "max_concurrency": AT_ONCE},
            bench_id=BENCH_ID,
            isolation="process",
        )
        await run_bench(workspace, request, follower=_Begun())


def _saved(store: Any) -> str:
    from flowgauge.app.workflows import save_workflow
    from flowgauge.define.workflow import parse_workflow_text

    return str(save_workflow(store, parse_workflow_text(WORKFLOW).workflow, make_current=True).record.sid)


_TIMES = {
    "created_at", "finished_at", "started_at", "duration_ms", "queue_ms", "backoff_ms", "backoff_ms_total", "score_ms", "first_token_ms",
    "share", "fastest", "pareto", "notes",
}  # fmt: skip
_SIDS = {"uid", "owner_sid", "play_sid", "reference", "trace_id"}
_REPEATED = {"repeated", "repeated_calls", "interruptions"}
_PLACE = {"commit"}
"""Somebody may commit while a soak runs."""


def report(db: str) -> dict[str, Any]:
    """The JSON report of the bench by path, without times and who is fastest, sids, and the count of repeated calls."""
    with open_store(db) as store:
        record = store.get_bench(BENCH_ID)
        trials = tuple(store.iter_trials(record.uid))
        whole = BenchReport(format="flowgauge-bench-report", version=1, command="", summary=summary_of(store, record), trials=trials)
    told = [note for note in whole.summary.notes if "outside calls were made again" not in note]
    return dict(_flat("", msgspec.to_builtins(whole) | {"told": told}))


def difference(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Where two reports differ: (found, expected)."""
    return {path: (found.get(path), expected.get(path)) for path in found | expected if found.get(path) != expected.get(path)}


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _TIMES | _SIDS | _REPEATED | _PLACE:
                yield from _flat(f"{path}.{key}", item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _flat(f"{path}[{index}]", item)
    else:
        yield path, value
