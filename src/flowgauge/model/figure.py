"""One measured figure: its value, which way is better, its unit, and the samples that it was made of."""

from __future__ import annotations

from typing import Literal

import msgspec

Direction = Literal["higher", "lower"]
"""Which way is better."""


class Metric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One figure. `value` None: it could not be measured; it is never zero then."""

    value: float | None
    direction: Direction
    unit: str = ""
    samples: dict[str, list[float]] = {}
    """By case, in the order in which they were taken; empty where only the figure is known. A single case is named ""."""
