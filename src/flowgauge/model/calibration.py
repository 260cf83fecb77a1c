"""What a gate can see: its false alarms and its power, and the runs that an effect needs."""

from __future__ import annotations

import msgspec

from flowgauge.model.benchmark import Rate


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How often the gate raised the alarm with so many runs of each case on either side."""

    metric: str
    runs: int
    cases: int
    false_alarms: Rate
    """Where nothing had changed."""
    power: dict[float, Rate]
    """By the size of the harm: 0.2 is 20 %."""


class RunsPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to see an effect."""

    metric: str
    effect: float
    tolerance: float
    power: float
    spread: float
    """Of the logarithms of runs; of a pass rate, the rate itself."""
    runs: int | None
    """A side, over all cases; None where no number would do: the effect is within the tolerance."""
    chances: dict[int, float]
    """By runs a side: how likely the effect is seen."""
    cost_usd: float | None = None
    """Of that many runs, by the cost of those at hand."""
