"""Real servers for tests: in a thread of this process, reached over loopback by plain HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import http.client
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from flowgauge.app.host import Host
from flowgauge.model.ids import TOKEN, new_sid
from flowgauge.model.redaction import redactor
from flowgauge.model.service import Scope, Token
from flowgauge.serve.running import Server, Settings, running_server
from flowgauge.store import open_store

Answer = TypeVar("Answer")
JSON = {"Content-Type": "application/json"}
SECRETS = {"read": "fg-secret-of-read", "run": "fg-secret-of-run", "admin": "fg-secret-of-admin"}
REVOKED, EXPIRED, UNKNOWN = "fg-secret-revoked", "fg-secret-expired", "fg-secret-of-nobody"


class Reply(msgspec.Struct, frozen=True):
    """What HTTP answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.json["error"]
        return error


class Served:
    """A server that is up."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        self.url = server.url
        self.host: Host = server.host
        self.application = server.application
        self._loop = loop
        self._address = urlsplit(server.url).netloc

    def request(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Reply:
        """Exactly these headers, beside Host and Content-Length; `Host: ""` sends none."""
        connection = http.client.HTTPConnection(self._address, timeout=60)
        with contextlib.closing(connection):
            given = {name.lower(): value for name, value in (headers or {}).items()}
            connection.putrequest(method, path, skip_host="host" in given, skip_accept_encoding=True)
            for name, value in given.items():
                if (name, value) != ("host", ""):
                    connection.putheader(name, value)
            if body is not None and "content-length" not in given:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())

    def post(self, body: bytes, **headers: str) -> Reply:
        return self.request("POST", "/rpc", body, {**JSON, **headers})

    def rpc(self, method: str, params: Any = None, *, secret: str = "") -> Any:
        """The whole answer to one call."""
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params})}
        reply = self.post(msgspec.json.encode(asked), **bearer(secret))
        assert reply.status in (200, 401), reply
        return reply.json

    def result(self, method: str, **params: Any) -> Any:
        answer = self.rpc(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def within(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Run something in the server's own event loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def publish(self, kind: str, **fields: Any) -> None:
        self._loop.call_soon_threadsafe(lambda: self.host.publish(kind, **fields))


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"} if secret else {}


@contextlib.contextmanager
def served(settings: Settings) -> Iterator[Served]:
    """For the length of a block."""
    up: list[Served | BaseException] = []
    ready, ended = threading.Event(), threading.Event()

    async def main() -> None:
        async with running_server(settings) as server:
            up.append(Served(server, asyncio.get_running_loop()))
            ready.set()
            await asyncio.to_thread(ended.wait)

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:
            up.append(error)
            ready.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(60)
    if isinstance(up[0], BaseException):
        raise up[0]
    try:
        yield up[0]
    finally:
        ended.set()
        thread.join(60)
        assert not thread.is_alive()


def put_tokens(db: str) -> None:
    """One of each scope, one that was revoked, one that is over."""
    with open_store(db, redact=redactor(())) as store:
        for scope, secret in SECRETS.items():
            store.put_token(token(scope, secret, scope=scope))  # type: ignore[arg-type]
        store.put_token(token("gone", REVOKED, scope="admin"))
        store.revoke_token("gone")
        store.put_token(token("over", EXPIRED, scope="admin", expires_at=1_000))


def token(name: str, secret: str, *, scope: Scope, expires_at: int = 0) -> Token:
    hashed = hashlib.sha256(secret.encode()).hexdigest()
    return Token(sid=new_sid(TOKEN), name=name, scope=scope, hash=hashed, created_at=1, expires_at=expires_at)
