"""What a play, or a sub-workflow in it, has spent, and whether it may spend more.

Calls under way are reserved at their estimate, so that ten at once cannot each
take the last cent. Calls without a known price are not bounded; whoever asks is
told so elsewhere.
"""

from __future__ import annotations

from flowgauge.nodes.context import fail

TOLERANCE = 1e-9
"""Sums of cents are not exact in binary."""


class Budget:
    """Dollars of one workflow, over every attempt, failed ones included."""

    __slots__ = ("_limit_usd", "_reserved_usd", "_spent_usd")

    def __init__(self, limit_usd: float, spent_usd: float = 0.0) -> None:
        self._limit_usd = limit_usd
        self._spent_usd = spent_usd
        self._reserved_usd = 0.0

    def check(self, estimate_usd: float) -> None:
        """A failed attempt where a call of this price would go past the limit."""
        wanted = self._spent_usd + self._reserved_usd + estimate_usd
        used_up = self._spent_usd >= self._limit_usd
        if used_up or wanted > self._limit_usd * (1 + TOLERANCE):
            raise fail(
                "budget_exceeded",
                f"The next call would go past budget_usd {self._limit_usd:g}: "
                f"${self._spent_usd:.6f} spent, at least ${estimate_usd + self._reserved_usd:.6f} more.",
            )

    def reserve(self, estimate_usd: float) -> None:
        """Set money aside for a call that was checked."""
        self._reserved_usd += estimate_usd

    def settle(self, estimate_usd: float, cost_usd: float | None) -> None:
        """The call is over: what it really cost takes the place of its estimate."""
        self._reserved_usd -= estimate_usd
        self._spent_usd += cost_usd or 0.0
