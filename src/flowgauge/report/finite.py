"""JSON of figures: no NaN and no infinity, which JSON does not have and many readers refuse."""

from __future__ import annotations

import math
from typing import Any

import msgspec


def finite_json(report: msgspec.Struct) -> bytes:
    """Indented JSON in which every number is one: what is not finite is unknown."""
    return msgspec.json.format(msgspec.json.encode(_finite(msgspec.to_builtins(report))), indent=2) + b"\n"


def _finite(value: Any) -> Any:
    """An interval that has no end on one side is no interval."""
    if isinstance(value, dict):
        if value.keys() == {"low", "high"} and not all(map(math.isfinite, value.values())):
            return None
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
