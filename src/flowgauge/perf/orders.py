"""What the pool tells its workers: all rows once, then episodes, one at a time; and what a worker answers."""

from __future__ import annotations

from typing import Literal

import msgspec

from flowgauge.perf.model import Budgets, Row, RunArtifact

Network = Literal["", "kernel", "interpreter"]
"""Who cuts a worker off from the network; empty: nobody."""


class PreparedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row with everything looked up: a worker needs neither the store nor the scenario's file."""

    row: Row
    budgets: Budgets
    """The row's own, else the scenario's; the wall clock always set."""
    workflow: str = ""
    """Canonical JSON of the workflow that it plays."""
    workflows: dict[str, str] = {}
    """Those that the workflow names, as pinned."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The first order to every worker."""

    folder: str
    """The scenario's: its files are looked for there."""
    rows: tuple[PreparedRow, ...]
    services: str
    """package.module:function, called in the worker: makes what nodes and model calls need (`nodes.context.Services`, with `close`)."""
    strict: bool = False
    memory_mb: int = 512
    file_mb: int = 64
    output_kb: int = 1024
    artifact_kb: int = 4096
    offline: bool = False
    """Cut off from the network, before any code of the scenario is loaded."""
    progress: str = ""
    """A file into which the worker writes which row it loads; empty: nobody wants to know."""


class Tape(msgspec.Struct, frozen=True, kw_only=True):
    """Where exchanges with models and servers are kept, or answered from."""

    mode: Literal["record", "replay"]
    path: str


class EpisodeOrder(msgspec.Struct, frozen=True, kw_only=True):
    """One episode to run."""

    row: int
    seed: int
    run_id: str
    trace_id: str
    tape: Tape | None = None


class EpisodeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    artifact: RunArtifact
    retire: str = ""
    """Why the worker must not run another."""


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A worker is ready, or will never be."""

    network: Network = ""
    """Who cut it off, where it was asked for."""
    error: str = ""
    """A row that cannot be run: no worker would fare better."""
