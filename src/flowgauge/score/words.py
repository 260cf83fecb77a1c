"""How values are spoken of in reasons."""

from __future__ import annotations

from flowgauge.errors import Failed
from flowgauge.lang.filters import to_json
from flowgauge.model.workflow import Json

SHOWN_CHARS = 160
_LOOKED_AT = 4 * SHOWN_CHARS


def shown(value: Json) -> str:
    """A value as JSON, cut short; what cannot be written as JSON is named by its type."""
    if isinstance(value, str):
        value = value[:_LOOKED_AT]
    elif isinstance(value, dict | list | tuple) and len(value) > _LOOKED_AT:
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {len(value)}"
    try:
        text = to_json(value)
    except Failed:
        return f"a {type(value).__name__} that JSON cannot hold"
    return cut(text, SHOWN_CHARS)


def cut(text: str, most: int = 2000) -> str:
    """The head of a text, writable as UTF-8."""
    head = text if len(text) <= most else f"{text[:most]}…"
    return head.encode(errors="replace").decode()
