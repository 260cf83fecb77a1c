"""`workflow`: another workflow as one node.

By path: read when the file is loaded and kept inside the version, so that the
version stays what it was. By name or sid: looked up when a play starts, and the
play remembers which version that was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from flowgauge.model.workflow import Json, Node
from flowgauge.nodes.context import Context
from flowgauge.nodes.kind import Kind


class WorkflowNode(Node, frozen=True, kw_only=True, tag="workflow", tag_field="type"):
    """Run another workflow."""

    workflow: Annotated[str, Meta(description="A path (./other.yaml), the name of a stored workflow, or a sid.")]
    definition: Annotated[dict[str, Any], Meta(description="Filled in from the path when the file is loaded.")] = {}
    arguments: Annotated[dict[str, Json], Meta(description="The other workflow's inputs; templates.")] = msgspec.field(
        name="with", default_factory=dict
    )


async def run(node: WorkflowNode, fields: Mapping[str, Json], context: Context) -> Json:
    """{output}: what the other workflow answers with."""
    output = await context.play.run_workflow(context.workflow(node.workflow), fields["with"], context.node_id)
    return {"output": output}


KIND = Kind(
    struct=WorkflowNode,
    run=run,
    summary="Run another workflow.",
    templates=("with",),
    outputs=("output",),
    retry_on=frozenset(),
)
