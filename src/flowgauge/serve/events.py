"""Server-Sent Events at `/events`: what happens, as it happens; resumable.

`?play_sid=` and `?bench_id=` choose, `?after=` or the header Last-Event-ID says
what was seen last. A stream begins once nothing can be missed any more, says
from time to time that it is still there, and ends with the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from starlette.responses import Response

from flowgauge.errors import BadParameter, Conflict, StoreFailure
from flowgauge.serve.broadcast import GONE, Broadcast, Check, Listener, Wanted
from flowgauge.serve.guard import refusal
from flowgauge.serve.rpc_errors import told

if TYPE_CHECKING:
    from starlette.datastructures import Headers, QueryParams
    from starlette.types import Receive, Send
    from starlette.types import Scope as Connection

MEDIA_TYPE = "text/event-stream; charset=utf-8"
RETRY = b"retry: 2000\n\n"
LARGEST_ID = 2**63 - 1


def read_wanted(query: QueryParams, headers: Headers) -> Wanted:
    """Raises BadParameter. A browser that comes back sends the header; it counts more than what the address said at first."""
    unknown = next((name for name in query if name not in Wanted.__struct_fields__), None)
    if unknown is not None:
        raise BadParameter(unknown, f"/events knows no parameter '{unknown[:100]}'.", remedy="It knows play_sid, bench_id and after.")
    after = headers.get("last-event-id") or query.get("after") or ""
    if after and not (after.isascii() and after.isdecimal() and len(after) <= 19 and int(after) <= LARGEST_ID):
        raise BadParameter("after", "after and Last-Event-ID are the id of an event: a whole number.")
    return Wanted(play_sid=query.get("play_sid", ""), bench_id=query.get("bench_id", ""), after=int(after) if after else None)


class EventStream(Response):
    """The answer that goes on."""

    def __init__(self, broadcast: Broadcast, wanted: Wanted, check: Check, send_s: float) -> None:
        super().__init__(media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._broadcast = broadcast
        self._wanted = wanted
        self._check = check
        self._send_s = send_s

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Until one side has enough."""
        if connection["method"] == "HEAD":
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b""})
            return
        try:
            async with self._broadcast.joined(self._wanted, self._check) as listener:
                await self._stream(listener, receive, send)
        except Conflict as error:
            await refusal(429, told(error), {"Retry-After": "5"})(connection, receive, send)
        except StoreFailure as error:
            await refusal(503, told(error))(connection, receive, send)

    async def _stream(self, listener: Listener, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        watching = asyncio.create_task(_watch(receive, listener))
        try:
            with contextlib.suppress(TimeoutError, OSError):  # who does not read, or is gone, is told nothing more
                await self._send(send, RETRY)
                async for piece in self._broadcast.written(listener):
                    await self._send(send, piece)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            watching.cancel()

    async def _send(self, send: Send, piece: bytes) -> None:
        async with asyncio.timeout(self._send_s):
            await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _watch(receive: Receive, listener: Listener) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.end(GONE)
