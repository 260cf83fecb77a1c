"""Plays, node runs, benches and trials for tests: only what a test says differs from the ordinary."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from flowgauge.model.bench import Answer, Bench, BenchRecord, Case, Configuration, Target, Trial
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.ids import BENCHMARK, PLAY, content_hash, new_sid
from flowgauge.model.play import NodeRun, Play
from flowgauge.store.store import Store


def play(**fields: Any) -> Play:
    ordinary: dict[str, Any] = {
        "sid": new_sid(PLAY),
        "workflow_sid": "wf_1",
        "version_sid": "wv_1",
        "status": "running",
        "started_at": 1_000,
    }
    return Play(**ordinary | fields)


def node_run(**fields: Any) -> NodeRun:
    ordinary: dict[str, Any] = {"node_id": "classify", "status": "success", "started_at": 1_000, "duration_ms": 2.5}
    return NodeRun(**ordinary | fields)


def bench(**fields: Any) -> Bench:
    ordinary: dict[str, Any] = {
        "name": "shootout",
        "target": Target(kind="python", reference="pkg:fn", name="fn"),
        "configs": (Configuration(name="mini"), Configuration(name="large")),
        "cases": (Case(name="short", inputs={"ticket": "é\x00"}, expected={"label": 1}),),
    }
    return Bench(**ordinary | fields)


def trial(number: int = 0, *, answer: dict[str, Any] | None = None, **fields: Any) -> Trial:
    answered: dict[str, Any] = {"status": "success", "output": f"answer {number}", "duration_ms": 1.5}
    ordinary: dict[str, Any] = {
        "run_id": content_hash(b"%d" % number)[:16],
        "position": number,
        "config": "mini",
        "case": "short",
        "repetition": number,
        "answer": Answer(**answered | (answer or {})),
    }
    return Trial(**ordinary | fields)


def benchmark(**fields: Any) -> Benchmark:
    ordinary: dict[str, Any] = {"sid": new_sid(BENCHMARK), "bench_uid": "", "bench_id": "", "config": "mini", "created_at": 1_000}
    return Benchmark(**ordinary | fields)


def begin(store: Store, definition: Bench | None = None, definition_hash: str = "ab12cd34ef", **options: Any) -> BenchRecord:
    """A bench that this process owns."""
    record, how = store.start_bench(definition or bench(), definition_hash, 4, store.register_owner().sid, **options)
    assert how == "new"
    return record


def add(store: Store, bench_uid: str, *trials: Trial) -> None:
    """Store results, and wait for the disk."""
    for each in trials:
        store.journal.trial_finished(bench_uid, each)
    store.journal.wait()


def keep(store: Store, *plays: Play) -> None:
    """Store plays as they are, ended or not, and wait for the disk."""
    for each in plays:
        store.journal.play_started(each)
    store.journal.wait()


def save(store: Store, name: str = "triage", content: bytes = b"{}") -> str:
    """Save a workflow; its sid."""
    return store.save_version(name, "", content, content_hash(content))[0].sid


def run(awaitable: Awaitable[Any]) -> Any:
    async def waiting() -> Any:
        return await awaitable

    return asyncio.run(waiting())
