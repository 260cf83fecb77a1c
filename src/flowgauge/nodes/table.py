"""The kinds of node: one row each."""

from __future__ import annotations

from flowgauge.nodes import ai, branch, call, command, http, map_items, operation, python, subworkflow
from flowgauge.nodes.kind import Kind

NODES: dict[str, Kind] = {
    "ai": ai.KIND,
    "python": python.KIND,
    "call": call.KIND,
    "http": http.KIND,
    "command": command.KIND,
    "workflow": subworkflow.KIND,
    "map": map_items.KIND,
    "branch": branch.KIND,
    "operation": operation.KIND,
}
_BY_STRUCT = {kind.struct: kind for kind in NODES.values()}


def kind_of(node: object) -> Kind:
    """The row of a node."""
    return _BY_STRUCT[type(node)]  # type: ignore[index]
