"""Which JSON Schemas a provider can be held to, and the nearest one that it can.

Pure: schemas in, schemas out. The answer is checked against the schema as it was
written afterwards, so a dropped bound costs a retry and never a wrong answer.
"""

from __future__ import annotations

from typing import Final

from flowgauge.model.workflow import Json

Schema = dict[str, Json]

UNSUPPORTED_BOUNDS: Final = frozenset(
    {"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
     "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "$schema", "title", "default", "examples"}
)  # fmt: skip
"""Keywords that Anthropic's structured outputs refuse and that only narrow or describe."""

BEYOND_NATIVE: Final = frozenset({"patternProperties", "propertyNames", "if", "then", "else", "not", "oneOf", "prefixItems", "contains"})

_MAPS: Final = frozenset({"properties", "$defs", "definitions"})
_SUBSCHEMAS: Final = frozenset({"items", "anyOf", "allOf"})


def is_strict(schema: Schema) -> bool:
    """Whether every object in it is closed and requires all it has, as OpenAI's strict mode demands."""
    if "properties" in schema or schema.get("type") == "object":
        properties = schema.get("properties") or {}
        if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != set(properties):
            return False
    return BEYOND_NATIVE.isdisjoint(schema) and all(is_strict(part) for part in _parts(schema))


def narrowed(schema: Schema) -> Schema | None:
    """The schema with closed objects and without the bounds that Anthropic refuses; None where that would change its sense."""
    if schema.get("type") != "object" or not _can_narrow(schema):
        return None
    return _narrow(schema)


def wrapped(schema: Schema) -> Schema:
    """A schema of an object, as a tool needs it: one of anything else becomes the object's only property."""
    if schema.get("type") == "object":
        return schema
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    outer: Schema = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {**outer, "type": "object", "properties": {"answer": inner}, "required": ["answer"]}


def _can_narrow(schema: Schema) -> bool:
    is_open = isinstance(schema.get("additionalProperties"), dict) or (schema.get("type") == "object" and "properties" not in schema)
    recursive = str(schema.get("$ref", "#/")) == "#"
    return not is_open and not recursive and BEYOND_NATIVE.isdisjoint(schema) and all(_can_narrow(part) for part in _parts(schema))


def _narrow(schema: Schema) -> Schema:
    kept = {key: _narrow_value(key, value) for key, value in schema.items() if key not in UNSUPPORTED_BOUNDS}
    if schema.get("type") == "object":
        kept["additionalProperties"] = False
    return kept


def _narrow_value(key: str, value: Json) -> Json:
    if key in _MAPS and isinstance(value, dict):
        return {name: _narrow(part) if isinstance(part, dict) else part for name, part in value.items()}
    if key in _SUBSCHEMAS and isinstance(value, dict):
        return _narrow(value)
    if key in _SUBSCHEMAS and isinstance(value, list):
        return [_narrow(part) if isinstance(part, dict) else part for part in value]
    return value


def _parts(schema: Schema) -> list[Schema]:
    found: list[Json] = []
    for key in _MAPS & schema.keys():
        found += (schema[key] or {}).values()
    for key in _SUBSCHEMAS & schema.keys():
        value = schema[key]
        found += value if isinstance(value, list) else [value]
    return [part for part in found if isinstance(part, dict)]
