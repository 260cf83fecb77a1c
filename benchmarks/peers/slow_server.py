"""A model server on loopback that answers every POST after 50 ms with the same chat completion.

As little of HTTP as a client needs, so that the server is not what is measured.
Prints its port; ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import sys

from benchmarks.peers.told import DELAY_MS, MODEL

ANSWER = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "billing " * 20}, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 80, "completion_tokens": 40, "total_tokens": 120, "prompt_tokens_details": {"cached_tokens": 0}},
        "system_fingerprint": None,
    }
).encode()
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)


class SlowServer(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole, when its time has come."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            at = head.find(b"content-length:")
            whole = end + 4 + (int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0)
            if len(self._buffer) < whole:
                return
            self._buffer = self._buffer[whole:]
            asyncio.get_running_loop().call_later(DELAY_MS / 1000, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(RESPONSE)


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(SlowServer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
