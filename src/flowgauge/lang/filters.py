"""What a template may do to a value: one row each. Values in, values out; no code, no access to anything else.

Null goes through every filter but `json` and `default` as null, so the output
of a skipped node stays empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from flowgauge.lang.path import kind_of, template_failure

_encode = msgspec.json.Encoder().encode


class Filter(msgspec.Struct, frozen=True):
    """A function of the value and of literal arguments."""

    apply: Callable[..., Any]
    arguments: tuple[int, int] = (0, 0)
    """At least, at most."""
    takes_null: bool = False


def to_json(value: Any) -> str:
    """Compact JSON."""
    try:
        return _encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _to_json_slowly(value)


def _to_json_slowly(value: Any) -> str:
    """For what the fast encoder refuses, such as integers of more than 64 bits."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise template_failure(f"A value cannot be written as JSON: {error}.") from None


def to_text(value: Any) -> str:
    """How a value stands in the middle of text: strings as they are, null as nothing, the rest as JSON."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    return str(value) if isinstance(value, str) else to_json(value)


def _of_text(name: str, method: Callable[[str], str]) -> Callable[[Any], str]:
    def apply(value: Any) -> str:
        if not isinstance(value, str):
            raise template_failure(f"The filter '{name}' needs a string, not {kind_of(value)}.")
        return method(value)

    return apply


def _list_of(name: str, value: Any) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise template_failure(f"The filter '{name}' needs an array, not {kind_of(value)}.")
    return value


def _join(value: Any, separator: str = ", ") -> str:
    return to_text(separator).join(map(to_text, _list_of("join", value)))


def _length(value: Any) -> int:
    if not isinstance(value, (str, list, tuple, dict)):
        raise template_failure(f"The filter 'length' needs a string, array or object, not {kind_of(value)}.")
    return len(value)


def _first(value: Any) -> Any:
    return _list_of("first", value)[0] if len(_list_of("first", value)) else None


def _last(value: Any) -> Any:
    return _list_of("last", value)[-1] if len(_list_of("last", value)) else None


def _pluck(value: Any, keys: str) -> list[Any]:
    return [_inside(item, to_text(keys).split(".")) for item in _list_of("pluck", value)]


def _inside(item: Any, keys: list[str]) -> Any:
    for key in keys:
        if item is None:
            return None
        if not isinstance(item, dict) or key not in item:
            raise template_failure(f"The filter 'pluck' finds no '{key}' in an item that is {kind_of(item)}.")
        item = item[key]
    return item


def _flat(value: Any) -> list[Any]:
    lists = [item for item in _list_of("flat", value) if item is not None]
    return [entry for item in lists for entry in _list_of("flat", item)]


def _default(value: Any, instead: Any) -> Any:
    return instead if value is None else value


FILTERS: dict[str, Filter] = {
    "json": Filter(to_json, takes_null=True),
    "default": Filter(_default, (1, 1), takes_null=True),
    "join": Filter(_join, (0, 1)),
    "upper": Filter(_of_text("upper", str.upper)),
    "lower": Filter(_of_text("lower", str.lower)),
    "trim": Filter(_of_text("trim", str.strip)),
    "length": Filter(_length),
    "first": Filter(_first),
    "last": Filter(_last),
    "pluck": Filter(_pluck, (1, 1)),
    "flat": Filter(_flat),
}
