"""What an adapter is, and what came of running one.

An adapter brings figures from anywhere: a name, a tier, what it needs, and a
`run` that answers `{metric: {value, direction, unit}}`. What it needs and is not
there makes it skipped, with the reason; whatever else goes wrong is an error of
this adapter alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

from flowgauge.errors import UsageError
from flowgauge.model.figure import Metric

Tier = Literal["fast", "heavy", "dynamic"]
"""fast: judged at every upgrade; heavy: needs a large machine; dynamic: installed from a repository."""
TIERS: tuple[Tier, ...] = ("fast", "heavy", "dynamic")
Status = Literal["measured", "skipped", "error"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*(\.[A-Za-z0-9_+-]+)*")
_LONGEST_NAME = 64


class Requires(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must be there for an adapter to run."""

    gpu: bool = False
    min_vram_gb: float = 0.0
    """Of one GPU; more than 0 asks for a GPU too."""
    packages: tuple[str, ...] = ()
    """Importable in the adapter's own environment."""


class Adapter(Protocol):
    """What others write. `tier` is fast, heavy or dynamic; `requires` a Requires or a mapping with its fields."""

    @property
    def name(self) -> str:
        """One word."""

    @property
    def tier(self) -> str:
        """fast, heavy or dynamic."""

    @property
    def requires(self) -> Requires | Mapping[str, Any]:
        """What must be there."""

    def run(self) -> Mapping[str, Metric | Mapping[str, Any]]:
        """Metrics by name. Raises what it likes: that is an error of this adapter."""


class Skip(Exception):
    """Raised in `run` of a built-in adapter: something it needs is not there."""


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter as lists show it."""

    name: str
    tier: Tier
    source: str
    """built in, registered, package NAME VERSION, or repository URL at COMMIT."""
    requires: Requires = Requires()
    missing: str = ""
    """Why it would be skipped now; empty where nothing is known to be missing."""
    error: str = ""
    """Why it cannot even be loaded."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of running one adapter."""

    adapter: str
    tier: Tier
    status: Status
    metrics: dict[str, Metric] = {}
    reason: str = ""
    """Why it was skipped, or what went wrong."""
    duration_ms: float = 0.0


def check_name(name: str, what: str) -> str:
    """A name that is also a safe file name. Raises UsageError."""
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise UsageError(
            f"{what} cannot be called {name!r}.",
            remedy=f"Take letters, digits, - _ + and single dots (up to {_LONGEST_NAME}), beginning with a letter or a digit.",
        )
    return name
