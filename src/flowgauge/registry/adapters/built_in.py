"""What a built-in adapter's file ends with: a row for the table, and what the adapter is handed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.model.figure import Metric
from flowgauge.model.workflow import Value
from flowgauge.registry.adapter import Requires, Tier

if TYPE_CHECKING:
    from flowgauge.store.store import Store


class Context(msgspec.Struct, frozen=True):
    """What a run of a built-in adapter may look at."""

    store: Store
    time_limit_s: float


class BuiltIn(msgspec.Struct, frozen=True, kw_only=True):
    """A row. `run` may raise Skip; whatever else it raises is its error."""

    name: str
    tier: Tier
    settings: type[Value]
    """What the settings file may say of it."""
    run: Callable[[Any, Context], Mapping[str, Metric]]
    """Handed the settings and the context."""
    missing: Callable[[Any], str] = lambda _: ""
    """What the settings leave open, so that it would be skipped."""
    requires: Requires = Requires()


class NoSettings(Value, frozen=True):
    """Nothing can be set."""
