"""Flowgauge measures AI workflows and decides with the measurements.

    import flowgauge as fg
    result = fg.play("ticket-triage.yaml", inputs={"ticket": "I was charged twice"})
    result.status, result.output, result.cost_usd
    measured = fg.bench("ticket-triage.yaml", configs="configs.yaml", runs=5)
    measured.configs["mini"].latency.p95, measured.cheapest
    verdict = fg.gate("latest:mini", baseline="release")
    verdict.status, [line.words for line in verdict.lines]

Nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from flowgauge._version import __version__

if TYPE_CHECKING:
    from flowgauge.app.api import PlayResult, aplay, play
    from flowgauge.app.bench_api import BenchResult, abench, bench
    from flowgauge.app.compare_api import comparison, gate
    from flowgauge.define.workflow import load_workflow, parse_workflow
    from flowgauge.errors import FlowgaugeError
    from flowgauge.model.play import Play
    from flowgauge.model.workflow import Workflow
    from flowgauge.store import open_store

__all__ = [
    "BenchResult",
    "FlowgaugeError",
    "Play",
    "PlayResult",
    "Workflow",
    "__version__",
    "abench",
    "aplay",
    "bench",
    "comparison",
    "gate",
    "load_workflow",
    "open_store",
    "parse_workflow",
    "play",
]

_HOMES = {
    "BenchResult": "app.bench_api",
    "FlowgaugeError": "errors",
    "Play": "model.play",
    "PlayResult": "app.api",
    "Workflow": "model.workflow",
    "abench": "app.bench_api",
    "aplay": "app.api",
    "bench": "app.bench_api",
    "comparison": "app.compare_api",
    "gate": "app.compare_api",
    "load_workflow": "define.workflow",
    "open_store": "store",
    "parse_workflow": "define.workflow",
    "play": "app.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'flowgauge' has no attribute {name!r}")
    return getattr(importlib.import_module(f"flowgauge.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
