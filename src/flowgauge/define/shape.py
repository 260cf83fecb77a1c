"""Does a value have the shape of its struct? Every key, type and range that does not fit is a finding.

What fits is seen by msgspec in microseconds; pydantic is imported only to list
all mistakes of what does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from flowgauge.define.fields import Struct, field_names, struct_at
from flowgauge.define.wording import fault_in_words
from flowgauge.documents.document import Way
from flowgauge.documents.findings import Findings
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.workflow import Config, Workflow
from flowgauge.nodes.table import NODES

_CONFIG_KEYS = frozenset(field_names(Config))


def check_shape(struct: Struct, value: Any, way: Way, findings: Findings, requires: tuple[str, ...] = ()) -> bool:
    """True where the value fits."""
    misfit = _misfit(struct, value, requires)
    if not misfit:
        return True
    from flowgauge.define.models import list_faults

    faults = list_faults(struct, value, requires)
    for fault in faults:
        message, remedy = _in_words(struct, fault["type"], fault["loc"], fault["input"], fault.get("ctx", {}))
        findings.add((*way, *fault["loc"]), message, remedy)
    if not faults:
        findings.add(way, f"{misfit}.", "Correct it.")
    return False


def check_nodes_shape(value: Any, findings: Findings, way: Way = ("nodes",)) -> dict[int, Mapping[str, Any]]:
    """The nodes that are mappings of a known type, by position; each is held to the struct of its type."""
    if not isinstance(value, list):
        findings.add(way, "Expected a list of nodes.", "Write `- id: …` for each.")
        return {}
    if not value:
        findings.add(way, "There are no nodes.", "List at least one.")
    return {number: node for number, node in enumerate(value) if check_node_shape(node, (*way, number), findings, ("id",))}


def check_node_shape(node: Any, way: Way, findings: Findings, requires: tuple[str, ...] = ()) -> bool:
    """True where the node has a known type, so that there is more to be said about it, whole or not."""
    if not isinstance(node, dict):
        findings.add(way, "A node must be a mapping.", "Write `id`, `type` and the fields of that type.")
        return False
    kind_name = node.get("type")
    if not isinstance(kind_name, str) or kind_name not in NODES:
        _complain_of_type(kind_name, "type" in node, way, findings)
        return False
    kind = NODES[kind_name]
    check_shape(kind.struct, node, way, findings, requires)
    if kind.body and isinstance(node.get(kind.body), dict):
        check_node_shape(node[kind.body], (*way, kind.body), findings)
    return True


def check_top_shape(value: Mapping[str, Any], findings: Findings) -> None:
    """All of a workflow but its nodes."""
    rest = {name: part for name, part in value.items() if name != "nodes"}
    check_shape(Workflow, rest, (), findings)
    if "nodes" not in value:
        findings.add((), "There are no nodes.", "Add `nodes:` with at least one.")


def _complain_of_type(kind_name: Any, given: bool, way: Way, findings: Findings) -> None:
    known = ", ".join(NODES)
    if not given:
        findings.add(way, "The node has no type.", f"Add `type:` with one of {known}.")
    elif isinstance(kind_name, str):
        findings.add((*way, "type"), f"There is no node type '{kind_name}'.", did_you_mean(kind_name, NODES))
    else:
        findings.add((*way, "type"), "The type must be a word.", f"The types are {known}.")


def _misfit(struct: Struct, value: Any, requires: tuple[str, ...]) -> str:
    if any(name not in value for name in requires):
        return "A field is missing"
    try:
        msgspec.convert(value, struct)
    except (msgspec.ValidationError, RecursionError) as error:
        return str(error) or "It is nested too deeply"
    except UnicodeEncodeError:
        return "A text holds half of a surrogate pair, which is no character"
    return ""


def _in_words(struct: Struct, kind: str, loc: Way, value: Any, context: Mapping[str, Any]) -> tuple[str, str]:
    if kind == "missing":
        return f"'{loc[-1]}' is missing.", "Add it."
    if kind == "extra_forbidden":
        return _unknown_key(struct, loc)
    return fault_in_words(kind, value, context)


def _unknown_key(struct: Struct, loc: Way) -> tuple[str, str]:
    key = str(loc[-1])
    owner = struct_at(struct, loc[:-1])
    names = field_names(owner) if owner else []
    message = f"Unknown key '{key}'."
    if key in _CONFIG_KEYS and "config" in names:
        return message, f"Put it under `config:`, as `config: {{{key}: …}}`."
    if owner is struct and struct is not Workflow and (kinds := [name for name, kind in NODES.items() if key in field_names(kind.struct)]):
        return message, f"It belongs to nodes of type {', '.join(kinds)}. {did_you_mean(key, names)}"
    return message, did_you_mean(key, names)
