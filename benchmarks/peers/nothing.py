"""The target that does nothing."""

from __future__ import annotations


async def nothing(**_values: object) -> str:
    """Answer at once."""
    return "ok"
