"""How a mistake in a file is told: what is wrong and what to do, in a person's words."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from flowgauge.lang.wording import shown

Words = tuple[str, str]
"""What is wrong, and the remedy."""

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping of names to values",
    "model_type": "a mapping of names to values",
    "model_attributes_type": "a mapping of names to values",
    "finite_number": "a finite number",
    "literal_error": "",
}
_LIMITS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def fault_in_words(kind: str, value: Any, context: Mapping[str, Any]) -> Words:
    """A fault that pydantic found, but for unknown and missing keys."""
    if kind == "literal_error":
        return _choice(value, str(context.get("expected", "")))
    if kind in _EXPECTED:
        return f"Expected {_EXPECTED[kind]}, not {shown(value)}.", _quote_remedy(kind, value)
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return f"{shown(value)} is out of range.", f"It must be {words} {context.get(name)}."
    if kind == "string_pattern_mismatch":
        return f"{shown(value)} is not allowed here.", f"It must match {context.get('pattern')}."
    if kind == "too_short":
        return "Nothing is listed.", f"List at least {context.get('min_length')}."
    return f"{shown(value)} does not fit ({kind.replace('_', ' ')}).", ""


def _choice(value: Any, expected: str) -> Words:
    options = [option.strip().strip("'") for option in expected.replace(" or ", ", ").split(",")]
    remedy = f"It must be one of {', '.join(options)}."
    if isinstance(value, str):
        near = difflib.get_close_matches(value, options, n=1)
        remedy = f"Did you mean '{near[0]}'?" if near else remedy
    return f"{shown(value)} is not allowed here.", remedy


def _quote_remedy(kind: str, value: Any) -> str:
    if kind == "string_type":
        return "Put it in quotes." if isinstance(value, (int, float)) else "Write text."
    if kind == "list_type":
        return "Write [a, b] or one `- item` a line."
    return (
        "Correct it."
        if not isinstance(value, str)
        else f"Write {_EXPECTED[kind]}, without quotes."
        if kind != "dict_type"
        else "Write `name: value`."
    )
