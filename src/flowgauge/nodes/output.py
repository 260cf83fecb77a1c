"""Reading what a model wrote: code between fences, JSON with or without them."""

from __future__ import annotations

import msgspec

from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail

_FENCE = "```"


def fenced_code(text: str) -> str:
    """The first fenced block, or the whole text where there is no fence."""
    start = text.find(_FENCE)
    line_end = text.find("\n", start + len(_FENCE)) if start >= 0 else -1
    end = text.find(_FENCE, line_end + 1) if line_end >= 0 else -1
    return text[line_end + 1 : end] if end >= 0 else text


def parse_json(text: str) -> Json:
    """The JSON that a text is or holds between fences; a failed attempt where it is none."""
    for candidate in (text, fenced_code(text)):
        try:
            return msgspec.json.decode(candidate.strip().encode())
        except msgspec.DecodeError as error:
            problem = error
    raise fail("invalid_output", f"The answer is not JSON: {problem}.", detail=text[:2000])


def as_json(value: object, what: str) -> Json:
    """A value as JSON would give it back; a failed attempt where JSON cannot hold it."""
    try:
        plain = msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise fail("invalid_output", f"{what} answered with something that JSON cannot hold: {error}.") from error
    if _lost_numbers(value, plain):
        raise fail("invalid_output", f"{what} answered with something that JSON cannot hold: NaN or infinity.")
    return plain


def _lost_numbers(value: object, plain: Json) -> bool:
    """The encoder writes NaN and infinity as null: is there a null that was a number?"""
    if isinstance(value, float):
        return plain is None
    if isinstance(value, dict):
        return any(map(_lost_numbers, value.values(), plain.values()))
    if isinstance(value, list | tuple):
        return any(map(_lost_numbers, value, plain))
    return False
