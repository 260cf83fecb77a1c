"""Mend a JSON value that misses its schema only in form.

Pure: a value and a schema in, a value out, changed only where it can be meant
in one way: a number, a boolean or JSON written as text; a number where text is
wanted; a property that a closed object does not have; items beyond the most;
a list alone where an object with one list is wanted. What is still wrong
afterwards is for the schema's own check to find.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from flowgauge.model.workflow import Json

Schema = dict[str, Any]
_TRUTHS = {"true": True, "false": False}


def mended(value: Json, schema: Json) -> Json:
    """The same value in the form that the schema asks for, as far as there is only one."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    mend = _MENDS.get(kind) if isinstance(kind, str) else None
    return mend(value, schema) if mend else value


def _object(value: Json, schema: Schema) -> Json:
    value = _read(value, dict)
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return value
    if isinstance(value, list) and len(properties) == 1:
        (name, only), *_ = properties.items()
        value = {name: value} if isinstance(only, dict) and only.get("type") == "array" else value
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if key in properties or schema.get("additionalProperties") is not False}
    return {key: mended(item, properties.get(key)) for key, item in kept.items()}


def _array(value: Json, schema: Schema) -> Json:
    value = _read(value, list)
    most = schema.get("maxItems")
    if not isinstance(value, list):
        return value
    return [mended(item, schema.get("items")) for item in (value if most is None else value[: int(most)])]


def _integer(value: Json, _schema: Schema) -> Json:
    value = _number(value, _schema)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number(value: Json, _schema: Schema) -> Json:
    read = _read(value, int | float)
    return value if isinstance(read, bool) else read


def _boolean(value: Json, _schema: Schema) -> Json:
    return _TRUTHS.get(value.strip().lower(), value) if isinstance(value, str) else value


def _string(value: Json, _schema: Schema) -> Json:
    return msgspec.json.encode(value).decode() if isinstance(value, int | float) and not isinstance(value, bool) else value


def _read(value: Json, wanted: Any) -> Json:
    """What a text says, where that is what is wanted."""
    if not isinstance(value, str):
        return value
    try:
        read = msgspec.json.decode(value.strip().encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value
    return read if isinstance(read, wanted) else value


_MENDS: dict[str, Callable[[Json, Schema], Json]] = {
    "object": _object,
    "array": _array,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "string": _string,
}
