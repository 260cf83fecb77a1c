"""Workflow files become workflows, or one BadFile that lists every mistake with its line.

In: a path, or plain values. Out: Loaded: a workflow that needs no other file,
and warnings. Shape, graph, templates, conditions, code and neighbouring files
are all looked at before anything is raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.define.graph import check_graph
from flowgauge.define.references import Names, check_node_references, check_output_references
from flowgauge.define.shape import check_nodes_shape, check_top_shape
from flowgauge.define.sources import Neighbours, embed_sources
from flowgauge.documents.document import Document, Way, scan_document, scan_text
from flowgauge.documents.findings import Findings
from flowgauge.documents.tree import Place, plain
from flowgauge.errors import BadFile
from flowgauge.model.problem import Problem
from flowgauge.model.workflow import Workflow
from flowgauge.nodes.codec import node_from_value, workflow_from_value, workflow_to_value
from flowgauge.nodes.inputs import FITS, fits
from flowgauge.nodes.table import NODES

_NOWHERE = Place(0)


class Loaded(msgspec.Struct, frozen=True):
    """A workflow as read, and what is odd about it without being wrong."""

    workflow: Workflow
    warnings: tuple[Problem, ...] = ()
    file: str = ""


def load_workflow(path: str | Path) -> Loaded:
    """Read and check a workflow file. Raises BadFile."""
    return _load(Path(path), ())


def parse_workflow_text(text: str, file: str = "workflow") -> Loaded:
    """The same for text that came from no file; it may name no neighbours."""
    return _from_document(scan_text(text, file), None, ())


def parse_workflow(value: Any, file: str = "workflow", *, folder: Path | None = None) -> Loaded:
    """The same for plain values; problems have no lines."""
    return _from_document(Document(file, plain(value), _NOWHERE), folder, ())


def _load(path: Path, parents: tuple[Path, ...]) -> Loaded:
    whole = path.resolve()
    if whole in parents:
        chain = " → ".join(parent.name for parent in (*parents[parents.index(whole) :], whole))
        raise BadFile(str(path), [Problem(0, "", f"Workflows contain each other: {chain}.", "Remove one of the references.")])
    return _from_document(scan_document(path), path.parent, (*parents, whole))


def _from_document(document: Document, folder: Path | None, parents: tuple[Path, ...]) -> Loaded:
    findings = Findings(document.file, document.find)
    findings.problems.extend(document.problems)
    value = document.value
    if isinstance(value, dict) and "steps" in value and "nodes" not in value:
        from flowgauge.define.agentloom.importer import import_agentloom

        value, findings = import_agentloom(value, findings, folder)
    return checked(value, findings, folder, parents)


def checked(value: Any, findings: Findings, folder: Path | None = None, parents: tuple[Path, ...] = ()) -> Loaded:
    """Look at everything, then answer or raise."""
    if not isinstance(value, dict):
        findings.add((), "A workflow must be a mapping.", "Begin with `name:` and `nodes:`.")
        findings.raise_any()
    value = _examine(value, findings, folder, parents)
    findings.raise_any()
    try:
        workflow = workflow_from_value(value)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadFile(findings.file, [Problem(0, "", f"{error}.", "Correct it.")]) from None
    return Loaded(workflow, tuple(findings.warnings), findings.file)


def _examine(value: Mapping[str, Any], findings: Findings, folder: Path | None, parents: tuple[Path, ...]) -> dict[str, Any]:
    """All checks of one workflow value; the value with its neighbours inside it."""
    check_top_shape(value, findings)
    inputs = _check_inputs(value.get("inputs"), findings)
    nodes = check_nodes_shape(value["nodes"], findings) if "nodes" in value else {}
    names = check_graph(nodes, _untyped(value.get("nodes"), nodes), inputs, findings)
    for number, node in nodes.items():
        check_node_references(node, ("nodes", number), names, findings)
    check_output_references(value.get("output"), names, findings)
    neighbours = _neighbours(findings, folder, parents)
    embedded = {number: embed_sources(node, ("nodes", number), neighbours, findings) for number, node in nodes.items()}
    for number, node in embedded.items():
        _check_kind(node, ("nodes", number), findings)
    _warn(value, names, nodes, findings)
    return {**value, "nodes": list(embedded.values())}


def _untyped(value: Any, typed: Mapping[int, Any]) -> dict[int, str]:
    """Ids of nodes of no known type, by position."""
    rest = {number: node for number, node in enumerate(value if isinstance(value, list) else ()) if number not in typed}
    return {number: node["id"] for number, node in rest.items() if isinstance(node, dict) and isinstance(node.get("id"), str)}


def _neighbours(findings: Findings, folder: Path | None, parents: tuple[Path, ...]) -> Neighbours:
    def check_inner(definition: Mapping[str, Any], way: Way) -> dict[str, Any]:
        inner = Findings(findings.file, lambda rest: findings.locate((*way, *rest)), lambda rest: findings.spell((*way, *rest)))
        whole = _examine(definition, inner, folder, parents)
        findings.problems.extend(inner.problems)
        return whole if inner.problems else dict(plain(workflow_to_value(workflow_from_value(whole))))

    def load_other(path: Path) -> Mapping[str, Any]:
        return dict(plain(workflow_to_value(_load(path, parents).workflow)))

    return Neighbours(folder, load_other, check_inner)


def _check_inputs(value: Any, findings: Findings) -> dict[str, str]:
    """Declared names with their types; doubles and defaults that do not fit are findings."""
    declared: dict[str, str] = {}
    for number, item in enumerate(value if isinstance(value, list) else ()):
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            continue
        name, kind, way = item["name"], item.get("type", "string"), ("inputs", number)
        if name in declared:
            findings.add((*way, "name"), f"The input '{name}' is declared twice.", "Keep one of them.")
        declared[name] = kind if isinstance(kind, str) else "string"
        default = item.get("default")
        if default is not None and declared[name] in FITS and not fits(default, declared[name]):
            findings.add((*way, "default"), f"The default of '{name}' is not of its type, {kind}.", "Correct the default or the type.")
        if item.get("required") is True and "default" in item:
            findings.warn(way, f"The input '{name}' is required and has a default.", "Remove one of them; the default wins.")
    return declared


def _check_kind(node: Mapping[str, Any], way: Way, findings: Findings) -> None:
    """What the node's own kind has to say, once its shape is right and its files are read."""
    try:
        struct = node_from_value(node)
    except (msgspec.ValidationError, RecursionError) as error:
        if not findings.has_fault(way):
            findings.add(way, f"{error}.", "Correct it.")
        return
    kind = NODES[node["type"]]
    for complaint in kind.check(struct):
        place = (*way, *_way_of(complaint.field))
        if not _is_unread(place, way, findings):
            findings.add(place, complaint.message, complaint.remedy)
    if kind.body:
        _check_kind(node[kind.body], (*way, kind.body), findings)


def _is_unread(place: Way, way: Way, findings: Findings) -> bool:
    """Was it a file that could not be read? Then the code that is missing for it needs no second complaint."""
    return findings.has_fault((*way, "file")) or findings.has_fault((*place, "file"))


def _way_of(field: str) -> Way:
    """`tools[0].mcp` as a way."""
    parts = field.replace("[", ".").replace("]", "").split(".")
    return tuple(int(part) if part.isdigit() else part for part in parts if part)


def _warn(value: Mapping[str, Any], names: Names, nodes: Mapping[int, Mapping[str, Any]], findings: Findings) -> None:
    unused = [name for name in names.inputs if name not in names.used_inputs]
    if unused and not findings.problems:
        findings.warn(("inputs",), f"No template uses {', '.join(unused)}.", "Use it as {{ inputs.NAME }}, or remove it.")
    config = value.get("config")
    provider = config.get("provider") if isinstance(config, dict) else None
    for number, node in nodes.items():
        own = node.get("config")
        if node["type"] == "ai" and isinstance(own, dict):
            _warn_of_model(own, provider, ("nodes", number, "config"), findings)
    if isinstance(config, dict):
        _warn_of_model(config, provider, ("config",), findings)


def _warn_of_model(config: Mapping[str, Any], provider: Any, way: Way, findings: Findings) -> None:
    model = config.get("model")
    if isinstance(model, str) and "/" not in model and not (config.get("provider") or provider):
        findings.warn((*way, "model"), f"The model '{model}' has no provider.", "Write provider/model, or set `provider`.")
