"""A real server in a process of its own, loaded with plays and benches, to be killed.

Everything goes through `flowgauge serve` and its JSON-RPC. What is on disk is
read from beside, also while nobody serves.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

from flowgauge.store import open_store
from flowgauge.store.store import Store

PLAYS, BENCHES, TRIALS = 20, 2, 30
LEASE_S = "2"
PATIENCE_S = 60.0

WORKFLOW = """
name: to-be-killed
inputs: [{name: topic, type: string, required: true}]
config: {provider: mock, model: fast, extra: {mock: {latency_ms: 80}}}
nodes:
  - {id: outline, type: ai, prompt: "Outline {{ inputs.topic }}"}
  - {id: draft, type: ai, needs: [outline], prompt: "Draft {{ nodes.outline.text }}"}
  - id: parts
    type: map
    needs: [draft]
    over: [one, two, three]
    concurrency: 1
    each: {type: ai, prompt: "Part {{ item }} of {{ nodes.draft.text }}"}
  - {id: close, type: ai, needs: [parts], prompt: "Close {{ nodes.draft.text }}"}
output: {text: "{{ nodes.close.text }}"}
"""
NODES = {"outline", "draft", "parts", "parts[0]", "parts[1]", "parts[2]", "close"}
MEASURED = """
name: to-be-measured
inputs: [{name: topic, type: string, required: true}]
config: {provider: mock, model: fast, extra: {mock: {latency_ms: 50}}}
nodes:
  - {id: sort, type: ai, prompt: "good or bad? {{ inputs.topic }}"}
  - {id: reply, type: ai, needs: [sort], prompt: "Answer to this {{ nodes.sort.text }} one: {{ inputs.topic }}"}
output: {label: "{{ nodes.sort.text }}"}
"""
CASES = [{"name": f"case {number}", "inputs": {"topic": f"topic {number}"}} for number in range(TRIALS)]


class Server:
    """One process."""

    def __init__(self, db: str) -> None:
        command = [sys.executable, "-m", "flowgauge", "serve", "--port", "0", "--db", db]
        environment = {**os.environ, "FLOWGAUGE_LEASE_S": LEASE_S}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if "http://" not in line:
            _, complaints = self.process.communicate(timeout=10)
            raise AssertionError(f"the server did not start: {line}{complaints}")
        self.url = line.split()[-1]

    def call(self, method: str, **params: Any) -> Any:
        """One operation."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(f"{self.url}/rpc", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            told = json.load(answer)
        assert "error" not in told, told
        return told["result"]

    def complaints(self) -> str:
        """What one that has ended said about it."""
        return self.process.stderr.read() if self.process.stderr is not None else ""

    def kill(self) -> None:
        """As the kernel does: no word of it to anybody."""
        self.process.kill()
        self.process.wait()
        self._close()

    def stop(self) -> int:
        """As people do; the exit code."""
        self.process.terminate()
        code = self.process.wait(timeout=30)
        self._close()
        return code

    def _close(self) -> None:
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@contextlib.contextmanager
def serving(db: str) -> Iterator[Server]:
    """A server that is killed at the latest when the block ends."""
    server = Server(db)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


class Load:
    """What was asked of a server: the plays by topic, and the benches. All of it was answered, so none of it may be lost."""

    def __init__(self, server: Server) -> None:
        flow = server.call("workflow_set", text=WORKFLOW)["sid"]
        measured = server.call("workflow_set", text=MEASURED)["sid"]
        self.benches = [
            server.call("benchmark_start", workflow_sid=measured, configs={"cases": CASES}, max_concurrency=3, name=f"bench-{number}")[
                "bench_id"
            ]
            for number in range(BENCHES)
        ]
        self.plays = {
            f"topic {number}": server.call("play_start", workflow_sid=flow, input_data={"topic": f"topic {number}"})["sid"]
            for number in range(PLAYS)
        }

    def done(self, store: Store) -> float:
        """How much of it has a result, from 0 to 1."""
        plays = sum(store.get_play(sid).status == "success" for sid in self.plays.values())
        trials = sum(store.count_trials(store.get_bench(bench_id).uid) for bench_id in self.benches)
        return (plays / PLAYS + trials / (BENCHES * TRIALS)) / 2

    def wait_until(self, store: Store, part: float) -> None:
        """Until so much of it is done."""
        deadline = time.monotonic() + PATIENCE_S
        while self.done(store) < part:
            assert time.monotonic() < deadline, f"only {self.done(store):.0%} done"
            time.sleep(0.01)

    def wait_until_ended(self, store: Store, server: Server) -> None:
        """Until nothing of it is under way."""
        deadline = time.monotonic() + PATIENCE_S
        while unfinished := self.unfinished(store):
            code = server.process.poll()
            assert code is None, f"the server has died by itself: {code} {server.complaints()}"
            assert time.monotonic() < deadline, f"still under way: {unfinished}"
            time.sleep(0.05)

    def unfinished(self, store: Store) -> list[str]:
        """Plays, of trials too, and benches that have not ended."""
        plays = [play.sid for status in ("pending", "running") for play in store.list_plays(limit=1000, status=status).items]
        return plays + [bench.record.bench_id for bench in store.running_benches()]


def node_runs(store: Store, sids: Iterator[str] | list[str]) -> dict[tuple[str, str, int], str]:
    """What is stored of every attempt of every node: status and output."""
    found = {}
    for sid in sids:
        for run in store.get_node_runs(sid):
            found[sid, run.node_id, run.attempt] = f"{run.status} {json.dumps(run.output, sort_keys=True)}"
    return found


def outputs(store: Store, load: Load) -> dict[str, Any]:
    """By topic."""
    return {topic: store.get_play(sid).output for topic, sid in load.plays.items()}


__all__ = ["BENCHES", "NODES", "PLAYS", "TRIALS", "Load", "Server", "node_runs", "open_store", "outputs", "serving"]
