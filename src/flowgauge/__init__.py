"""Flowgauge measures AI workflows and decides with the measurements.

    import flowgauge as fg
    result = fg.run("ticket-triage.yaml", inputs={"ticket": "I was charged twice"})
    result.status, result.output, result.cost_usd

Nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from flowgauge._version import __version__

if TYPE_CHECKING:
    from flowgauge.app.api import PlayResult, arun, run
    from flowgauge.define.workflow import load_workflow, parse_workflow
    from flowgauge.errors import FlowgaugeError
    from flowgauge.model.play import NodeRun, Play, PlayEvent
    from flowgauge.model.workflow import Workflow
    from flowgauge.store import open_store

__all__ = [
    "FlowgaugeError",
    "NodeRun",
    "Play",
    "PlayEvent",
    "PlayResult",
    "Workflow",
    "__version__",
    "arun",
    "load_workflow",
    "open_store",
    "parse_workflow",
    "run",
]

_HOMES = {
    "FlowgaugeError": "errors",
    "NodeRun": "model.play",
    "Play": "model.play",
    "PlayEvent": "model.play",
    "PlayResult": "app.api",
    "Workflow": "model.workflow",
    "arun": "app.api",
    "load_workflow": "define.workflow",
    "open_store": "store",
    "parse_workflow": "define.workflow",
    "run": "app.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'flowgauge' has no attribute {name!r}")
    return getattr(importlib.import_module(f"flowgauge.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
