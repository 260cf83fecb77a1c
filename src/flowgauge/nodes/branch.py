"""`branch`: the first condition that holds picks the nodes that run; the others are skipped.

Nodes named here wait for the branch without saying so in their `needs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from flowgauge.lang.condition import parse_condition
from flowgauge.model.workflow import Json, Node
from flowgauge.nodes.context import Context
from flowgauge.nodes.kind import Complaint, Kind


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A condition and the nodes that run where it is the first to hold."""

    when: str
    then: tuple[str, ...]


class BranchNode(Node, frozen=True, kw_only=True, tag="branch", tag_field="type"):
    """Pick which nodes run."""

    cases: Annotated[tuple[Case, ...], Meta(min_length=1)]
    otherwise: Annotated[tuple[str, ...], Meta(description="Nodes that run where no condition holds.")] = ()

    def targets(self) -> frozenset[str]:
        """Every node that this branch decides about."""
        return frozenset(self.otherwise).union(*(case.then for case in self.cases))


def check(node: BranchNode) -> Iterable[Complaint]:
    """A branch that picks nothing decides nothing."""
    if not node.targets():
        yield Complaint("cases", "The branch names no node.", "List node ids under `then` or `otherwise`.")


async def run(node: BranchNode, _fields: Mapping[str, Json], context: Context) -> Json:
    """{chosen, case}: the ids that run and the number of the case (-1: otherwise)."""
    for number, case in enumerate(node.cases):
        if parse_condition(case.when).evaluate(context.scope):
            return {"chosen": list(case.then), "case": number}
    return {"chosen": list(node.otherwise), "case": -1}


KIND = Kind(
    struct=BranchNode,
    run=run,
    summary="Pick which nodes run by conditions.",
    conditions=("cases",),
    outputs=("chosen", "case"),
    check=check,
    retry_on=frozenset(),
)
