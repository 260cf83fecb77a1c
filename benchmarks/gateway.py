"""Requests a second of our OpenAI dialect beside its floor and its peers.

`python benchmarks/gateway.py [--quick]`: a server on loopback in another process
answers every POST at once with the same chat completion. The clients take turns in
short rounds, so that a busy moment of the machine hits all of them. Printed are the
median rate, the processor time of a request, and both as ratios to a bare aiohttp
loop that sends ready bytes and parses nothing (the floor). Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import msgspec

from flowgauge.model.exchange import Message, ModelRequest
from flowgauge.providers.gateway import LiveGateway
from flowgauge.providers.limits.settings import Limits
from flowgauge.providers.wire.openai_chat import OpenAIChat
from flowgauge.providers.wire.transport import Wire

MODEL = "gpt-4o-mini"
PROMPT = "Classify this ticket as billing, technical or general: my invoice is wrong. " * 4
ANSWER = msgspec.json.encode(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "billing " * 20}, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 80, "completion_tokens": 40, "total_tokens": 120, "prompt_tokens_details": {"cached_tokens": 0}},
        "system_fingerprint": None,
    }
)
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)

Call = Callable[[], Awaitable[object]]


class Server(asyncio.Protocol):
    """As little of HTTP as a client needs, so that the server is not what is measured."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            at = head.find(b"content-length:")
            whole = end + 4 + (int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0)
            if len(self._buffer) < whole:
                return
            self._buffer = self._buffer[whole:]
            self._transport.write(RESPONSE)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def asked(base_url: str) -> ModelRequest:
    return ModelRequest(provider="openai", model=MODEL, messages=(Message(role="user", text=PROMPT),), base_url=base_url)


@asynccontextmanager
async def bare(base_url: str) -> AsyncIterator[Call]:
    body = msgspec.json.encode({"model": MODEL, "messages": [{"role": "user", "content": PROMPT}]})
    headers = {"Authorization": "Bearer x", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call() -> object:
            async with session.post(f"{base_url}/chat/completions", data=body, headers=headers) as response:
                return await response.read()

        yield call


@asynccontextmanager
async def dialect(base_url: str) -> AsyncIterator[Call]:
    wire = Wire()
    provider = OpenAIChat(wire)
    yield lambda: provider.complete(asked(base_url))
    await wire.close()


@asynccontextmanager
async def gateway(base_url: str) -> AsyncIterator[Call]:
    async with LiveGateway(limits=Limits()) as live:
        yield lambda: live.complete(asked(base_url))


@asynccontextmanager
async def openai_sdk(base_url: str) -> AsyncIterator[Call]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=base_url, api_key="x", max_retries=0) as client:
        yield lambda: client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": PROMPT}])


@asynccontextmanager
async def pydantic_ai(base_url: str) -> AsyncIterator[Call]:
    from pydantic_ai import ModelRequest as LibraryRequest
    from pydantic_ai.direct import model_request
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=base_url, api_key="x"))
    yield lambda: model_request(model, [LibraryRequest.user_text_prompt(PROMPT)])


CLIENTS = {
    "bare aiohttp": (bare, "aiohttp"),
    "flowgauge dialect": (dialect, "flowgauge"),
    "flowgauge gateway": (gateway, "flowgauge"),
    "openai SDK": (openai_sdk, "openai"),
    "pydantic-ai": (pydantic_ai, "pydantic_ai"),
}


async def round_of(call: Call, at_once: int, seconds: float) -> tuple[float, float]:
    """Requests a second, and microseconds of processor time a request, of one short round."""
    count = 0
    until = time.perf_counter() + seconds

    async def worker() -> None:
        nonlocal count
        while time.perf_counter() < until:
            await call()
            count += 1

    started, worked = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return count / (time.perf_counter() - started), (time.process_time() - worked) / count * 1e6


async def measure(base_url: str, *, rounds: int, seconds: float) -> None:
    async with AsyncExitStack() as stack:
        calls = {
            name: await stack.enter_async_context(open_client(base_url))
            for name, (open_client, package) in CLIENTS.items()
            if importlib.util.find_spec(package)
        }
        for at_once in (1, 100):
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
            for number in range(rounds + 1):
                for name, call in calls.items():
                    result = await round_of(call, at_once, seconds)
                    if number:  # the first round opens connections
                        found[name].append(result)
            show(at_once, found)


def show(at_once: int, found: dict[str, list[tuple[float, float]]]) -> None:
    """Ratios are taken round by round before their median is, so that a slow moment counts for both sides."""
    floor = found["bare aiohttp"]
    print(f"\n{at_once} at once (medians of {len(floor)} rounds)")
    print(f"{'client':<20}{'requests/s':>12}{'of bare':>10}{'CPU µs/request':>17}{'of bare':>10}")
    for name, results in found.items():
        rate, cpu = (statistics.median(column) for column in zip(*results, strict=True))
        paired = [(mine[0] / its[0], mine[1] / its[1]) for mine, its in zip(results, floor, strict=True)]
        rate_ratio, cpu_ratio = (statistics.median(column) for column in zip(*paired, strict=True))
        print(f"{name:<20}{rate:>12,.0f}{rate_ratio:>9.2f}x{cpu:>17,.0f}{cpu_ratio:>9.2f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter and fewer rounds")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        base_url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        asyncio.run(measure(base_url, rounds=10 if options.quick else 40, seconds=0.15 if options.quick else 0.2))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
