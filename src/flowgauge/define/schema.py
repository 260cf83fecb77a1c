"""The JSON Schema of workflow files (draft 2020-12), made from the structs that the loader uses.

Nothing in, a schema out: one branch for each type of node, told apart by `type`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from flowgauge.model.workflow import Workflow
from flowgauge.nodes.table import NODES

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/{name}"


def workflow_json_schema() -> dict[str, Any]:
    """For editors and for other programs: `flowgauge schema workflow` prints it."""
    structs = [Workflow, *(kind.struct for kind in NODES.values())]
    _, parts = msgspec.json.schema_components(structs, ref_template=_REFERENCE)
    parts.pop("Node")
    workflow = parts.pop("Workflow")
    for name, kind in NODES.items():
        _describe(parts[kind.struct.__name__], name, kind.summary)
        if kind.body:
            parts[kind.struct.__name__]["properties"][kind.body] = {"$ref": "#/$defs/Body"}
    references = [{"$ref": _REFERENCE.format(name=kind.struct.__name__)} for kind in NODES.values()]
    parts["AnyNode"] = {"type": "object", "required": ["type"], "oneOf": references}
    parts["Body"] = {"$ref": "#/$defs/AnyNode", "description": "A node without `id` and `needs`."}
    _hold_nodes(workflow)
    return {"$schema": DIALECT, "title": "Flowgauge workflow", **workflow, "$defs": dict(sorted(parts.items()))}


def _describe(part: dict[str, Any], name: str, summary: str) -> None:
    """`type` as a constant, which editors use to pick the branch."""
    part["description"] = summary
    part["properties"]["type"] = {"const": name, "description": summary}


def _hold_nodes(workflow: dict[str, Any]) -> None:
    item = {"$ref": "#/$defs/AnyNode", "required": ["id", "type"]}
    workflow["properties"]["nodes"] = {
        "type": "array",
        "minItems": 1,
        "items": item,
        "description": "What runs, each when its `needs` are done.",
    }
    workflow["required"] = ["name", "nodes"]
