"""Which node waits for which: declared `needs`, what a branch decides about, and nodes on call.

A node that a `retry.repair` names is on call: it runs when a repair is wanted,
never by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from flowgauge.model.workflow import Node
from flowgauge.nodes.branch import BranchNode


class Topology(msgspec.Struct, frozen=True):
    """Edges of a graph, by id, in the order of the file."""

    needs: dict[str, tuple[str, ...]]
    on_call: frozenset[str]

    def dependents(self) -> dict[str, list[str]]:
        """The same edges, the other way round."""
        turned: dict[str, list[str]] = {node_id: [] for node_id in self.needs}
        for node_id, needs in self.needs.items():
            for need in needs:
                turned[need].append(node_id)
        return turned

    def ancestors(self, node_id: str) -> frozenset[str]:
        """All that is done before the node starts."""
        seen: set[str] = set()
        waiting = list(self.needs.get(node_id, ()))
        while waiting:
            need = waiting.pop()
            if need not in seen:
                seen.add(need)
                waiting.extend(self.needs.get(need, ()))
        return frozenset(seen)


def topology(nodes: Sequence[Node]) -> Topology:
    """Edges as declared; names that no node has are left in, for the check to find."""
    needs = {node.id: dict.fromkeys(node.needs) for node in nodes}
    for node in nodes:
        if isinstance(node, BranchNode):
            for target in sorted(node.targets()):
                needs.setdefault(target, {})[node.id] = None
    on_call = frozenset(node.retry.repair for node in nodes if node.retry and node.retry.repair)
    return Topology(needs={node_id: tuple(edges) for node_id, edges in needs.items()}, on_call=on_call)


def scheduled(nodes: Sequence[Node]) -> list[str]:
    """The ids of the nodes that run by themselves, in the order of the file."""
    on_call = topology(nodes).on_call
    return [node.id for node in nodes if node.id not in on_call]


def find_cycle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """A cycle such as [a, b, a], or nothing. Iterative: a long chain is no deep stack."""
    state: dict[str, int] = {}
    for root in needs:
        trail: list[str] = []
        stack: list[tuple[str, bool]] = [(root, False)]
        while stack:
            node_id, leaving = stack.pop()
            if leaving:
                state[node_id] = 2
                trail.pop()
                continue
            if state.get(node_id) == 1:
                return [*trail[trail.index(node_id) :], node_id]
            if state.get(node_id) == 2:
                continue
            state[node_id] = 1
            trail.append(node_id)
            stack.append((node_id, True))
            stack.extend((need, False) for need in needs.get(node_id, ()) if state.get(need) != 2)
    return []
