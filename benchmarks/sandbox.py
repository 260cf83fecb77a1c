"""What a python job costs beyond its own work.

Beside it, in the same run: the floor (a bare echo over a socketpair to a python
child, through asyncio) and the ceiling (an interpreter started for each job).
CPU is that of both processes together, as the kernel counts it.

    python benchmarks/sandbox.py [--jobs 3000]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from flowgauge.model.ports import Job
from flowgauge.sandbox import WorkerPool

NOOP = "def run(x): return x"
ECHO = """
import socket, sys
channel = socket.socket(fileno=int(sys.argv[1]))
while piece := channel.recv(65536):
    channel.sendall(piece)
"""
ROUNDS = 5


def cpu_s(pid: int) -> float:
    """On-CPU seconds of a child; 0 where the system has no such file."""
    schedstat = Path(f"/proc/{pid}/schedstat")
    return int(schedstat.read_text().split()[0]) / 1e9 if schedstat.exists() else 0.0


async def cost(call: Callable[[], Awaitable[object]], jobs: int, pids: list[int]) -> tuple[float, float]:
    """Wall and CPU microseconds a call: the median of some rounds."""
    rounds = []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time() + sum(map(cpu_s, pids))
        for _ in range(jobs // ROUNDS):
            await call()
        each = jobs // ROUNDS / 1e6
        rounds.append(((time.perf_counter() - wall) / each, (time.process_time() + sum(map(cpu_s, pids)) - cpu) / each))
    return sorted(rounds)[ROUNDS // 2]


async def floor(jobs: int) -> tuple[float, float]:
    ours, theirs = socket.socketpair()
    child = subprocess.Popen([sys.executable, "-I", "-c", ECHO, str(theirs.fileno())], pass_fds=(theirs.fileno(),))
    theirs.close()
    ours.setblocking(False)
    loop = asyncio.get_running_loop()

    async def echo() -> None:
        await loop.sock_sendall(ours, b"x" * 80)
        await loop.sock_recv(ours, 65536)

    await echo()
    measured = await cost(echo, jobs, [child.pid])
    ours.close()
    child.wait()
    return measured


async def pooled(tier: str, job: Job, jobs: int) -> tuple[float, float]:
    async with WorkerPool(1, "landlock" if tier == "landlock" else "process") as pool:
        pid = (await pool.call(Job(code="import os\ndef run(): return os.getpid()"))).value
        await pool.call(job)
        return await cost(lambda: pool.call(job), jobs, [pid])


async def started(jobs: int) -> tuple[float, float]:
    """CPU of ended children is the kernel's sum, so no pid is named."""
    before = os.times()
    wall = time.perf_counter()
    for _ in range(jobs):
        await (await asyncio.create_subprocess_exec(sys.executable, "-c", "pass")).wait()
    after = os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    return (time.perf_counter() - wall) / jobs * 1e6, cpu / jobs * 1e6


async def first_job() -> float:
    async with WorkerPool(1) as pool:
        began = time.perf_counter()
        await pool.call(Job(code=NOOP, arguments={"x": 1}))
        return (time.perf_counter() - began) * 1000


async def main(jobs: int) -> None:
    rows = {"floor: echo over a socketpair": await floor(jobs)}
    for tier in dict.fromkeys((WorkerPool().tier, "process")):
        rows[f"{tier}: no-op"] = await pooled(tier, Job(code=NOOP, arguments={"x": 1}), jobs)
        rows[f"{tier}: 10 kB there and back"] = await pooled(tier, Job(code=NOOP, arguments={"x": "x" * 10_000}), jobs)
    rows["ceiling: python -c pass for each"] = await started(30)
    least = rows["floor: echo over a socketpair"]
    print(f"{'':34}{'wall µs':>10}{'CPU µs':>10}{'× floor':>10}")
    for name, (wall, cpu) in rows.items():
        print(f"{name:34}{wall:10.0f}{cpu:10.0f}{wall / least[0]:10.1f}")
    print(f"\nThe first job of a pool, with its worker's start: {await first_job():.0f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What a python job costs beyond its own work.")
    parser.add_argument("--jobs", type=int, default=3000)
    asyncio.run(main(parser.parse_args().jobs))
