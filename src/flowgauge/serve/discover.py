"""`rpc.discover`: all operations as an OpenRPC document, made from their types.

What the table says is what the document says: names, parameters, results,
scopes, and the codes of the errors. Made once, when first asked for.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from flowgauge._version import __version__
from flowgauge.app.operations.operation import Operation
from flowgauge.app.operations.table import OPERATIONS
from flowgauge.serve.rpc_errors import BAD_PARAMS, INTERNAL, INVALID_REQUEST, KINDS, PARSE_ERROR, UNKNOWN_METHOD

DISCOVER = "rpc.discover"
OPENRPC = "1.3.2"
REFERENCE = "#/components/schemas/{name}"
_STANDARD = {
    "ParseError": (PARSE_ERROR, "The body is not JSON."),
    "InvalidRequest": (INVALID_REQUEST, "The body is no JSON-RPC 2.0 request, or more than the server takes at once."),
    "MethodNotFound": (UNKNOWN_METHOD, "There is no method of that name."),
    "InvalidParams": (BAD_PARAMS, "A parameter cannot be taken; data.field names it."),
    "InternalError": (INTERNAL, "The server failed; data.reference is in its log."),
}


@cache
def discovered() -> msgspec.Raw:
    """The document as JSON."""
    return msgspec.Raw(msgspec.json.encode(document()))


def document() -> dict[str, Any]:
    """The document as plain values."""
    rows = tuple(OPERATIONS.values())
    types = [row.params for row in rows] + [row.result for row in rows]
    references, schemas = msgspec.json.schema_components(types, ref_template=REFERENCE)
    asked = [str(each["$ref"]).rpartition("/")[2] for each in references[: len(rows)]]
    errors = _errors()
    return {
        "openrpc": OPENRPC,
        "info": {
            "title": "Flowgauge",
            "version": __version__,
            "description": "Measure AI workflows, compare versions, and decide with the measurements.",
            "license": {"name": "Apache-2.0"},
        },
        "servers": [{"name": "this server", "url": "/rpc"}],
        "methods": [_method(*each, errors) for each in zip(rows, map(schemas.get, asked), references[len(rows) :], strict=True)],
        "components": {"schemas": {name: schema for name, schema in schemas.items() if name not in asked}, "errors": errors},
    }


def _method(row: Operation, params: Any, result: dict[str, Any], errors: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": row.name,
        "summary": row.summary,
        "tags": [{"name": row.name.partition("_")[0]}],
        "paramStructure": "by-name",
        "params": _params(params),
        "result": {"name": "result", "required": True, "schema": result},
        "errors": [{"$ref": f"#/components/errors/{name}"} for name in errors],
        "x-scope": row.scope,
    }


def _params(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that must be given come first, as the specification asks."""
    required = schema.get("required", ())
    described = [
        {"name": name, "required": name in required, "schema": each, **_words(each)} for name, each in schema.get("properties", {}).items()
    ]
    return sorted(described, key=lambda each: not each["required"])


def _words(schema: dict[str, Any]) -> dict[str, str]:
    return {"description": schema["description"]} if "description" in schema else {}


def _errors() -> dict[str, Any]:
    """By name: the standard's, then ours where they have a code of their own."""
    known = dict(_STANDARD)
    for name, kind in KINDS.items():
        if kind.rpc_code not in {code for code, _ in known.values()}:
            known[name] = kind.rpc_code, (kind.__doc__ or "").partition("\n")[0]
    return {name: {"code": code, "message": words} for name, (code, words) in known.items()}
