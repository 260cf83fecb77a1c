"""pydantic-evals: a Dataset of as many cases as there are trials. It keeps results in memory; nothing is stored."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.peers.nothing import nothing
from benchmarks.peers.told import MODEL, PROMPT, Asked, asked, quiet, tell, version_of


def model_task(url: str) -> Callable[[str], Awaitable[str]]:
    """A task that asks a model through the openai SDK, which is what pydantic-ai calls, too."""
    openai = importlib.import_module("openai")
    client = openai.AsyncOpenAI(base_url=url, api_key="x", max_retries=0)

    async def task(prompt: str) -> str:
        answer = await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": prompt}])
        return str(answer.choices[0].message.content)

    return task


async def evaluated(task: Callable[[str], Awaitable[str]], count: int, at_once: int, *, check: bool) -> Any:
    evals = importlib.import_module("pydantic_evals")
    evaluators = [importlib.import_module("pydantic_evals.evaluators").EqualsExpected()] if check else []
    cases = [evals.Case(name=f"case-{number}", inputs=PROMPT, expected_output="ok") for number in range(count)]
    dataset = evals.Dataset(name="peer", cases=cases, evaluators=evaluators)
    return await dataset.evaluate(task, max_concurrency=at_once, progress=False)


async def measure(asked: Asked) -> None:
    async def noop(_prompt: str) -> str:
        return await nothing()

    task = model_task(asked.url) if asked.what == "calls" else noop
    check = asked.what != "calls"
    with quiet():
        await evaluated(task, asked.at_once, asked.at_once, check=check)
        begun = time.perf_counter()
        report = await evaluated(task, asked.trials, asked.at_once, check=check)
        seconds = time.perf_counter() - begun
    if report.failures or len(report.cases) != asked.trials:
        raise SystemExit(f"{len(report.failures)} cases failed")
    tell(seconds, [case.task_duration * 1000 for case in report.cases], version=version_of("pydantic-evals"))


if __name__ == "__main__":
    asyncio.run(measure(asked()))
