"""Plays, node runs, benches and trials for tests: only what a test says differs from the ordinary."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable
from typing import Any

import msgspec
from hypothesis import strategies as st

from flowgauge.model.bench import Answer, Bench, BenchRecord, Case, Configuration, Target, Trial
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.ids import BENCHMARK, PLAY, content_hash, new_sid
from flowgauge.model.play import Failure, NodeRun, Owner, Play
from flowgauge.store.process import pid_started
from flowgauge.store.schema import owners
from flowgauge.store.store import Store

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NUMBER = st.floats(min_value=0, max_value=1e12, allow_nan=False)
COUNT = st.integers(0, 2**62)
FAILURE = st.none() | st.builds(Failure, kind=st.just("internal"), message=st.text(), node_id=st.text(), retry_after_s=st.none() | NUMBER)


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


def elsewhere(store: Store, lease_s: float) -> Owner:
    """An owner on another machine: only its lease speaks for it."""
    owner = msgspec.structs.replace(store.register_owner(lease_s), host="elsewhere", sid=f"ow_elsewhere{lease_s}")
    with store._database.writing() as connection:
        connection.execute(owners.insert().values(**msgspec.structs.asdict(owner)))
    return owner


def dead(store: Store) -> Owner:
    """An owner on this machine that was killed, whose lease still runs."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = pid_started(process.pid)
        process.kill()
    assert started is not None
    owner = msgspec.structs.replace(store.register_owner(3600), pid=process.pid, pid_started=started, sid="ow_dead")
    with store._database.writing() as connection:
        connection.execute(owners.insert().values(**msgspec.structs.asdict(owner)))
    return owner
