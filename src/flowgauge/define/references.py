"""Do the templates and conditions of a workflow name what is there?

In: the nodes as the file holds them. Out: findings for text that cannot be
read, inputs not declared, nodes unknown or not waited for, output fields that a
kind does not have, config keys that do not exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from flowgauge.define.fields import field_names
from flowgauge.documents.document import Way
from flowgauge.documents.findings import Findings
from flowgauge.lang.condition import parse_condition
from flowgauge.lang.path import MAP_ROOTS, REPAIR_ROOTS, ROOTS, ExpressionError, Path
from flowgauge.lang.template import OPEN, parse_template
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.workflow import Config
from flowgauge.nodes.kind import Kind
from flowgauge.nodes.table import NODES
from flowgauge.nodes.topology import Topology

_CONFIG_KEYS = field_names(Config)
_REPAIR_KEYS = ("code", "error")
_SCALARS = {"string", "number", "integer", "boolean"}


class Names(msgspec.Struct, frozen=True):
    """What can be named: inputs with their types, node types by id, and who waits for whom."""

    inputs: dict[str, str]
    kinds: dict[str, str]
    graph: Topology
    repairs: dict[str, str]
    """Who is repaired by whom."""
    with_schema: frozenset[str]
    used_inputs: set[str]


class Viewer:
    """Who is looking: a node by id, or the workflow's output (None), and from which nodes on."""

    __slots__ = ("_after", "_before", "_names", "node_id", "roots")

    def __init__(self, node_id: str | None, roots: frozenset[str], names: Names, after: tuple[str, ...]) -> None:
        self.node_id = node_id
        self.roots = roots
        self._names = names
        self._after = after
        self._before: frozenset[str] | None = None

    def waits_for(self, name: str) -> bool:
        """Is that node done when this one looks? The whole way back is followed only where the nearest step does not answer."""
        if self.node_id is None or any(name in self._names.graph.needs.get(node_id, ()) for node_id in self._after):
            return True
        if self._before is None:
            self._before = frozenset().union(*(self._names.graph.ancestors(node_id) for node_id in self._after))
        return name in self._before

    def inside_map(self) -> Viewer:
        """The same place, with an item at hand."""
        return Viewer(self.node_id, self.roots | MAP_ROOTS, self._names, self._after)


def check_node_references(node: Mapping[str, Any], way: Way, names: Names, findings: Findings) -> None:
    """Templates and conditions of one node and of the node in its body."""
    viewer = _viewer(str(node.get("id", "")), names)
    _check_fields(node, way, viewer, names, findings)


def check_output_references(output: Any, names: Names, findings: Findings) -> None:
    """The workflow's output sees every node that runs by itself."""
    viewer = Viewer(None, ROOTS, names, ())
    _check_templates(output, ("output",), viewer, names, findings)


def strings_in(value: Any, way: Way) -> Iterator[tuple[Way, str]]:
    """Every string of a value, with its way."""
    if isinstance(value, str):
        yield way, value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from strings_in(entry, (*way, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from strings_in(entry, (*way, index))


def _viewer(node_id: str, names: Names) -> Viewer:
    if node_id not in names.graph.on_call:
        return Viewer(node_id, ROOTS, names, (node_id,))
    helped = tuple(other for other, helper in names.repairs.items() if helper == node_id)
    return Viewer(node_id, REPAIR_ROOTS, names, (node_id, *helped))


def _check_fields(node: Mapping[str, Any], way: Way, viewer: Viewer, names: Names, findings: Findings) -> None:
    kind = NODES[node["type"]]
    if isinstance(node.get("when"), str) and node["when"]:
        _check_condition(node["when"], (*way, "when"), viewer, names, findings)
    for field in kind.templates:
        _check_templates(node.get(field), (*way, field), viewer, names, findings)
    for field in kind.conditions:
        for inner, text in strings_in(node.get(field), (*way, field)):
            if inner[-1] == "when":
                _check_condition(text, inner, viewer, names, findings)
    body = node.get(kind.body) if kind.body else None
    if isinstance(body, dict) and isinstance(body.get("type"), str) and body["type"] in NODES:
        _check_fields(body, (*way, kind.body), viewer.inside_map(), names, findings)


def _check_templates(value: Any, way: Way, viewer: Viewer, names: Names, findings: Findings) -> None:
    for inner, text in strings_in(value, way):
        if OPEN not in text:
            continue
        try:
            paths = parse_template(text, viewer.roots).paths
        except ExpressionError as error:
            findings.add(inner, error.message, error.remedy, text=text, offset=error.offset)
            continue
        for path in paths:
            _check_path(path, text, inner, viewer, names, findings)


def _check_condition(text: str, way: Way, viewer: Viewer, names: Names, findings: Findings) -> None:
    try:
        paths = parse_condition(text, viewer.roots).paths
    except ExpressionError as error:
        findings.add(way, f"{error.message} (at character {error.offset + 1})", error.remedy, text=text, offset=error.offset)
        return
    for path in paths:
        _check_path(path, text, way, viewer, names, findings)


def _check_path(path: Path, text: str, way: Way, viewer: Viewer, names: Names, findings: Findings) -> None:
    look = _LOOKUPS.get(path.root)
    if look is None or not path.keys:
        return
    fault = look(path, viewer, names)
    if fault:
        message, remedy = fault
        findings.add(way, message, remedy, text=text, offset=path.offset)
    elif path.root == "nodes" and len(path.keys) > 1 and path.keys[1] == "json":
        _warn_of_json(path, way, names, findings)


Fault = tuple[str, str] | None


def _look_in_inputs(path: Path, _viewer: Viewer, names: Names) -> Fault:
    name = str(path.keys[0])
    names.used_inputs.add(name)
    if name not in names.inputs:
        return f"{path} names an input that is not declared.", f"{did_you_mean(name, names.inputs)} Declare it under `inputs:`."
    kind = names.inputs[name]
    if len(path.keys) > 1 and kind in _SCALARS:
        return f"{path} looks inside the input '{name}', which is a {kind}.", "Declare it as object or array, or name the input alone."
    return None


def _look_in_nodes(path: Path, viewer: Viewer, names: Names) -> Fault:
    name = str(path.keys[0])
    if name not in names.kinds:
        return f"{path} names a node that does not exist.", did_you_mean(name, names.kinds)
    if name == viewer.node_id:
        return f"{path} names the node's own output, which is not there yet.", "Name a node that runs before."
    if name in names.graph.on_call:
        return f"{path} names a node that is on call for repairs and has no output of its own.", "Name the node that it repairs."
    if not viewer.waits_for(name):
        return f"{path} names a node that this one does not wait for.", f"Add `needs: [{name}]`."
    return None if path.optional else _look_at_output(path, NODES.get(names.kinds[name]))


def _look_at_output(path: Path, kind: Kind | None) -> Fault:
    if kind is None or kind.outputs is None or len(path.keys) < 2 or path.keys[1] in kind.outputs:
        return None
    fields = ", ".join(kind.outputs)
    return f"{path}: the output of that node has no '{path.keys[1]}'.", f"It has {fields}."


def _look_in_config(path: Path, _viewer: Viewer, _names: Names) -> Fault:
    name = str(path.keys[0])
    return None if name in _CONFIG_KEYS else (f"{path} names no config key.", did_you_mean(name, _CONFIG_KEYS))


def _look_in_repair(path: Path, _viewer: Viewer, _names: Names) -> Fault:
    name = str(path.keys[0])
    return None if name in _REPAIR_KEYS else (f"{path} is not there.", "There are repair.code and repair.error.")


def _warn_of_json(path: Path, way: Way, names: Names, findings: Findings) -> None:
    name = str(path.keys[0])
    if names.kinds.get(name) == "ai" and name not in names.with_schema:
        findings.warn(way, f"{path} is null: the node '{name}' asks for no JSON.", "Give it a `schema`, or name its text.")


_LOOKUPS = {"inputs": _look_in_inputs, "nodes": _look_in_nodes, "config": _look_in_config, "repair": _look_in_repair}
