"""The engine on the real journal: SQLite, grouped writes, a real file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.stage import make, node, on_stage

from flowgauge.errors import StoreFailure
from flowgauge.model.ids import PLAY, content_hash, new_sid
from flowgauge.model.play import NodeRun, Play
from flowgauge.nodes.codec import write_workflow
from flowgauge.run.engine import Engine
from flowgauge.run.graph import compiled
from flowgauge.store import open_store
from flowgauge.store.store import Store

STARTS: list[str] = []


async def work(name: str) -> str:
    STARTS.append(name)
    return name


def call(node_id: str, **fields: Any) -> dict[str, Any]:
    return node(id=node_id, function=f"{__name__}:work", **{"with": {"name": node_id}, **fields})


EACH = node(function=f"{__name__}:work", **{"with": {"name": "{{ item }}"}})
WORKFLOW = {
    "nodes": [
        call("a"),
        node("ai", id="say", needs=["a"], prompt="hello"),
        node("map", id="m", needs=["a"], over=["x", "y", "z"], each=EACH),
        call("never", needs=["a"], when="false"),
        call("end", needs=["say", "m"]),
    ],
    "output": "{{ nodes.m.items }}",
}


def fresh(store: Store) -> tuple[bytes, Play]:
    content = write_workflow(make(WORKFLOW))
    record, version, _ = store.save_version("w", "", content, content_hash(content), make_current=True)
    owner = store.register_owner(60)
    return content, Play(sid=new_sid(PLAY), workflow_sid=record.sid, version_sid=version.sid, owner_sid=owner.sid)


def played(store: Store, content: bytes, play: Play, before: tuple[NodeRun, ...] = ()) -> Play:
    async def once() -> Play:
        async with on_stage() as stage:
            return await Engine(stage.services, store.journal).play(compiled(content), play, before=before)

    STARTS.clear()
    return asyncio.run(once())


def test_play_comes_back_from_the_store_as_it_was(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.db")) as store:
        content, play = fresh(store)
        done = played(store, content, play)
        assert store.get_play(play.sid) == done
        runs = store.get_node_runs(play.sid)
        assert {run.node_id: run.status for run in runs} == {
            "a": "success", "say": "success", "m": "success", "end": "success", "never": "skipped",
            "m[0]": "success", "m[1]": "success", "m[2]": "success",
        }  # fmt: skip
        assert done.tokens_prompt == sum(run.tokens_prompt for run in runs) > 0


def test_resume_from_what_the_store_gives_back(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.db")) as store:
        content, play = fresh(store)
        done = played(store, content, play)
        runs = store.get_node_runs(play.sid)
        kept = tuple(run for run in runs if run.node_id in ("a", "m[1]", "never"))
        again = played(store, content, play, kept)
        assert again.output == done.output
        assert sorted(STARTS) == ["end", "x", "z"]
        assert len(store.get_node_runs(play.sid)) == len(runs), "the same attempts are the same rows"


def test_store_that_was_closed_is_told_to_the_caller(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.db")) as store:
        content, play = fresh(store)
        journal = store.journal
    with pytest.raises(StoreFailure):

        async def once() -> None:
            async with on_stage() as stage:
                await Engine(stage.services, journal).play(compiled(content), play)

        asyncio.run(once())
