"""Words that many messages share: the nearest known name, and a value short enough to show."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from flowgauge.lang.path import kind_of

MOST_SHOWN = 40
MOST_NAMES = 100
"""Looking for the nearest of more names would cost more than it helps."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that names the nearest known word, or all of them."""
    names = list(known)
    near = difflib.get_close_matches(word, names[:MOST_NAMES], n=1, cutoff=0.6)
    if near:
        return f"Did you mean '{near[0]}'?"
    shown = ", ".join(names[:MOST_SHOWN]) + (", …" if len(names) > MOST_SHOWN else "")
    return f"Known are {shown}." if names else "There are none."


def shown(value: Any) -> str:
    """A value, short enough for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value[:40]}…'" if len(value) > 40 else f"'{value}'"
    if isinstance(value, (int, float)):
        return str(value)
    return kind_of(value)
