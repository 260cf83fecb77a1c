"""What a perf episode costs beyond its own work: a no-op agent, its artifact checked, hashed and on disk.

Beside it, in the same run: the floor (a no-op job of the sandbox's own pool:
there and back, nothing kept) and the ceiling (an interpreter started for each).
CPU is that of all processes together, as the kernel counts it. Aim: under 5 ms
an episode and worker, with no more workers than cores: with more, they wait for each other.

    python benchmarks/perf.py [--episodes 2000] [--workers 1 2 4]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from flowgauge.app.perf_services import SERVICES
from flowgauge.model.ports import Job
from flowgauge.perf.keeping import Folder
from flowgauge.perf.model import Scenario
from flowgauge.perf.plan import episodes, prepare
from flowgauge.perf.pool import EpisodePool
from flowgauge.perf.running import run_episodes
from flowgauge.perf.scenario import PlayedWorkflow, load_scenario
from flowgauge.sandbox import WorkerPool

AIM_MS = 5.0
ROUNDS = 3


def no_lookup(reference: str) -> PlayedWorkflow:
    raise AssertionError(f"{reference} is not stored")


Cost = tuple[float, float, float, float]
"""Milliseconds an episode and worker beyond its own time, CPU milliseconds an episode, its own time, and episodes a second."""


def cpu_s(pids: tuple[int, ...]) -> float:
    """On-CPU seconds of this process and of others."""
    files = [Path(f"/proc/{pid}/schedstat") for pid in pids]
    return time.process_time() + sum(int(file.read_text().split()[0]) / 1e9 for file in files if file.exists())


async def measured(folder: Path, count: int, workers: int, *, strict: bool) -> Cost:
    """The median of some rounds, after a warm-up."""
    loaded = load_scenario(folder / "scenario.yaml", no_lookup)
    setup = prepare(loaded, timeout_s=30.0, services=SERVICES, strict=strict)
    async with EpisodePool(setup, workers) as pool:
        await rounds(pool, loaded.scenario, folder, workers * 20, workers)
        found = [await rounds(pool, loaded.scenario, folder, count, workers) for _ in range(ROUNDS)]
    return sorted(found)[ROUNDS // 2]


async def rounds(pool: EpisodePool, scenario: Scenario, folder: Path, count: int, workers: int) -> Cost:
    begun, cpu = time.perf_counter(), cpu_s(pool.pids)
    rows = await run_episodes(
        pool,
        episodes(scenario, count),
        Folder(folder / "out"),
        workers=workers,
        stop=asyncio.Event(),
        told=lambda _: None,
    )
    took_s = time.perf_counter() - begun
    assert all(row.success for row in rows), next(row.error for row in rows if not row.success)
    own_ms = statistics.fmean(row.wall_clock_s for row in rows) * 1000
    return took_s * 1000 * workers / count - own_ms, (cpu_s(pool.pids) - cpu) * 1000 / count, own_ms, count / took_s


async def floor(count: int) -> float:
    job = Job(code="def run(): return None")
    async with WorkerPool(1, "process") as pool:
        await pool.call(job)
        begun = time.perf_counter()
        for _ in range(count):
            await pool.call(job)
        return (time.perf_counter() - begun) / count * 1000


def ceiling(count: int) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        subprocess.run([sys.executable, "-c", "pass"], check=True)
    return (time.perf_counter() - begun) / count * 1000


def write_scenario(folder: Path) -> None:
    (folder / "agents.py").write_text("def noop():\n    return None\n")
    (folder / "scenario.yaml").write_text("name: no-op\nrows:\n  - {agent: 'agents.py:noop', task: nothing@1}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_scenario(folder)
        least_ms = asyncio.run(floor(options.episodes))
        print(f"{'no-op episode':34}{'workers':>8}{'overhead ms':>13}{'CPU ms':>8}{'own ms':>8}{'episodes/s':>12}{'× floor':>9}")
        worst_ms = 0.0
        for workers in options.workers:
            for strict in (False, True):
                over_ms, cpu_ms, own_ms, rate = asyncio.run(measured(folder, options.episodes, workers, strict=strict))
                name = "with --strict-spec" if strict else "artifact hashed and written"
                print(f"{name:34}{workers:8}{over_ms:13.3f}{cpu_ms:8.3f}{own_ms:8.3f}{rate:12,.0f}{over_ms / least_ms:9.1f}")
                worst_ms = max(worst_ms, over_ms) if workers <= (os.cpu_count() or 1) else worst_ms
        print(f"{'floor: a no-op job of the sandbox':34}{1:8}{least_ms:13.3f}")
        print(f"{'ceiling: python -c pass for each':34}{1:8}{ceiling(30):13.3f}")
        verdict = "Held" if worst_ms < AIM_MS else "MISSED"
        print(f"\nAim: under {AIM_MS:g} ms. {verdict}: at most {worst_ms:.2f} ms, at a load of {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
