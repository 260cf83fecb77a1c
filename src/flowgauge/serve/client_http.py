"""The client's connections: kept open between calls, one to a call at a time.

Only what reads is sent again, and only where a kept connection turned out to be
closed: what writes may have been done although no answer came.
"""

from __future__ import annotations

import contextlib
import http.client
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import urlencode, urlsplit

from flowgauge.errors import NoAnswer, UsageError

KEPT_S = 10.0
"""Less than the server keeps an idle one."""
MOST_KEPT = 16
_KINDS: dict[str, type[HTTPConnection]] = {"http": HTTPConnection, "https": http.client.HTTPSConnection}


class Connections:
    """To one server."""

    def __init__(self, url: str, token: str, timeout_s: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in _KINDS or not parts.hostname:
            raise UsageError(f"'{url}' is no address of a server.", remedy="Give one such as http://127.0.0.1:8321")
        if any(ord(mark) <= 32 or ord(mark) >= 127 for mark in token):
            raise UsageError("The token holds characters that no token has.", remedy="Give it as it was shown.")
        self.url = url.rstrip("/")
        self._kind, self._address = _KINDS[parts.scheme], parts.netloc.rpartition("@")[2]
        self._path = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        self._timeout_s = timeout_s
        self._idle: list[tuple[HTTPConnection, float]] = []
        self._lock = threading.Lock()

    def post(self, path: str, body: bytes, *, again: bool) -> tuple[int, bytes]:
        """Status and body. `again`: a call that may be made twice."""
        kept = self._kept()
        if kept is not None:
            try:
                return self._exchange(kept, path, body)
            except ConnectionError as error:
                if not again:
                    raise self._no_answer(error) from error
            except (OSError, HTTPException) as error:
                raise self._no_answer(error) from error
        try:
            return self._exchange(self._kind(self._address, timeout=self._timeout_s), path, body)
        except (OSError, HTTPException) as error:
            raise self._no_answer(error) from error

    @contextlib.contextmanager
    def stream(self, path: str, query: Mapping[str, str], last_event_id: int | None) -> Iterator[tuple[int, HTTPResponse]]:
        """Status and the open answer, on a connection of its own. Raises NoAnswer where none can be made."""
        connection = self._kind(self._address, timeout=self._timeout_s)
        headers = self._headers if last_event_id is None else {**self._headers, "Last-Event-ID": str(last_event_id)}
        try:
            connection.request(
                "GET", f"{self._path}{path}?{urlencode({name: value for name, value in query.items() if value})}", headers=headers
            )
            response = connection.getresponse()
        except (OSError, HTTPException) as error:
            connection.close()
            raise self._no_answer(error) from error
        try:
            yield response.status, response
        finally:
            connection.close()

    def close(self) -> None:
        """Those that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _exchange(self, connection: HTTPConnection, path: str, body: bytes) -> tuple[int, bytes]:
        try:
            connection.request("POST", self._path + path, body, self._headers)
            response = connection.getresponse()
            answer = response.status, response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._keep(connection)
        return answer

    def _kept(self) -> HTTPConnection | None:
        """The one that was used last, unless it has been idle for long."""
        with self._lock:
            if not self._idle:
                return None
            connection, used_at = self._idle.pop()
        if time.monotonic() - used_at < KEPT_S:
            return connection
        connection.close()
        return self._kept()

    def _keep(self, connection: HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < MOST_KEPT:
                self._idle.append((connection, time.monotonic()))
                return
        connection.close()

    def _no_answer(self, error: Exception) -> NoAnswer:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return NoAnswer(f"No answer from {self.url}: {why}.", remedy=_remedy(error))


def _remedy(error: Exception) -> str:
    """Somebody answered, where it was TLS that failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "Its certificate is not trusted here. Name the file of its authority in SSL_CERT_FILE."
    if isinstance(error, ssl.SSLError):
        return "flowgauge serve speaks no TLS itself: give an http:// address, or that of the proxy which speaks TLS for it."
    return "Is the server running? flowgauge serve"
