"""The JSON Schema of gate files (draft 2020-12), made from the structs that the loader uses.

Nothing in, a schema out. Where the loader takes one word for a list of one, so does the schema.
"""

from __future__ import annotations

from typing import Any

import msgspec

from flowgauge.define.gate import DIFFERENCES, LISTS
from flowgauge.define.schema import DIALECT
from flowgauge.model.gate import Policy


def gate_json_schema() -> dict[str, Any]:
    """For editors and for other programs: `flowgauge schema gate` prints it."""
    _, parts = msgspec.json.schema_components([Policy], ref_template="#/$defs/{name}")
    gate = parts.pop("Policy")
    properties = gate["properties"]
    properties["allow"]["items"] = {"enum": list(DIFFERENCES)}
    for name in LISTS:
        properties[name] = _one_or_several(properties[name])
    return {**gate, "$schema": DIALECT, "title": "Flowgauge gate", "$defs": dict(sorted(parts.items()))}


def _one_or_several(part: dict[str, Any]) -> dict[str, Any]:
    several = {key: part[key] for key in ("type", "items")}
    return {"anyOf": [part["items"], several], "description": part["description"]}
