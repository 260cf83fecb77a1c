"""The floor: aiohttp in a loop that sends ready bytes, parses nothing and stores nothing."""

from __future__ import annotations

import asyncio
import json
import time

import aiohttp
from benchmarks.peers.many import timed
from benchmarks.peers.told import MODEL, PROMPT, Asked, asked, tell, version_of


async def calls(asked: Asked) -> None:
    body = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": PROMPT}]}).encode()
    headers = {"Authorization": "Bearer x", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call() -> None:
            async with session.post(f"{asked.url}/chat/completions", data=body, headers=headers) as response:
                await response.read()

        await timed(call, asked.at_once, asked.at_once)
        worked = time.process_time()
        seconds, latencies_ms = await timed(call, asked.trials, asked.at_once)
        worked = time.process_time() - worked
        tell(seconds, latencies_ms, cpu_us=worked / asked.trials * 1e6, version=version_of("aiohttp"))


if __name__ == "__main__":
    asyncio.run(calls(asked()))
