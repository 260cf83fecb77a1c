"""Benches for the tests of the plan."""

from __future__ import annotations

from typing import Any

from flowgauge.model.bench import Bench, Case, Configuration, Target

TARGET = Target(kind="python", reference="pkg.mod:ask", name="ask", content="def ask(): ...")


def bench(configs: int | tuple[Configuration, ...] = 3, cases: int | tuple[Case, ...] = 2, runs: int = 5, **changes: Any) -> Bench:
    """Configurations c0, c1, … and cases a0, a1, …, where they are not given."""
    if isinstance(configs, int):
        configs = tuple(Configuration(name=f"c{number}", workflow_overrides={"config": {"n": number}}) for number in range(configs))
    if isinstance(cases, int):
        cases = tuple(Case(name=f"a{number}", inputs={"q": number}) for number in range(cases))
    settings: dict[str, Any] = {"name": "shootout", "target": TARGET, **changes}
    return Bench(configs=configs, cases=cases, runs=runs, **settings)
