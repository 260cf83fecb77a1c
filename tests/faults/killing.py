"""Plays that are killed: run in a process of their own, which dies where the test says.

The process is forked from a clean server that has everything imported, so that
hundreds of deaths take seconds. Every start of a node is written to a log that
outlives the process.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

from flowgauge.app.plays import resume_play, start_play
from flowgauge.app.workflows import save_workflow
from flowgauge.app.workspace import open_workspace
from flowgauge.define.workflow import parse_workflow_text
from flowgauge.model.play import NodeRun, Play, PlayEvent
from flowgauge.store.group import Group
from flowgauge.store.journal import GroupWriter

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["tests.faults.killing", "flowgauge.providers.gateway", "flowgauge.store.store", "flowgauge.store.postgres", "psycopg"]
)

When = Literal["before", "after"]

WORKFLOW = """
name: to-be-killed
inputs:
  - {name: topic, type: string, required: true}
config: {provider: mock, model: LATENCY}
nodes:
  - {id: outline, type: ai, prompt: "Outline {{ inputs.topic }}"}
  - id: route
    type: branch
    needs: [outline]
    cases: [{when: len(nodes.outline.text) > 0, then: [draft]}]
    otherwise: [never]
  - {id: never, type: ai, prompt: Not reached}
  - {id: draft, type: ai, needs: [outline], prompt: "Draft {{ nodes.outline.text }}"}
  - id: parts
    type: map
    needs: [draft]
    over: [one, two, three]
    concurrency: 2
    each: {type: ai, prompt: "Part {{ item }} of {{ nodes.draft.text }}"}
  - id: count
    type: python
    needs: [parts]
    code: |
      def run(parts: list) -> dict:
          return {"letters": sum(len(part["text"]) for part in parts)}
    with: {parts: "{{ nodes.parts.items }}"}
  - {id: title, type: ai, needs: [draft], prompt: "Title for {{ nodes.draft.text }}"}
  - {id: close, type: ai, needs: [count, title, never], prompt: "Close {{ nodes.title.text }} after {{ nodes.count.letters }}"}
output:
  text: "{{ nodes.close.text }}"
  letters: "{{ nodes.count.letters }}"
  never: "{{ nodes.never.text }}"
"""
INPUTS = {"topic": "tides"}


def start(db: str, log: Path, *, model: str = "fast", kill_at_write: int = 0, when: When = "after") -> BaseProcess:
    """A process that plays the workflow and dies by SIGKILL at a write of the journal, or lives where that is 0."""
    process = _CONTEXT.Process(target=_play, args=(db, str(log), model, kill_at_write, when))
    process.start()
    return process


def _play(db: str, log: str, model: str, kill_at_write: int, when: When) -> None:
    if kill_at_write:
        _die_at(kill_at_write, when)
    asyncio.run(_start(db, log, model))


async def _start(db: str, log: str, model: str) -> None:
    workflow = parse_workflow_text(WORKFLOW.replace("LATENCY", model)).workflow
    async with open_workspace(db, isolation="process") as workspace:
        saved = save_workflow(workspace.store, workflow, make_current=True)
        await start_play(workspace, saved.version, INPUTS, listener=_logger(log))


def _die_at(number: int, when: When) -> None:
    write = GroupWriter.write
    count = 0

    def dying(self: GroupWriter, group: Group) -> Any:
        nonlocal count
        count += 1
        if count == number and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = write(self, group)
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    GroupWriter.write = dying  # type: ignore[method-assign]


def _logger(log: str) -> Any:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def listener(event: PlayEvent) -> None:
        if event.kind in ("node_started", "node_retry"):
            os.write(file, f"{event.node_id}\n".encode())

    return listener


def starts(log: Path) -> Counter[str]:
    """How often each node was started, over all processes."""
    return Counter(log.read_text().split() if log.exists() else ())


async def finish(db: str, sid: str, log: Path) -> tuple[Play, tuple[NodeRun, ...]]:
    """What `flowgauge play resume` does."""
    async with open_workspace(db, isolation="process") as workspace:
        play = await resume_play(workspace, sid, listener=_logger(str(log)))
        return play, workspace.store.get_node_runs(sid)


__all__ = ["INPUTS", "WORKFLOW", "finish", "start", "starts"]
