"""What msgspec says of a value that does not fit, in words for whoever speaks JSON.

In: the message without its place. Out: what is wrong, without a full stop. What
is not known here is passed on as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_TYPES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}


def in_words(told: str) -> str:
    """The first way of saying it that fits."""
    for pattern, say in _SAYINGS:
        if found := pattern.fullmatch(told):
            return say(found)
    return f"{told[:1].lower()}{told[1:]}"


def _kinds(names: str) -> str:
    return " or ".join(_TYPES.get(name, name) for name in names.split(" | "))


def _length(found: re.Match[str]) -> str:
    if found["bound"] == ">=" and found["limit"] == "1":
        return "it must not be empty"
    unit = "characters" if found["types"].startswith("str") else "items"
    return f"it must have {_BOUNDS[found['bound']]} {found['limit']} {unit}"


_SAYINGS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r"Expected `(?P<types>[^`]+)`, got `(?P<got>[^`]+)`"),
        lambda found: f"it must be {_kinds(found['types'])}, not {_kinds(found['got'])}",
    ),
    (re.compile(r"Expected `(?P<types>[^`]+)` of length (?P<bound>[<>]=?) (?P<limit>\S+)"), _length),
    (
        re.compile(r"Expected `[^`]+` (?P<bound>[<>]=?) (?P<limit>\S+)"),
        lambda found: f"it must be {_BOUNDS[found['bound']]} {found['limit'].removesuffix('.0')}",
    ),
    (re.compile(r"Expected `[^`]+` matching regex (?P<regex>.+)"), lambda found: f"it must match {found['regex']}"),
    (re.compile(r"Invalid enum value (?P<value>.+)", re.DOTALL), lambda found: f"{found['value']} is not one of the words that it takes"),
    (re.compile(r"Object missing required field `[^`]+`"), lambda _: "it is missing"),
    (re.compile(r"Object contains unknown field `[^`]+`"), lambda _: "there is no such parameter"),
    (re.compile(r"Integer value out of range"), lambda _: "it is too large a number"),
)
