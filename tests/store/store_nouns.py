"""Plays and node runs for tests: only what a test says differs from the ordinary."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from flowgauge.model.ids import PLAY, content_hash, new_sid
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
