"""A real server on loopback that webhooks are told to; it answers as the test says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec


class Hook:
    """What came, and what is answered: statuses in their order, the last again and again; 0 hangs up."""

    def __init__(self, *statuses: int) -> None:
        self._statuses = list(statuses) or [200]
        self._lock = threading.Lock()
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.hang = threading.Event()
        self.hang.set()
        """Cleared: answers wait."""
        self.url = ""

    def take(self, headers: dict[str, str], body: bytes) -> int:
        with self._lock:
            self.headers.append(headers)
            self.bodies.append(msgspec.json.decode(body))
            return self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]


@contextmanager
def listening(*statuses: int) -> Iterator[Hook]:
    """For the length of a block."""
    hook = Hook(*statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = hook.take(dict(self.headers), body)
            hook.hang.wait(30)
            if not status:
                self.connection.close()
                return
            self.send_response(status)
            if status // 100 == 3:
                self.send_header("Location", f"{hook.url}/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hook.url = f"http://127.0.0.1:{server.server_port}/hook/secret-path"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hook
    finally:
        hook.hang.set()
        server.shutdown()
        thread.join()
        server.server_close()
