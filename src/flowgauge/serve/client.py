"""A typed client: a method for every operation, the server's own errors.

    client = Client("http://127.0.0.1:8321")
    play = client.play_start(workflow_sid="ticket-triage", input_data={"ticket": "Where is my parcel?"})
    print(client.wait_for_play(play.sid).output)

Blocking and safe from any thread; inside an event loop call it through
`asyncio.to_thread`. Needs no package that the core does not have.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import UNSET, Raw, UnsetType

from flowgauge.app.operations.calling import find_operation
from flowgauge.errors import NoAnswer, NotAllowed
from flowgauge.model.play import FINISHED
from flowgauge.model.service import Event
from flowgauge.serve.client_http import Connections
from flowgauge.serve.client_stream import read_stream
from flowgauge.serve.methods import Methods
from flowgauge.serve.rpc_errors import RpcError, raised

if TYPE_CHECKING:
    from flowgauge.app.operations.benches import BenchView
    from flowgauge.app.operations.plays import PlayView

URL = "http://127.0.0.1:8321"
TOKEN_VARIABLE = "FLOWGAUGE_TOKEN"  # noqa: S105 - a name, no secret
LONGEST_WAIT_S = 20.0
BETWEEN_STREAMS_S = 0.5


class _Answer(msgspec.Struct):
    """JSON-RPC's, as it comes."""

    result: Raw | UnsetType = UNSET
    error: RpcError | None = None


_read_answer = msgspec.json.Decoder(_Answer).decode


class Client(Methods):
    """Of one server. The token is given, or taken from FLOWGAUGE_TOKEN; on loopback none is needed."""

    def __init__(self, url: str = URL, *, token: str | None = None, timeout_s: float = 90.0) -> None:
        self._connections = Connections(url, token or os.environ.get(TOKEN_VARIABLE, ""), timeout_s)
        self._numbers = itertools.count(1)

    def call(self, name: str, /, **params: Any) -> Any:
        """An operation by name; its result is typed as the operations' table says. Raises what the server raised, or NoAnswer."""
        operation = find_operation(name)
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": next(self._numbers), "method": name, "params": params})
        status, answered = self._connections.post("/rpc", body, again=operation.scope == "read")
        return msgspec.json.decode(self._result(status, answered), type=operation.result)

    def discover(self) -> dict[str, Any]:
        """The server's OpenRPC document."""
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": next(self._numbers), "method": "rpc.discover"})
        document: dict[str, Any] = msgspec.json.decode(self._result(*self._connections.post("/rpc", body, again=True)))
        return document

    def events(self, *, play_sid: str = "", bench_id: str = "", after: int | None = None) -> Iterator[Event]:
        """What happens, on and on; a stream that breaks is taken up after the last event. Raises NoAnswer once nobody answers."""
        asked = {"play_sid": play_sid, "bench_id": bench_id}
        while True:
            with self._connections.stream("/events", asked, after) as (status, lines):
                if status != 200:
                    self._result(status, lines.read())
                for event in read_stream(lines):
                    after = event.id
                    yield event
            time.sleep(BETWEEN_STREAMS_S)

    def wait_for_play(self, sid: str, *, timeout_s: float | None = None) -> PlayView:
        """A play, once it has ended. NoAnswer where that takes longer."""
        until = _Until(timeout_s, f"Play {sid}")
        last_id = 0
        while (play := self.play_get(sid=sid)).status not in FINISHED:
            last_id = self.play_events(sid=sid, after=last_id, wait_s=until.left_s(LONGEST_WAIT_S)).last_id
        return play

    def wait_for_bench(self, bench_id: str, *, timeout_s: float | None = None) -> BenchView:
        """A bench, once it has ended. NoAnswer where that takes longer."""
        until = _Until(timeout_s, f"Bench {bench_id}")
        last_id = 0
        while (bench := self.bench_get(bench_id=bench_id)).status == "running":
            last_id = self.play_events(bench_id=bench.bench_id, after=last_id, wait_s=until.left_s(LONGEST_WAIT_S)).last_id
        return bench

    def close(self) -> None:
        """Let go of the connections; they are made again where needed."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _result(self, status: int, body: bytes) -> Raw:
        try:
            answer = _read_answer(body)
        except msgspec.MsgspecError:
            answer = _Answer()
        if answer.error is not None:
            raise raised(answer.error)
        if answer.result is UNSET:
            words = f"{self._connections.url} answered with HTTP {status}, and not as a Flowgauge server does."
            raise (NotAllowed if status in (401, 403) else NoAnswer)(words, remedy="Look at the address.")
        return answer.result


class _Until:
    """A time limit over several calls; None: none."""

    def __init__(self, timeout_s: float | None, what: str) -> None:
        self._end = None if timeout_s is None else time.monotonic() + timeout_s
        self._what = what
        self._timeout_s = timeout_s

    def left_s(self, most: float) -> float:
        """How long may be waited now."""
        left = most if self._end is None else self._end - time.monotonic()
        if left <= 0:
            raise NoAnswer(f"{self._what} has not ended within {self._timeout_s:g} s.", remedy="It goes on; ask again later.")
        return min(most, left)
