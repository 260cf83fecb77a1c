"""Heavy adapters: the benchmark itself is an installed package's, found by entry point and run in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Annotated, Any

from msgspec import Meta

from flowgauge.model.figure import Metric
from flowgauge.model.workflow import Value
from flowgauge.registry.adapter import Requires
from flowgauge.registry.adapters.built_in import BuiltIn, Context
from flowgauge.registry.answers import metrics_of
from flowgauge.registry.child import Home, ask

GROUP = "flowgauge.benchmarks"


class Settings(Value, frozen=True):
    """Handed to the package."""

    options: Annotated[dict[str, Any], Meta(description="Keyword arguments for the package's benchmark.")] = {}


def packaged(name: str, *, min_vram_gb: float) -> BuiltIn:
    """The row of a heavy adapter."""

    def run(settings: Settings, context: Context) -> Mapping[str, Metric]:
        """Whatever the package's benchmark measures."""
        request = {"in_group": GROUP, "load": name, "settings": settings.options, "call": True, "sys_path": sys.path}
        answer = ask(Home(python=sys.executable, isolated=False), request, time_limit_s=context.time_limit_s)
        return metrics_of(answer["metrics"])

    def missing(_: Settings) -> str:
        if entry_points(group=GROUP, name=name):
            return ""
        return f"no installed package offers the benchmark {name} (entry point group {GROUP})"

    return BuiltIn(
        name=name, tier="heavy", settings=Settings, run=run, missing=missing, requires=Requires(gpu=True, min_vram_gb=min_vram_gb)
    )
