"""The openai SDK in the same loop as the floor: what most tools are built on."""

from __future__ import annotations

import asyncio
import importlib

from benchmarks.peers.many import timed
from benchmarks.peers.told import MODEL, PROMPT, Asked, asked, tell, version_of


async def calls(asked: Asked) -> None:
    openai = importlib.import_module("openai")
    async with openai.AsyncOpenAI(base_url=asked.url, api_key="x", max_retries=0) as client:

        async def call() -> None:
            await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": PROMPT}])

        await timed(call, asked.at_once, asked.at_once)
        tell(*await timed(call, asked.trials, asked.at_once), version=version_of("openai"))


if __name__ == "__main__":
    asyncio.run(calls(asked()))
