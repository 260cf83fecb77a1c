"""A bench with one configuration and one case, and how to call its target once."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from flowgauge.model.bench import Answer, Bench, Case, Configuration, PlannedTrial, Target
from flowgauge.run.targets.caller import TargetCaller
from flowgauge.run.targets.table import TargetServices, make_target

Kind = Literal["workflow", "python", "command", "http", "langgraph"]
PLANNED = PlannedTrial("run-0", 0, "c", "k", 0)


def bench(kind: Kind, reference: str, inputs: dict[str, Any] | None = None, config: dict[str, Any] | None = None, **fields: Any) -> Bench:
    return Bench(
        name="b",
        target=Target(kind=kind, reference=reference, name=reference),
        configs=(Configuration(name="c", workflow_overrides={"config": config or {}}),),
        cases=(Case(name="k", inputs=inputs or {}, expected={"secret": "gold"}),),
        **fields,
    )


def prices(model: str, prompt: int, completion: int) -> float | None:
    return prompt * 1.0 + completion * 2.0 if model == "known" else None


async def call(caller: TargetCaller, definition: Bench) -> Answer:
    return await caller.call(definition.configs[0], definition.cases[0], PLANNED)


def once(definition: Bench, **services: Any) -> Answer:
    async def go() -> Answer:
        caller = make_target(definition, TargetServices(price=prices, **services))
        try:
            return await call(caller, definition)
        finally:
            await caller.close()

    return asyncio.run(go())
