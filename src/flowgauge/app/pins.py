"""Which stored workflows a workflow names, and which versions they are when a play starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from flowgauge.model.ids import VERSION
from flowgauge.model.workflow import Node, Workflow
from flowgauge.nodes.ai import AiNode
from flowgauge.nodes.codec import node_from_value, read_workflow, workflow_from_value
from flowgauge.nodes.http import HttpNode
from flowgauge.nodes.map_items import MapNode
from flowgauge.nodes.subworkflow import WorkflowNode

if TYPE_CHECKING:
    from flowgauge.store.store import Store


def references(workflow: Workflow) -> Iterable[str]:
    """Every workflow named by name or sid, also inside maps, tools and embedded workflows."""
    for node in workflow.nodes:
        yield from _of_node(node)


def _of_node(node: Node) -> Iterable[str]:
    if isinstance(node, MapNode):
        yield from _of_node(node_from_value(node.each))
    elif isinstance(node, WorkflowNode):
        yield from _of(node.workflow, node.definition)
    elif isinstance(node, AiNode):
        for tool in node.tools:
            if tool.workflow:
                yield from _of(tool.workflow, tool.definition)


def _of(reference: str, definition: Mapping[str, object]) -> Iterable[str]:
    if definition:
        yield from references(workflow_from_value(definition))
    else:
        yield reference


def key_variables(workflow: Workflow) -> frozenset[str]:
    """Environment variables that hold keys, as the workflow and its nodes name them."""
    named = {workflow.config.api_key_env or ""}
    for node in workflow.nodes:
        named.add(node.config.api_key_env or "")
        if isinstance(node, HttpNode):
            named.add(node.bearer_env)
    return frozenset(named - {""})


def pin(store: Store, named: Iterable[str]) -> dict[str, str]:
    """Reference → sid of the version in use now, also for what those refer to. Raises NotFound."""
    pins: dict[str, str] = {}
    waiting = list(named)
    while waiting:
        reference = waiting.pop()
        if reference not in pins:
            version = store.get_version(reference) if reference.startswith(f"{VERSION}_") else store.current_version(reference)
            pins[reference] = version.sid
            waiting.extend(references(read_workflow(version.content)))
    return pins


def pinned(store: Store, pins: Mapping[str, str]) -> dict[str, Workflow]:
    """The workflows that a play's pins name."""
    return {reference: read_workflow(store.get_version(sid).content) for reference, sid in pins.items()}
