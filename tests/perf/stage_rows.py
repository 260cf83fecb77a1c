"""Scenarios, rows and runs for tests of perf."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.app.perf_services import SERVICES
from flowgauge.errors import NotFound
from flowgauge.perf.artifact import sealed
from flowgauge.perf.files import Sample, SeriesRow
from flowgauge.perf.model import Budgets, RunArtifact, TraceStep
from flowgauge.perf.plan import episodes, prepare
from flowgauge.perf.pool import EpisodePool
from flowgauge.perf.scenario import PlayedWorkflow, load_scenario

HASH = f"sha256:{'0' * 64}"


def nothing_stored(reference: str) -> PlayedWorkflow:
    raise NotFound(f"There is no workflow '{reference}'.")


def artifact(**changes: Any) -> RunArtifact:
    """A whole one that keeps to the spec, sealed after the changes."""
    steps = (TraceStep(step=1, observation={"at": 0}, action={"type": "look", "args": {"far": 2}}, result=[1, 2], elapsed_ms=0.5),)
    fields: dict[str, Any] = {
        "run_id": "run_000000_aa",
        "trace_id": "0" * 32,
        "agent": "agents.py:explorer",
        "task_ref": "vault@1",
        "task_version": "1",
        "seed": 7,
        "budgets": Budgets(steps=10, wall_clock_s=5.0),
        "inputs": {"size": 3},
        "success": True,
        "termination_reason": "completed",
        "failure_type": None,
        "steps": 1,
        "tool_calls": 1,
        "started_at": 1_000,
        "wall_clock_s": 0.25,
        "output": "found",
        "action_trace": steps,
        "artifact_hash": HASH,
    }
    return sealed(RunArtifact(**{**fields, **changes}))


def row(index: int = 0, **changes: Any) -> SeriesRow:
    """One row of a series."""
    fields: dict[str, Any] = {
        "episode": index + 1,
        "episode_index": index,
        "agent": "a",
        "task_ref": "t@1",
        "seed": index,
        "success": True,
        "wall_clock_s": 0.01,
        "error": None,
        "artifact_bytes": 1000,
        "llm_trace_entries": 0,
        "prompt_bytes": 0,
        "completion_bytes": 0,
        "tokens_used": 0,
        "started_at": index * 1000,
        "steps": 3,
        "tool_calls": 2,
        "termination_reason": "completed",
        "failure_type": None,
        "run_id": f"run_{index}",
        "artifact_hash": HASH,
    }
    return SeriesRow(**{**fields, **changes})


def failed_row(index: int = 0, **changes: Any) -> SeriesRow:
    """One that did not succeed."""
    told = {"success": False, "error": "no", "termination_reason": "error", "failure_type": "logic_failure"}
    return row(index, **{**told, **changes})


def sample(at_s: float, rss_bytes: int = 100_000_000) -> Sample:
    """The machine at a moment."""
    return Sample(
        at_s=at_s,
        episodes_done=int(at_s * 10),
        cpu_percent=50.0,
        process_rss_bytes=rss_bytes,
        system_memory_available_bytes=10**9,
        open_files=20,
        event_loop_lag_ms=1.0,
    )


def write_scenario(folder: Path, agents: str, rows: Sequence[str], **settings: Any) -> Path:
    """A scenario beside its agents.py; rows as YAML flow mappings."""
    (folder / "agents.py").write_text(agents, encoding="utf-8")
    head = "".join(f"{name}: {msgspec.json.encode(value).decode()}\n" for name, value in settings.items())
    path = folder / "scenario.yaml"
    path.write_text(f"name: test\n{head}rows:\n" + "".join(f"  - {{{row}}}\n" for row in rows), encoding="utf-8")
    return path


def run_all(path: Path, count: int, *, workers: int = 2, timeout_s: float = 30.0, strict: bool = True) -> list[RunArtifact]:
    """Every episode's artifact, in episode order."""
    return asyncio.run(_run_all(path, count, workers, timeout_s, strict))


async def _run_all(path: Path, count: int, workers: int, timeout_s: float, strict: bool) -> list[RunArtifact]:
    loaded = load_scenario(path, nothing_stored)
    setup = prepare(loaded, timeout_s=timeout_s, services=SERVICES, strict=strict)
    async with EpisodePool(setup, workers) as pool:
        return await asyncio.gather(*(pool.run(episode) for episode in episodes(loaded.scenario, count)))
