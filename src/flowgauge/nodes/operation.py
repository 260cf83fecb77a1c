"""`operation`: an operation of the product by name, for templates such as benchmark_flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from flowgauge.errors import Failed, FlowgaugeError
from flowgauge.model.workflow import Json, Node
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.kind import Kind
from flowgauge.nodes.output import as_json


class OperationNode(Node, frozen=True, kw_only=True, tag="operation", tag_field="type"):
    """Call an operation of Flowgauge."""

    operation: Annotated[str, Meta(description="The operation's name, such as workflow_get.")]
    arguments: Annotated[dict[str, Json], Meta(description="Its arguments by name; templates.")] = msgspec.field(
        name="with", default_factory=dict
    )


async def run(node: OperationNode, fields: Mapping[str, Json], context: Context) -> Json:
    """The operation's answer: its object as it is, anything else as {value: …}."""
    try:
        answer = await context.services.operations.call(node.operation, fields["with"])
    except Failed:
        raise
    except FlowgaugeError as error:
        raise fail("tool_error", f"{node.operation}: {error}") from error
    value = as_json(answer, node.operation)
    return value if isinstance(value, dict) else {"value": value}


KIND = Kind(struct=OperationNode, run=run, summary="Call an operation of Flowgauge by name.", templates=("with",), retry_on=frozenset())
