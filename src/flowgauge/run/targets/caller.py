"""What a kind of target must do: answer one trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from flowgauge.model.bench import Answer, Case, Configuration, PlannedTrial

Price = Callable[[str, int, int], float | None]
"""(model, prompt tokens, completion tokens) → dollars; None where the model has no known price."""


class TargetCaller(Protocol):
    """Made once a bench, called once a trial, many at once."""

    patience_s: float
    """How much longer than the bench's timeout_s it may take, because it holds to the limit itself."""

    async def call(self, configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        """What the target gave back, measured. Failures are answers, too; may raise errors.Failed instead."""

    async def close(self) -> None:
        """Let go of what was made for it."""
