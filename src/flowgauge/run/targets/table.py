"""The kinds of target: one row each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.errors import UsageError
from flowgauge.model.bench import Bench
from flowgauge.run.targets.caller import Price, TargetCaller

if TYPE_CHECKING:
    from flowgauge.run.targets.workflow import WorkflowServices


class TargetServices(msgspec.Struct, frozen=True, kw_only=True):
    """What the process hands to targets; each takes what it needs."""

    http: Callable[[], Awaitable[Any]] | None = None
    """Gives the shared aiohttp session."""
    price: Price | None = None
    plays: Any = None
    """`WorkflowServices`, where the target is a workflow."""
    function: Callable[..., Any] | None = None
    """A python target that was handed over as it is, rather than by name."""


def make_target(bench: Bench, services: TargetServices) -> TargetCaller:
    """The caller of a bench's target. Raises UsageError where the target cannot be used as it is."""
    return TARGETS[bench.target.kind](bench, services)


def _workflow(bench: Bench, services: TargetServices) -> TargetCaller:
    from flowgauge.run.targets.workflow import WorkflowTarget

    plays: WorkflowServices | None = services.plays
    if plays is None:
        raise UsageError("A workflow target needs an engine and a store.", remedy="Hand in TargetServices(plays=…).")
    return WorkflowTarget(bench, plays)


def _python(bench: Bench, services: TargetServices) -> TargetCaller:
    from flowgauge.run.targets.python import PythonTarget

    most = bench.max_concurrent_runs
    return PythonTarget(bench.target.reference, max_concurrent=most, price=services.price, function=services.function)


def _command(bench: Bench, services: TargetServices) -> TargetCaller:
    from flowgauge.run.targets.command import CommandTarget

    return CommandTarget(bench, price=services.price)


def _http(bench: Bench, services: TargetServices) -> TargetCaller:
    from flowgauge.run.targets.http import HttpTarget

    if services.http is None:
        raise UsageError("An http target needs a session.", remedy="Hand in TargetServices(http=…).")
    return HttpTarget(bench, services.http, price=services.price)


def _langgraph(bench: Bench, services: TargetServices) -> TargetCaller:
    from flowgauge.run.targets.langgraph import LangGraphTarget

    return LangGraphTarget(bench.target.reference, price=services.price)


TARGETS: dict[str, Callable[[Bench, TargetServices], TargetCaller]] = {
    "workflow": _workflow,
    "python": _python,
    "command": _command,
    "http": _http,
    "langgraph": _langgraph,
}
