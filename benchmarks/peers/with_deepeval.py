"""DeepEval: it does not call a target itself, so the target is called first and its answers are handed to `evaluate`."""

from __future__ import annotations

import asyncio
import importlib
import time

from benchmarks.peers.many import timed
from benchmarks.peers.nothing import nothing
from benchmarks.peers.told import PROMPT, Asked, asked, quiet, tell, version_of


def evaluated(count: int, at_once: int) -> int:
    asyncio.run(timed(nothing, count, at_once))
    deepeval = importlib.import_module("deepeval")
    configs = importlib.import_module("deepeval.evaluate")
    case = importlib.import_module("deepeval.test_case").LLMTestCase
    metric = importlib.import_module("deepeval.metrics").ExactMatchMetric
    result = deepeval.evaluate(
        test_cases=[case(input=PROMPT, actual_output="ok", expected_output="ok") for _ in range(count)],
        metrics=[metric()],
        async_config=configs.AsyncConfig(run_async=True, throttle_value=0, max_concurrent=at_once),
        display_config=configs.DisplayConfig(show_indicator=False, print_results=False),
        cache_config=configs.CacheConfig(write_cache=False, use_cache=False),
    )
    return sum(1 for one in result.test_results if one.success)


def measure(asked: Asked) -> None:
    with quiet():
        evaluated(asked.at_once, asked.at_once)
        begun = time.perf_counter()
        right = evaluated(asked.trials, asked.at_once)
        seconds = time.perf_counter() - begun
    if right != asked.trials:
        raise SystemExit(f"only {right} of {asked.trials} cases passed")
    tell(seconds, version=version_of("deepeval"))


if __name__ == "__main__":
    measure(asked())
