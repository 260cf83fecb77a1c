"""The types of check: one row each."""

from __future__ import annotations

from flowgauge.score.check import Check
from flowgauge.score.checks import (
    affix,
    bounds,
    command,
    contains,
    equals,
    gold,
    json_path,
    json_schema,
    judge,
    length,
    numeric,
    one_of,
    python,
    regex,
    similarity,
)  # fmt: skip

CHECKS: dict[str, Check] = {
    "equals": equals.CHECK,
    "one_of": one_of.CHECK,
    "contains": contains.CONTAINS,
    "not_contains": contains.NOT_CONTAINS,
    "starts_with": affix.STARTS_WITH,
    "ends_with": affix.ENDS_WITH,
    "regex": regex.CHECK,
    "json_path": json_path.CHECK,
    "json_schema": json_schema.CHECK,
    "numeric": numeric.CHECK,
    "length": length.CHECK,
    "latency": bounds.LATENCY,
    "cost": bounds.COST,
    "tokens": bounds.TOKENS,
    "similarity": similarity.CHECK,
    "python": python.CHECK,
    "command": command.CHECK,
    "judge": judge.CHECK,
    "gold": gold.CHECK,
}
CHECK_TYPES: frozenset[str] = frozenset(CHECKS)
