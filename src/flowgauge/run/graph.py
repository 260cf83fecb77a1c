"""A workflow made ready to run: templates parsed, edges turned, configs merged, what is inside nodes made ready too.

Pure. Expects a workflow that `define` has checked; what it cannot parse here
is a bug there.
"""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from flowgauge.lang.condition import Condition, parse_condition
from flowgauge.lang.values import Compiled, compile_value
from flowgauge.model.workflow import Config, Json, Node, Retry, Workflow
from flowgauge.nodes.ai import AiNode
from flowgauge.nodes.codec import node_from_value, read_workflow, workflow_from_value
from flowgauge.nodes.kind import Kind
from flowgauge.nodes.subworkflow import WorkflowNode
from flowgauge.nodes.table import kind_of
from flowgauge.nodes.topology import topology

DEFAULT_RETRIES = 2
"""Further tries of a node that calls out, where neither it nor the config says."""
_OWN = ("timeout_s", "budget_usd", "max_concurrent_nodes", "on_node_failure")
"""Config keys that are about one workflow as a whole: workflows inside it do not inherit them."""
_WHO = ("provider", "model", "base_url", "api_key_env", "extra")
"""Config keys that belong together: whoever names a model of its own must not send it to another's address."""
_PLAIN = Config()


class Vertex:
    """One node, ready to run."""

    __slots__ = (
        "body", "config", "dependents", "embedded", "fields", "helper", "id", "kind", "needs", "node", "over", "retry", "timeout_s", "when",
    )  # fmt: skip

    def __init__(
        self, node: Node, config: Config, needs: tuple[str, ...] = (), dependents: tuple[str, ...] = (), *, over: Config = _PLAIN
    ) -> None:
        self.id = node.id
        self.over = over
        self.node = node
        self.kind: Kind = kind_of(node)
        self.needs = needs
        self.dependents = dependents
        self.config = node.config.over(config) if node.config is not _PLAIN else config
        self.timeout_s = node.timeout_s or node.config.timeout_s
        self.retry = _retry(node, self.kind, self.config)
        self.when: Condition | None = parse_condition(node.when) if node.when else None
        self.fields: tuple[tuple[str, Compiled], ...] = _fields(node, self.kind)
        self.body: Vertex | None = (
            Vertex(node_from_value(getattr(node, self.kind.body)), self.config, over=over) if self.kind.body else None
        )
        self.embedded: dict[str, Graph] = {key: Graph(workflow, self.config, over) for key, workflow in _embedded(node).items()}
        self.helper: Vertex | None = None
        """The node on call for repairs."""

    def link(self, vertices: dict[str, Vertex]) -> None:
        """Find the helper, also for the node inside."""
        self.helper = vertices.get(self.retry.repair)
        if self.body is not None:
            self.body.link(vertices)


def _retry(node: Node, kind: Kind, config: Config) -> Retry:
    own = node.retry
    if own is None:
        tries = config.max_retries if config.max_retries is not None else DEFAULT_RETRIES
        own = Retry(max=tries if kind.calls_out else 0)
    return own if own.on else msgspec.structs.replace(own, on=tuple(sorted(kind.retry_on)))


def _fields(node: Node, kind: Kind) -> tuple[tuple[str, Compiled], ...]:
    names = {field.encode_name: field.name for field in msgspec.structs.fields(type(node))}
    return tuple((name, compile_value(msgspec.to_builtins(getattr(node, names[name])))) for name in kind.templates)


def _embedded(node: Node) -> dict[str, Workflow]:
    """The workflows that were read into a node when its file was loaded."""
    if isinstance(node, WorkflowNode) and node.definition:
        return {"": workflow_from_value(node.definition)}
    if isinstance(node, AiNode):
        return {tool.name: workflow_from_value(tool.definition) for tool in node.tools if tool.definition}
    return {}


class Graph:
    """A whole workflow, ready to run. Shared between plays: nothing in it changes."""

    __slots__ = ("config", "config_values", "needed", "on_call", "output", "roots", "vertices", "workflow")

    def __init__(self, workflow: Workflow, outer: Config = _PLAIN, over: Config = _PLAIN) -> None:
        """`outer` is what the workflow around this one says, `over` what the play lays over all of them."""
        edges = topology(workflow.nodes)
        dependents = edges.dependents()
        self.workflow = workflow
        self.config = over.over(workflow.config.over(_inherited(outer, workflow.config)))
        inner = _without(over, _OWN)
        self.config_values: dict[str, Json] = {name: getattr(self.config, name) for name in Config.__struct_fields__}
        self.vertices: dict[str, Vertex] = {
            node.id: Vertex(node, self.config, edges.needs[node.id], tuple(dependents[node.id]), over=inner) for node in workflow.nodes
        }
        for vertex in self.vertices.values():
            vertex.link(self.vertices)
        self.needed = {vertex.id: len(vertex.needs) for vertex in self.vertices.values()}
        """How many nodes each one waits for."""
        self.on_call = edges.on_call
        self.roots = tuple(v for v in self.vertices.values() if not v.needs and v.id not in self.on_call)
        self.output: Compiled | None = None if workflow.output is None else compile_value(workflow.output)


def _inherited(outer: Config, own: Config) -> Config:
    """How models are called, but not what bounds the outer workflow itself, and not whom to call where that is said inside."""
    if outer is _PLAIN:
        return outer
    return _without(outer, (*_OWN, *_WHO) if own.provider or own.model else _OWN)


def _without(config: Config, keys: tuple[str, ...]) -> Config:
    return config if config is _PLAIN else msgspec.structs.replace(config, **dict.fromkeys(keys, None))


@functools.lru_cache(maxsize=256)
def compiled(content: bytes, config: bytes = b"") -> Graph:
    """The graph of a stored version, with a play's own config laid over it and over every workflow inside."""
    over = msgspec.json.decode(config, type=Config) if config else _PLAIN
    return Graph(read_workflow(content), over=over)


def with_config(content: bytes, config: dict[str, Any]) -> Graph:
    """`compiled`, from plain values."""
    return compiled(content, msgspec.json.encode(config, order="sorted") if config else b"")
