"""Reads the marker: keywords in, a Mark out, or a UsageError that names the mistake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.compare.limits import Bound, read_bounds
from flowgauge.errors import UsageError
from flowgauge.lang.wording import did_you_mean

if TYPE_CHECKING:
    import pytest

ALWAYS = Bound("success_rate", ">=", 1.0)
"""Without any bound, every run must succeed."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """How a test is to be measured, and what it must reach."""

    runs: int = 5
    configs: Mapping[str, Mapping[str, Any]] | None = None
    """Values for `flowgauge_config`, by the name of the configuration."""
    min_success: float | None = None
    fail_under: tuple[str, ...] = ()
    name: str = ""
    max_concurrency: int = 1
    timeout_s: float | None = None
    tags: Mapping[str, str] | None = None

    def bounds(self) -> list[Bound]:
        """All that must hold."""
        least = [] if self.min_success is None else [Bound("success_rate", ">=", self.min_success)]
        return [*least, *read_bounds(self.fail_under)] or [ALWAYS]

    def settings(self) -> list[dict[str, Any]]:
        """The configurations as a bench file has them."""
        return [{"name": name, "workflow_overrides": {"config": dict(values)}} for name, values in (self.configs or {}).items()]


def read_mark(item: pytest.Item, mark: pytest.Mark, runs: int | None) -> Mark:
    """What the marker says; `runs` of the command line wins."""
    if mark.args:
        raise UsageError(f"{item.nodeid}: the marker takes keywords only.", remedy="Write @pytest.mark.flowgauge(runs=5).")
    for name in mark.kwargs:
        if name not in Mark.__struct_fields__:
            hint = did_you_mean(name, Mark.__struct_fields__)
            raise UsageError(f"{item.nodeid}: the marker has no '{name}'.", remedy=hint or f"It has {', '.join(Mark.__struct_fields__)}.")
    given = dict(mark.kwargs)
    if isinstance(given.get("fail_under"), str):
        given["fail_under"] = (given["fail_under"],)
    try:
        found = msgspec.convert({**given, **({} if runs is None else {"runs": runs})}, Mark)
    except msgspec.ValidationError as error:
        raise UsageError(f"{item.nodeid}: the marker cannot be read: {error}.", remedy="See docs/pytest.md.") from error
    if found.runs < 1 or found.max_concurrency < 1:
        raise UsageError(f"{item.nodeid}: runs and max_concurrency must be at least 1.")
    if found.min_success is not None and not 0 <= found.min_success <= 1:
        raise UsageError(f"{item.nodeid}: min_success is a share.", remedy="Write 0.9 for nine in ten.")
    return found
