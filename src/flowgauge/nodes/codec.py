"""Workflows as bytes and back: the canonical form that versions store and hash."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import Any

import msgspec

from flowgauge.model.workflow import Json, Node, Workflow
from flowgauge.nodes.table import NODES

_ANY_NODE: Any = functools.reduce(operator.or_, (kind.struct for kind in NODES.values()))
_FIELDS = tuple(field.encode_name for field in msgspec.structs.fields(Workflow) if field.name != "nodes")


def node_from_value(value: Mapping[str, Json]) -> Node:
    """A node of the kind that its `type` names."""
    node: Node = msgspec.convert(value, _ANY_NODE)
    return node


def workflow_from_value(value: Mapping[str, Json]) -> Workflow:
    """A workflow from plain values that were checked before."""
    rest: Workflow = msgspec.convert({name: value[name] for name in _FIELDS if name in value}, Workflow)
    return msgspec.structs.replace(rest, nodes=tuple(node_from_value(node) for node in value.get("nodes", ())))


def workflow_to_value(workflow: Workflow) -> dict[str, Json]:
    """Plain values, as a file would hold them; defaults left out."""
    value: dict[str, Json] = msgspec.to_builtins(workflow)
    return value


def read_workflow(content: bytes) -> Workflow:
    """What `write_workflow` wrote."""
    return workflow_from_value(msgspec.json.decode(content))


def write_workflow(workflow: Workflow) -> bytes:
    """Canonical: the same workflow gives the same bytes, however its file was written."""
    return msgspec.json.encode(workflow, order="sorted")
