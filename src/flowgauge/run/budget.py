"""What a play has spent, and whether it may spend more.

Calls under way are reserved at their estimate, so that ten at once cannot each
take the last cent.
"""

from __future__ import annotations

from flowgauge.model.play import Usage
from flowgauge.nodes.context import fail


class Budget:
    """Totals of one play, over every attempt, failed ones included."""

    __slots__ = ("_limit_usd", "_reserved_usd", "usage")

    def __init__(self, limit_usd: float | None, spent: Usage) -> None:
        self._limit_usd = limit_usd
        self._reserved_usd = 0.0
        self.usage = spent

    @property
    def limited(self) -> bool:
        """Is there a limit at all?"""
        return self._limit_usd is not None

    def reserve(self, estimate_usd: float) -> None:
        """Set money aside for a call; a failed attempt where it would go past the limit."""
        if self._limit_usd is None:
            return
        spent = self.usage.cost_usd or 0.0
        if spent >= self._limit_usd or spent + self._reserved_usd + estimate_usd > self._limit_usd:
            raise fail(
                "budget_exceeded",
                f"The next call would go past budget_usd {self._limit_usd:g}: "
                f"${spent:.6f} spent, at least ${estimate_usd + self._reserved_usd:.6f} more.",
            )
        self._reserved_usd += estimate_usd

    def settle(self, estimate_usd: float, usage: Usage) -> None:
        """The call is over: what it really used takes the place of its estimate."""
        if self._limit_usd is not None:
            self._reserved_usd -= estimate_usd
        self.usage = self.usage.plus(usage)
