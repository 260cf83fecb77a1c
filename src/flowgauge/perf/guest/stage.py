"""A worker's stage: every row made ready once, then one episode after the other, each on clean boards.

Comes in: orders. Goes out: answers with whole artifacts. An agent runs under
its limits, and what it leaves behind (files, children, threads, variables,
names that it rebound) is cleared before the next; a worker that cannot be cleared asks to be replaced.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from pathlib import Path

import msgspec

from flowgauge.errors import FlowgaugeError, UsageError
from flowgauge.model.redaction import Redactor, secrets_of
from flowgauge.perf.guest.agent import AgentPlayer
from flowgauge.perf.guest.audit import Audit
from flowgauge.perf.guest.ending import Ended, artifact_of
from flowgauge.perf.guest.offline import cut_off
from flowgauge.perf.guest.services import EpisodeServices, WorkerServices, opened_tape
from flowgauge.perf.guest.shared import SharedModules
from flowgauge.perf.guest.workflow import WorkflowPlayer
from flowgauge.perf.orders import EpisodeAnswer, EpisodeOrder, PreparedRow, Setup, Started
from flowgauge.providers.mock.profiles import load_profiles
from flowgauge.run.targets.importing import find_object
from flowgauge.sandbox.guest.job import limit_memory
from flowgauge.sandbox.guest.state import State, children

_POOL_THREAD = "asyncio_"


class Stage:
    """Made by `open`, for the worker's whole life."""

    def __init__(self, setup: Setup, scratch: str, state: State) -> None:
        self._setup = setup
        self._scratch = scratch
        self._state = state
        state.stream_bytes = setup.output_kb << 10  # the parent counts what arrives, and judges
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._redact = Redactor(secrets_of(os.environ))
        self._profiles = load_profiles()
        self._audit = Audit(scratch, setup.folder)
        self._services: WorkerServices = find_object(setup.services)()
        self._players = [self._player(number, prepared) for number, prepared in enumerate(setup.rows, 1)]
        self._warm()
        self._shared = SharedModules()

    def run(self, order: EpisodeOrder) -> EpisodeAnswer:
        """One episode."""
        prepared, player = self._setup.rows[order.row], self._players[order.row]
        with opened_tape(order.tape, self._redact) as tape:
            services = EpisodeServices(self._services, tape, self._profiles)
            if isinstance(player, WorkflowPlayer):
                ended, retire = player.play(order.seed, services, self._loop), ""
                self._state.spared = frozenset(children(self._state.pid))
            else:
                ended, retire = self._contained(player, order.seed, services)
        return EpisodeAnswer(artifact=artifact_of(prepared, order, ended, self._setup, self._redact), retire=retire)

    def _player(self, number: int, prepared: PreparedRow) -> AgentPlayer | WorkflowPlayer:
        """Where this ends the process, or does not end, the parent reads which row it was."""
        row, folder = prepared.row, Path(self._setup.folder)
        if self._setup.progress:
            Path(self._setup.progress).write_text(f"row {number} ({row.name})", encoding="utf-8")
        try:
            return WorkflowPlayer(prepared, folder) if prepared.workflow else AgentPlayer(prepared, folder, self._audit)
        except FlowgaugeError as error:
            raise UsageError(f"Row {number}: {error.message}", remedy=error.remedy) from error

    def _contained(self, player: AgentPlayer, seed: int, services: EpisodeServices) -> tuple[Ended, str]:
        """An agent under its limits, and its traces cleared."""
        state, setup = self._state, self._setup
        ours, tempfile.tempdir = tempfile.tempdir, self._scratch
        state.begin()
        limit_memory(state, setup.memory_mb)
        try:
            ended = player.play(seed, services, self._loop)
        finally:
            state.restore_builtins()
            self._shared.restore()
            tempfile.tempdir = ours
            limit_memory(state, 0)
        if os.getpid() != state.pid:
            os._exit(0)  # a fork that the agent let run on: its parent answers
        written_bytes = _size_bytes(self._scratch)
        if written_bytes > setup.file_mb << 20 and ended.termination in ("completed", "wrong_answer", "error"):
            ended = msgspec.structs.replace(ended, termination="file_limit", reason=f"It wrote more than {setup.file_mb} MB.")
        state.own_threads = sum(thread.name.startswith(_POOL_THREAD) for thread in threading.enumerate())
        retire = state.restore()
        return ended, retire or ("it ran out of memory" if ended.termination == "memory_limit" else "")

    def _warm(self) -> None:
        """Load now what the first episode would load: an episode's time is its own."""
        self._services.gateway.price_table  # noqa: B018 - reading it loads the prices
        players = [player for player in self._players if isinstance(player, WorkflowPlayer)]
        if any(player.has_python for player in players):
            pool = self._loop.run_until_complete(self._services.sandbox())
            self._loop.run_until_complete(pool.warm(1))  # type: ignore[attr-defined]  # a pool of our own, not any sandbox
        self._state.spared = frozenset(children(self._state.pid))


def opened(setup: Setup, scratch: str, state: State) -> tuple[Stage | None, Started]:
    """A stage, or why there can be none."""
    network = cut_off() if setup.offline else ""
    try:
        stage = Stage(setup, scratch, state)
    except FlowgaugeError as error:
        return None, Started(error=str(error))
    return stage, Started(network=network)


def _size_bytes(folder: str) -> int:
    """Of all files below a folder."""
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                total += _size_bytes(entry.path)
            else:
                total += entry.stat(follow_symlinks=False).st_size
    return total
