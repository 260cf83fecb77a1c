"""Inspect AI: a Task over a MemoryDataset; it writes its own log file, which is part of its time as our database is of ours."""

from __future__ import annotations

import importlib
import time
from typing import Any

from benchmarks.peers.nothing import nothing
from benchmarks.peers.told import MODEL, PROMPT, Asked, asked, quiet, tell, version_of


def noop_solver() -> Any:
    solver = importlib.import_module("inspect_ai.solver").solver
    output = importlib.import_module("inspect_ai.model").ModelOutput

    @solver
    def do_nothing() -> Any:
        async def solve(state: Any, generate: Any) -> Any:  # noqa: ARG001
            state.output = output.from_content("none", await nothing())
            return state

        return solve

    return do_nothing()


def evaluated(asked: Asked, count: int) -> Any:
    inspect = importlib.import_module("inspect_ai")
    dataset = importlib.import_module("inspect_ai.dataset")
    models = importlib.import_module("inspect_ai.model")
    calling = asked.what == "calls"
    samples = dataset.MemoryDataset([dataset.Sample(input=PROMPT, target="ok", id=number) for number in range(1, count + 1)])
    task = inspect.Task(
        dataset=samples,
        solver=importlib.import_module("inspect_ai.solver").generate() if calling else noop_solver(),
        scorer=None if calling else importlib.import_module("inspect_ai.scorer").exact(),
    )
    model = models.get_model(f"openai/{MODEL}", base_url=asked.url, api_key="x", responses_api=False) if calling else "mockllm/model"
    (log,) = inspect.eval(
        task, model=model, max_samples=asked.at_once, max_connections=asked.at_once, log_dir=asked.folder, display="none", log_level="error"
    )
    if log.status != "success":
        raise SystemExit(f"Inspect: {log.status} {log.error}")
    return log


def measure(asked: Asked) -> None:
    with quiet():
        evaluated(asked, asked.at_once)
        begun = time.perf_counter()
        log = evaluated(asked, asked.trials)
        seconds = time.perf_counter() - begun
    timed = [sample.output.time * 1000 for sample in log.samples or () if sample.output and sample.output.time]
    tell(seconds, timed, version=version_of("inspect-ai"))


if __name__ == "__main__":
    measure(asked())
