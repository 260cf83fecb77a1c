"""When an answer arrived, as opposed to when our own code got round to it.

With many calls at once an answer that is here waits for the event loop, which
works on others. That wait is ours, not the model's: it is told apart.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial

import aiohttp
from aiohttp.client_proto import ResponseHandler


class StampedHandler(ResponseHandler):
    """A connection that notes when data last came."""

    received_s = 0.0

    def data_received(self, data: bytes) -> None:
        """Note the moment, then go on as ever."""
        if data:
            self.received_s = time.perf_counter()
        super().data_received(data)


def _handler(*, loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return StampedHandler(loop)


class StampingConnector(aiohttp.TCPConnector):
    """Makes connections of that kind."""

    def __init__(self, *, keepalive_timeout_s: float) -> None:
        # No limit here: how many requests run at once is the limiter's business.
        super().__init__(limit=0, keepalive_timeout=keepalive_timeout_s)
        self._factory = partial(_handler, loop=self._loop)


def received_at(response: aiohttp.ClientResponse) -> float:
    """When the end of a body that was just read came in.

    Where its connection serves another call by now it may be a later moment: then we call too little our own, never too much.
    """
    return getattr(response.content._protocol, "received_s", 0.0) or time.perf_counter()
