"""A workflow made ready to run: templates parsed, edges turned, configs merged.

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
from flowgauge.nodes.codec import read_workflow
from flowgauge.nodes.kind import Kind
from flowgauge.nodes.table import kind_of
from flowgauge.nodes.topology import topology

DEFAULT_RETRIES = 2
"""Further tries of a node that calls out, where neither it nor the config says."""


class Vertex:
    """One node, ready to run."""

    __slots__ = ("config", "dependents", "fields", "id", "kind", "needs", "node", "retry", "timeout_s", "when")

    def __init__(self, node: Node, config: Config, needs: tuple[str, ...], dependents: tuple[str, ...]) -> None:
        self.id = node.id
        self.node = node
        self.kind: Kind = kind_of(node)
        self.needs = needs
        self.dependents = dependents
        self.config = node.config.over(config) if node.config is not _PLAIN else config
        self.timeout_s = node.timeout_s or node.config.timeout_s
        self.retry = _retry(node, self.kind, self.config)
        self.when: Condition | None = parse_condition(node.when) if node.when else None
        self.fields: tuple[tuple[str, Compiled], ...] = _fields(node, self.kind)


_PLAIN = Config()


def _retry(node: Node, kind: Kind, config: Config) -> Retry:
    own = node.retry
    if own is None:
        tries = config.max_retries if config.max_retries is not None else DEFAULT_RETRIES
        own = Retry(max=tries if kind.calls_out else 0)
    return own if own.on else msgspec.structs.replace(own, on=tuple(sorted(kind.retry_on)))


def _fields(node: Node, kind: Kind) -> tuple[tuple[str, Compiled], ...]:
    names = {field.encode_name: field.name for field in msgspec.structs.fields(type(node))}
    return tuple((name, compile_value(msgspec.to_builtins(getattr(node, names[name])))) for name in kind.templates)


class Graph:
    """A whole workflow, ready to run. Shared between plays: nothing in it changes."""

    __slots__ = ("config", "config_values", "on_call", "output", "roots", "vertices", "workflow")

    def __init__(self, workflow: Workflow) -> None:
        edges = topology(workflow.nodes)
        dependents = edges.dependents()
        self.workflow = workflow
        self.config = workflow.config
        self.config_values: dict[str, Json] = {name: getattr(workflow.config, name) for name in Config.__struct_fields__}
        self.vertices: dict[str, Vertex] = {
            node.id: Vertex(node, workflow.config, edges.needs[node.id], tuple(dependents[node.id])) for node in workflow.nodes
        }
        self.on_call = edges.on_call
        self.roots = tuple(v for v in self.vertices.values() if not v.needs and v.id not in self.on_call)
        self.output: Compiled | None = None if workflow.output is None else compile_value(workflow.output)


@functools.lru_cache(maxsize=256)
def compiled(content: bytes, config: bytes = b"") -> Graph:
    """The graph of a stored version, with a play's own config laid over the workflow's."""
    workflow = read_workflow(content)
    if config:
        over: Config = msgspec.json.decode(config, type=Config)
        workflow = msgspec.structs.replace(workflow, config=over.over(workflow.config))
    return Graph(workflow)


def with_config(content: bytes, config: dict[str, Any]) -> Graph:
    """`compiled`, from plain values."""
    return compiled(content, msgspec.json.encode(config, order="sorted") if config else b"")
