"""What makes a snapshot of an agent be captured, and when it is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from flowgauge.errors import UsageError

Trigger = Literal["creation", "recipe_change", "prompt_change", "intelligence_change", "autoresearch_improvement"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One trigger."""

    when: str
    quiet_s: float = 0.0
    """It is left out so soon after the agent's creation: its first recipe is no change of one."""


TRIGGERS: Mapping[Trigger, Row] = {
    "creation": Row(when="The agent was made."),
    "recipe_change": Row(when="Its recipe, such as its workflow, was changed.", quiet_s=60.0),
    "prompt_change": Row(when="Its prompt was changed."),
    "intelligence_change": Row(when="What it can do shifted by itself; the daemon's evidence of a regression is one."),
    "autoresearch_improvement": Row(when="An optimisation session found something better."),
}


def check_trigger(trigger: str) -> Trigger:
    """Raises UsageError."""
    for known in TRIGGERS:
        if known == trigger:
            return known
    raise UsageError(f"{trigger!r} is no trigger.", remedy=f"Take one of: {', '.join(TRIGGERS)}.")


def is_quiet(trigger: Trigger, created_ms: int | None, now_ms: int) -> bool:
    """Whether it is left out. A creation that lies in the future says nothing: somebody set a clock back."""
    return created_ms is not None and 0 <= now_ms - created_ms < TRIGGERS[trigger].quiet_s * 1000
