"""What a workflow itself says that a benchmark's fingerprint needs: whom it calls, and how it tries again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.workflow import Config, Json
from flowgauge.nodes.ai import AiNode, model_of
from flowgauge.run.graph import Graph, Vertex, with_config
from flowgauge.run.targets.workflow import Configured


def providers_of(configured: Mapping[str, Configured]) -> dict[str, set[str]]:
    """By configuration, after its overrides."""
    return {name: {provider for _, vertex in _vertices(item) for provider in _provider(vertex)} for name, item in configured.items()}


def retries_of(base: Configured) -> dict[str, Json] | None:
    """Every setting about retries and time limits, by where it stands; None where nothing is said."""
    said = {"": _bounds(with_config(base.content, base.config).workflow.config)}
    for path, vertex in _vertices(base):
        node = vertex.node
        retry = {} if node.retry is None else {"retry": msgspec.to_builtins(node.retry)}
        limit = {} if node.timeout_s is None else {"timeout_s": node.timeout_s}
        said[path] = {**_bounds(node.config), **retry, **limit}
    return {path: settings for path, settings in said.items() if settings} or None


def _vertices(item: Configured) -> Iterator[tuple[str, Vertex]]:
    """Of the workflow and of all that it holds or names."""
    graph = with_config(item.content, item.config)
    yield from _inside(graph)
    for name, workflow in item.workflows.items():
        yield from _inside(Graph(workflow, graph.config), f"{name}:")


def _inside(graph: Graph, before: str = "") -> Iterator[tuple[str, Vertex]]:
    for vertex in graph.vertices.values():
        yield from _below(vertex, f"{before}{vertex.id}")


def _below(vertex: Vertex, path: str) -> Iterator[tuple[str, Vertex]]:
    yield path, vertex
    if vertex.body is not None:
        yield from _below(vertex.body, f"{path}[]")
    for key, graph in vertex.embedded.items():
        yield from _inside(graph, f"{path}/{key}/")


def _provider(vertex: Vertex) -> Iterator[str]:
    if isinstance(vertex.node, AiNode):
        try:
            yield model_of(vertex.config)[0]
        except Failed:
            return  # a model without a provider: every trial has failed and says so


def _bounds(config: Config) -> dict[str, Json]:
    settings = {"max_retries": config.max_retries, "timeout_s": config.timeout_s}
    return {name: value for name, value in settings.items() if value is not None}
