"""Is the graph of a workflow sound? Ids, needs, branches, repairs, cycles.

In: the nodes as the file holds them, whole or not. Out: findings, and the names
that templates may use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flowgauge.define.references import Names
from flowgauge.documents.document import Way
from flowgauge.documents.findings import Findings
from flowgauge.lang.wording import did_you_mean
from flowgauge.nodes.table import NODES
from flowgauge.nodes.topology import Topology, find_cycle

Nodes = Mapping[int, Mapping[str, Any]]


def check_graph(nodes: Nodes, untyped: Mapping[int, str], inputs: dict[str, str], findings: Findings) -> Names:
    """All that can be said of the graph; never raises. `untyped`: ids by position of nodes whose type is wrong; they can be named."""
    kinds = _check_ids(nodes, untyped, findings)
    repairs = _repairs(nodes)
    edges: dict[str, dict[str, None]] = {node_id: {} for node_id in kinds}
    for number, node in nodes.items():
        _check_repairs(node, ("nodes", number), kinds, findings)
        for way, name in _names_in(node.get("needs"), ("nodes", number, "needs")):
            if _known(name, way, kinds, repairs, findings):
                edges.setdefault(str(node.get("id")), {})[name] = None
        for way, name in _targets(node, ("nodes", number)):
            if _known(name, way, kinds, repairs, findings):
                edges[name][str(node.get("id"))] = None
    graph = Topology(needs={node_id: tuple(needs) for node_id, needs in edges.items()}, on_call=frozenset(repairs.values()))
    _check_cycle(graph, nodes, findings)
    schemas = frozenset(str(node.get("id")) for node in nodes.values() if node.get("schema") is not None or node.get("schema_from"))
    return Names(inputs=inputs, kinds=kinds, graph=graph, repairs=repairs, with_schema=schemas, used_inputs=set())


def _check_ids(nodes: Nodes, untyped: Mapping[int, str], findings: Findings) -> dict[str, str]:
    """The type of each id, empty where it is wrong; of two nodes with one id, that whose type is right."""
    named = {number: (node.get("id"), str(node["type"])) for number, node in nodes.items()}
    named |= {number: (node_id, "") for number, node_id in untyped.items()}
    kinds: dict[str, str] = {}
    first: dict[str, int] = {}
    for number, (node_id, kind) in sorted(named.items()):
        if not isinstance(node_id, str):
            continue
        if node_id in first:
            findings.add(
                ("nodes", number, "id"), f"The id '{node_id}' is taken by {_which(first[node_id], findings)}.", "Rename one of them."
            )
        first.setdefault(node_id, number)
        kinds[node_id] = kinds.get(node_id) or kind
    return kinds


def _which(number: int, findings: Findings) -> str:
    """By its line, or by its place in the list where there are no lines."""
    line = findings.line(("nodes", number))
    return f"the node on line {line}" if line else f"nodes[{number}]"


def _repairs(nodes: Nodes) -> dict[str, str]:
    """Who is repaired by whom."""
    return {str(node.get("id")): name for node in nodes.values() if (name := _repair_of(node))}


def _repair_of(node: Mapping[str, Any]) -> str:
    retry = node.get("retry")
    name = retry.get("repair") if isinstance(retry, dict) else None
    return name if isinstance(name, str) else ""


def _check_repairs(node: Mapping[str, Any], way: Way, kinds: Mapping[str, str], findings: Findings) -> None:
    _check_repair(node, way, kinds, findings)
    field = NODES[node["type"]].body
    body = node.get(field) if field else None
    if isinstance(body, dict) and _repair_of(body):
        findings.add((*way, field, "retry", "repair"), "A node inside another cannot be repaired.", "Remove `repair`.")


def _check_repair(node: Mapping[str, Any], way: Way, kinds: Mapping[str, str], findings: Findings) -> None:
    name = _repair_of(node)
    if not name:
        return
    at = (*way, "retry", "repair")
    if name not in kinds:
        findings.add(at, f"There is no node '{name}'.", did_you_mean(name, kinds))
    elif kinds[name] not in ("ai", ""):
        findings.add(at, f"The node '{name}' is of type {kinds[name]} and cannot repair code.", "Name an ai node.")
    elif node["type"] != "python":
        findings.add(at, f"A node of type {node['type']} has no code to repair.", "Remove `repair`.")


def _names_in(value: Any, way: Way) -> Iterator[tuple[Way, str]]:
    if isinstance(value, list):
        yield from (((*way, number), name) for number, name in enumerate(value) if isinstance(name, str))


def _targets(node: Mapping[str, Any], way: Way) -> Iterator[tuple[Way, str]]:
    """The nodes that a branch decides about."""
    if node["type"] != "branch":
        return
    yield from _names_in(node.get("otherwise"), (*way, "otherwise"))
    cases = node.get("cases")
    for number, case in enumerate(cases if isinstance(cases, list) else ()):
        if isinstance(case, dict):
            yield from _names_in(case.get("then"), (*way, "cases", number, "then"))


def _known(name: str, way: Way, kinds: Mapping[str, str], repairs: Mapping[str, str], findings: Findings) -> bool:
    if name not in kinds:
        findings.add(way, f"There is no node '{name}'.", did_you_mean(name, kinds))
        return False
    if name in repairs.values():
        findings.add(way, f"The node '{name}' is on call for repairs and never runs by itself.", "Name the node that it repairs.")
        return False
    return True


def _check_cycle(graph: Topology, nodes: Nodes, findings: Findings) -> None:
    cycle = find_cycle(graph.needs)
    if not cycle:
        return
    number = next(number for number, node in nodes.items() if node.get("id") == cycle[0])
    findings.add(("nodes", number), f"Nodes form a cycle: {' → '.join(cycle)}.", "Remove one 'needs' entry.")
