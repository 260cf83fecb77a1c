"""What the engine adds: CPU per stored play and per node, and plays per second, beside the floor.

The floor is asyncio and one SQLite row for each call, in grouped durable
transactions: what anyone would pay who keeps a result at all.

    python benchmarks/engine.py [--quick]
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import flowgauge
from flowgauge.app.plays import start_play
from flowgauge.app.workflows import save_workflow
from flowgauge.app.workspace import Workspace, open_workspace
from flowgauge.define.workflow import parse_workflow
from flowgauge.model.workflow import WorkflowVersion

AT_ONCE = 50


async def nothing(**_values: object) -> dict[str, bool]:
    """The call node's function."""
    return {"ok": True}


def chain(length: int, node: dict[str, object]) -> dict[str, object]:
    """A workflow of `length` nodes, each waiting for the one before."""
    nodes = [{"id": f"n{i}", **node, **({"needs": [f"n{i - 1}"]} if i else {})} for i in range(length)]
    return {"name": f"chain-{length}-{node['type']}", "nodes": nodes, "output": "{{ nodes.n0 }}"}


CALL: dict[str, object] = {"type": "call", "function": f"{Path(__file__).stem}:nothing", "with": {"a": 1}}
PYTHON: dict[str, object] = {"type": "python", "code": "def run():\n    return {'ok': True}\n"}


class Cost:
    """Seconds of CPU (all threads of this process) and of wall time for a number of things."""

    def __init__(self, count: int, cpu_s: float, wall_s: float) -> None:
        self.count = count
        self.cpu_us = cpu_s / count * 1e6
        self.wall_us = wall_s / count * 1e6
        self.per_second = count / wall_s


async def measured(count: int, one: Callable[[], Awaitable[object]]) -> Cost:
    """`count` calls, AT_ONCE at a time."""
    left = iter(range(count))

    async def worker() -> None:
        for _ in left:
            await one()

    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return Cost(count, time.process_time() - cpu, time.perf_counter() - wall)


async def floor(folder: Path, count: int) -> Cost:
    """A coroutine and a row each; all rows that are waiting go into one durable transaction."""
    connection = sqlite3.connect(folder / "floor.db", check_same_thread=False, isolation_level=None)
    connection.executescript(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)"
    )
    waiting: list[tuple[tuple[int, str], asyncio.Future[None]]] = []
    wake = asyncio.Event()
    number = iter(range(10**9))

    def write(rows: list[tuple[int, str]]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.execute("COMMIT")

    async def writer() -> None:
        while True:
            await wake.wait()
            wake.clear()
            batch, waiting[:] = waiting[:], []
            await asyncio.to_thread(write, [row for row, _ in batch])
            for _, future in batch:
                future.set_result(None)

    async def one() -> None:
        await nothing()
        future = asyncio.get_running_loop().create_future()
        waiting.append(((next(number), '{"ok":true}'), future))
        wake.set()
        await future

    task = asyncio.create_task(writer())
    cost = await measured(count, one)
    task.cancel()
    connection.close()
    return cost


async def played(workspace: Workspace, version: WorkflowVersion, count: int) -> Cost:
    """Plays of one version, all of it stored."""

    async def one() -> None:
        play = await start_play(workspace, version, {})
        if play.status != "success":
            raise SystemExit(f"a play failed: {play.error}")

    await measured(AT_ONCE, one)
    return await measured(count, one)


async def main(quick: bool) -> None:
    scale = 1 if quick else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ground = await floor(folder, 4000 * scale)
        rows: list[tuple[str, Cost, int]] = [("floor: asyncio + one row", ground, 1)]
        async with open_workspace(str(folder / "plays.db")) as workspace:

            async def case(label: str, length: int, node: dict[str, object], count: int) -> None:
                version = save_workflow(workspace.store, parse_workflow(chain(length, node)).workflow, make_current=True).version
                rows.append((label, await played(workspace, version, count), length))

            await case("1 call node, stored", 1, CALL, 2000 * scale)
            await case("10 call nodes in a chain", 10, CALL, 200 * scale)
            await case("1 python node, stored", 1, PYTHON, 400 * scale)
            await case("10 python nodes in a chain", 10, PYTHON, 40 * scale)
    print(f"{'':30}{'plays/s':>10}{'CPU µs/play':>14}{'CPU µs/node':>14}{'wall µs/node':>14}{'× floor (CPU)':>15}")
    for label, cost, length in rows:
        print(
            f"{label:30}{cost.per_second:>10,.0f}{cost.cpu_us:>14.0f}{cost.cpu_us / length:>14.0f}{cost.wall_us / length:>14.0f}"
            f"{cost.cpu_us / ground.cpu_us:>15.1f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the plays")
    compileall.compile_dir(str(Path(flowgauge.__file__).parent), quiet=2)
    sys.path.insert(0, str(Path(__file__).parent))
    asyncio.run(main(parser.parse_args().quick))
