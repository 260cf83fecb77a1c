"""Holds a document to the structure that the OpenRPC specification (1.3) gives it. Written from the specification's text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema

_NAME = {"type": "string", "minLength": 1}
_PLACE = {"$ref": {"type": "string", "pattern": "^#/"}}
_REFERENCE = {"type": "object", "required": ["$ref"], "properties": _PLACE, "additionalProperties": False}
_EXTENSION: dict[str, Any] = {"^x-": {}}
_DESCRIPTOR = {
    "type": "object",
    "required": ["name", "schema"],
    "properties": {
        "name": _NAME,
        "summary": {"type": "string"},
        "description": {"type": "string"},
        "required": {"type": "boolean"},
        "schema": {"type": ["object", "boolean"]},
        "deprecated": {"type": "boolean"},
    },
    "patternProperties": _EXTENSION,
    "additionalProperties": False,
}
_ERROR = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {}},
    "additionalProperties": False,
}
_TAG = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": _NAME, "summary": {"type": "string"}, "description": {"type": "string"}},
    "additionalProperties": False,
}
_METHOD = {
    "type": "object",
    "required": ["name", "params", "result"],
    "properties": {
        "name": _NAME,
        "tags": {"type": "array", "items": {"anyOf": [_TAG, _REFERENCE]}},
        "summary": {"type": "string"},
        "description": {"type": "string"},
        "params": {"type": "array", "items": {"anyOf": [_DESCRIPTOR, _REFERENCE]}},
        "result": {"anyOf": [_DESCRIPTOR, _REFERENCE]},
        "deprecated": {"type": "boolean"},
        "errors": {"type": "array", "items": {"anyOf": [_ERROR, _REFERENCE]}},
        "paramStructure": {"enum": ["by-name", "by-position", "either"]},
    },
    "patternProperties": _EXTENSION,
    "additionalProperties": False,
}
_INFO = {
    "type": "object",
    "required": ["title", "version"],
    "properties": {
        "title": _NAME,
        "version": _NAME,
        "description": {"type": "string"},
        "license": {"type": "object", "required": ["name"], "properties": {"name": _NAME, "url": {"type": "string"}}},
    },
    "additionalProperties": False,
}
_SERVER = {"type": "object", "required": ["url"], "properties": {"url": _NAME, "name": _NAME}, "additionalProperties": False}
DOCUMENT = {
    "type": "object",
    "required": ["openrpc", "info", "methods"],
    "properties": {
        "openrpc": {"type": "string", "pattern": r"^1\.3\.\d+$"},
        "info": _INFO,
        "servers": {"type": "array", "items": _SERVER},
        "methods": {"type": "array", "items": _METHOD},
        "components": {
            "type": "object",
            "properties": {
                "schemas": {"type": "object", "propertyNames": {"pattern": r"^[A-Za-z0-9._-]+$"}},
                "errors": {"type": "object", "additionalProperties": _ERROR},
            },
            "additionalProperties": False,
        },
    },
    "patternProperties": _EXTENSION,
    "additionalProperties": False,
}


def check(document: dict[str, Any]) -> None:
    """Raises for whatever is not as the specification says."""
    jsonschema.validate(document, DOCUMENT, cls=jsonschema.Draft202012Validator)
    names = [method["name"] for method in document["methods"]]
    assert len(names) == len(set(names)), "the names of methods must differ"
    for method in document["methods"]:
        params = [param["name"] for param in method["params"]]
        assert len(params) == len(set(params)), f"{method['name']}: the names of parameters must differ"
        needed = [param.get("required", False) for param in method["params"]]
        assert needed == sorted(needed, reverse=True), f"{method['name']}: parameters that must be given come first"
        codes = [resolved(document, error)["code"] for error in method["errors"]]
        assert len(codes) == len(set(codes)), f"{method['name']}: the codes of errors must differ"
    for schema in schemas(document):
        jsonschema.Draft202012Validator.check_schema(schema)
    for reference in references(document):
        resolved(document, {"$ref": reference})


def schemas(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from document["components"]["schemas"].values()
    for method in document["methods"]:
        yield method["result"]["schema"]
        yield from (param["schema"] for param in method["params"])


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def resolved(document: dict[str, Any], value: dict[str, Any]) -> Any:
    """What a reference leads to; raises KeyError where that is nowhere."""
    found: Any = value
    while isinstance(found, dict) and "$ref" in found:
        place = found["$ref"].removeprefix("#/").split("/")
        found = document
        for step in place:
            found = found[step]
    return found


def result_validator(document: dict[str, Any], method: str) -> jsonschema.Draft202012Validator:
    """Holds results of a method to what the document promises."""
    row = next(each for each in document["methods"] if each["name"] == method)
    return jsonschema.Draft202012Validator({**row["result"]["schema"], "components": document["components"]})
