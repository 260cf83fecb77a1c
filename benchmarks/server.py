"""What the server takes: requests a second and their times, beside a bare uvicorn that answers the same bytes.

    python benchmarks/server.py [--quick] [--db URL]

The server is a process of its own (`flowgauge serve`), asked over loopback by
16 connections at once from this one. `benchmark_list_for_version` reads from
10,000 benchmarks of one version, each with its full statistics; `play_start`
stores and runs a play of one node that does nothing. At the end 200 listeners
hear all events of plays that are started meanwhile: every one must hear all.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import psutil

from flowgauge.app.recording import GivenBenchmark, GivenRun, keep_benchmark
from flowgauge.app.workflows import save_workflow
from flowgauge.define.workflow import parse_workflow
from flowgauge.model.ids import BENCHMARK, new_sid
from flowgauge.store import open_store

CONNECTIONS, LISTENERS, BENCHMARKS = 16, 200, 10_000
JSON = {"Content-Type": "application/json"}
NOTHING = {"name": "nothing", "nodes": [{"id": "nothing", "type": "call", "function": "builtins:dict"}]}
FLOOR = """
import asyncio, socket, sys, uvicorn
BODY = b'{"status":"ok","version":"0.1.0"}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]
async def app(scope, receive, send):
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})
bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
bound.bind(("127.0.0.1", 0))
bound.listen(2048)
print(f"serving on http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, proxy_headers=False)
asyncio.run(uvicorn.Server(config).serve(sockets=[bound]))
"""


class Server(msgspec.Struct, frozen=True):
    """One that is up: its address, and its process."""

    url: str
    process: psutil.Process

    def cpu_s(self) -> float:
        """What it has used so far."""
        used = self.process.cpu_times()
        return used.user + used.system


@contextlib.contextmanager
def process(command: list[str]) -> Iterator[Server]:
    """A server for the length of a block."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        said = re.fullmatch(r"serving on (\S+)\n", running.stdout.readline())
        assert said, "the server did not start"
        try:
            yield Server(said[1], psutil.Process(running.pid))
        finally:
            running.terminate()
            running.wait(30)


def fill(db: str) -> str:
    """A version with its benchmarks; its sid."""
    used: Any = {"tokens_prompt": 120, "tokens_completion": 30, "cost_usd": 0.001}
    runs = tuple(GivenRun(status="success", duration_ms=100.0 + number, **used) for number in range(20))
    with open_store(db) as store:
        version = save_workflow(store, parse_workflow(NOTHING).workflow, make_current=True).version
        first = keep_benchmark(store, GivenBenchmark(workflow_sid=version.workflow_sid, runs=runs))
        for start in range(1, BENCHMARKS, 1000):
            numbers = range(start, min(BENCHMARKS, start + 1000))
            store.put_benchmarks(
                [msgspec.structs.replace(first, sid=new_sid(BENCHMARK), bench_uid="", created_at=first.created_at + n) for n in numbers]
            )
    return version.sid


class Load:
    """Asks a server, and prints one line of the table for each thing asked."""

    def __init__(self, session: aiohttp.ClientSession, server: Server) -> None:
        self.session = session
        self.server = server

    async def measure(self, name: str, path: str, body: bytes | None, count: int, at_once: int = CONNECTIONS) -> float:
        """So many requests, some at once, after a tenth of them to warm up; requests a second."""
        await self._all(path, body, count // 10, at_once)
        cpu_s, began = self.server.cpu_s(), time.perf_counter()
        times = await self._all(path, body, count, at_once)
        rate, cpu_us = count / (time.perf_counter() - began), (self.server.cpu_s() - cpu_s) / count * 1e6
        cuts = statistics.quantiles(times, n=100)
        print(f"  {name:<44} {rate:>8,.0f} /s {cuts[49] * 1000:>8.2f} ms {cuts[98] * 1000:>8.2f} ms {cpu_us:>8,.0f} µs")
        return rate

    async def _all(self, path: str, body: bytes | None, count: int, at_once: int) -> list[float]:
        left, times = iter(range(count)), []

        async def worker() -> None:
            for _ in left:
                began = time.perf_counter()
                async with self.session.request("POST" if body else "GET", self.server.url + path, data=body, headers=JSON) as response:
                    answer = await response.read()
                times.append(time.perf_counter() - began)
                assert response.status == 200, answer
                assert b'"error":{' not in answer[:60], answer

        await asyncio.gather(*(worker() for _ in range(at_once)))
        return times


def call(method: str, **params: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


async def listeners(load: Load, plays: int) -> None:
    """All hear the end of every play, and every event once."""
    heard: list[list[int]] = [[] for _ in range(LISTENERS)]
    began = asyncio.Event()
    waiting = LISTENERS

    async def hear(ids: list[int]) -> None:
        nonlocal waiting
        ended = 0
        async with load.session.get(f"{load.server.url}/events") as stream:
            waiting -= 1
            if not waiting:
                began.set()
            async for line in stream.content:
                if line.startswith(b"id: "):
                    ids.append(int(line[4:]))
                ended += line.startswith(b"event: play_finished")
                if ended == plays and line == b"\n":
                    return

    await quiet(load)
    tasks = [asyncio.create_task(hear(ids)) for ids in heard]
    await began.wait()
    start = time.perf_counter()
    await load.measure(f"play_start, no-op, {LISTENERS} listeners", "/rpc", call("play_start", workflow_sid="nothing"), plays * 10 // 11, 4)
    await asyncio.gather(*tasks)
    wall_s = time.perf_counter() - start
    assert all(ids == heard[0] for ids in heard), "a listener missed something"
    print(f"  {LISTENERS} listeners, {len(heard[0]):,} events each, none missed: {len(heard[0]) * LISTENERS / wall_s:,.0f} events/s")


async def quiet(load: Load) -> None:
    """Until nothing runs, and all of it has been told."""
    while True:
        async with load.session.post(f"{load.server.url}/rpc", data=call("health"), headers=JSON) as response:
            if not (await response.json())["result"]["running"]["plays"]:
                break
        await asyncio.sleep(0.1)
    await asyncio.sleep(2)


async def measure(server: Server, floor: Server, version_sid: str, *, quick: bool) -> None:
    part = 10 if quick else 1
    print(f"  {'':<44} {'requests':>11} {'p50':>11} {'p99':>11} {'server CPU':>11}")
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        bare = await Load(session, floor).measure("floor: bare uvicorn", "/", None, 20_000 // part)
        load, asked = Load(session, server), {"workflow_version_sid": version_sid}
        health = await load.measure("GET /health", "/health", None, 20_000 // part)
        rpc = await load.measure("health by JSON-RPC", "/rpc", call("health"), 20_000 // part)
        await load.measure("benchmark_list_for_version, 50 of 10,000", "/rpc", call("benchmark_list_for_version", **asked), 3_000 // part)
        long = call("benchmark_list_for_version", **asked, limit=1000)
        await load.measure("benchmark_list_for_version, 1,000 of 10,000", "/rpc", long, 300 // part)
        await load.measure("benchmark_latest_for_version", "/rpc", call("benchmark_latest_for_version", **asked), 5_000 // part)
        await load.measure("play_start, no-op", "/rpc", call("play_start", workflow_sid="nothing"), 3_000 // part)
        await listeners(load, 550 // part)
        print(f"  of the floor: GET /health {health / bare:.0%}, health by JSON-RPC {rpc / bare:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests")
    parser.add_argument("--db", help="the store; by default an SQLite file that is deleted at the end")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = given.db or str(Path(folder) / "store.db")
        version_sid = fill(db)
        serve = [sys.executable, "-m", "flowgauge", "serve", "--port", "0", "--db", db]
        with process([sys.executable, "-c", FLOOR]) as floor, process(serve) as server:
            print(f"flowgauge serve, {CONNECTIONS} connections at once")
            asyncio.run(measure(server, floor, version_sid, quick=given.quick))


if __name__ == "__main__":
    main()
