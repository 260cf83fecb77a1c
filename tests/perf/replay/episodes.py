"""Agents and workflows to record, each as the text of a file; and a loopback server that counts who comes."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STEADY = """
def agent(run):
    label = run.complete("Name a colour.", model="mock/fast")
    run.step({"type": "choose", "args": {"colour": "red"}}, result={"label": label})
    run.step({"type": "paint", "args": {"wall": "north"}}, result={"done": True}, tool=True)
    return {"label": label}
"""
CHANGED = STEADY.replace('"wall": "north"', '"wall": "south"')
CHANCY = """
import os

def agent(run):
    run.step({"type": "look"}, result="a door")
    run.step({"type": "guess"}, result=os.urandom(4).hex())
    return "done"
"""
FAILING = """
def agent(run):
    run.step({"type": "look"}, result="a wall")
    raise ValueError("there is no door")
"""
SCENARIO = """
name: painting
rows:
  - {agent: "agents.py:agent", task: wall@2, seed: 7, inputs: {size: 3}}
"""


def write_agent(folder: Path, source: str, scenario: str = SCENARIO) -> Path:
    """A scenario with one agent; the scenario's file."""
    (folder / "agents.py").write_text(source)
    (folder / "scenario.yaml").write_text(scenario)
    return folder / "scenario.yaml"


class Server:
    """Answers every request with how many there were; `connections` also counts those that ask nothing."""

    def __init__(self) -> None:
        self.connections = 0
        self.requests: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def setup(self) -> None:
                server.connections += 1
                super().setup()

            def do_GET(self) -> None:
                server.requests.append(self.path)
                body = f'{{"visit": {len(server.requests)}}}'.encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """A server for one test."""
    server = Server()
    try:
        yield server
    finally:
        server.close()


def free_port() -> int:
    """Where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
