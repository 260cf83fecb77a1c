"""What a command line or a bench lays over a workflow: config keys, and fields of single nodes.

In: a workflow and `{config: {…}, nodes: {id: {…}}}`. Out: a workflow that was
checked again as a whole; every problem names the override, not a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

import msgspec

from flowgauge.define.fields import bare, field_names
from flowgauge.define.inputs import read_json
from flowgauge.define.workflow import checked
from flowgauge.documents.document import Way, spell_way
from flowgauge.documents.findings import Findings
from flowgauge.documents.tree import Place, plain
from flowgauge.errors import BadFile
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.problem import Problem
from flowgauge.model.workflow import Config, Json, Workflow, superseded
from flowgauge.nodes.codec import workflow_to_value

_PARTS = ("config", "nodes")
_FIXED = ("id", "type")
_CONFIG_TYPES = {field.encode_name: bare(field.type) for field in msgspec.structs.fields(Config)}


def override_workflow(workflow: Workflow, overrides: Mapping[str, Json], label: str = "overrides") -> Workflow:
    """The workflow with the overrides laid over it. Raises BadFile that names `label` and each override at fault."""
    if not any(overrides.values()):
        return workflow
    value = plain(apply_overrides(workflow_to_value(workflow), overrides, label))
    ids = [node.id for node in workflow.nodes]

    def spell(way: Way) -> str:
        if len(way) > 1 and way[0] == "nodes" and isinstance(way[1], int) and way[1] < len(ids):
            return spell_way(("nodes", ids[way[1]], *way[2:]))
        return spell_way(way)

    return checked(value, Findings(label, lambda _: Place(0), spell)).workflow


def apply_overrides(value: Mapping[str, Json], overrides: Mapping[str, Json], label: str = "overrides") -> dict[str, Json]:
    """The workflow's value with the overrides laid over it, not yet checked again. The value itself stays as it is."""
    problems = [Problem(0, part, "There is no such override.", f"{did_you_mean(part, _PARTS)}") for part in overrides if part not in _PARTS]
    config, nodes = (_mapping(overrides.get(part), part, problems) for part in _PARTS)
    result = {**value, "config": _config_over(value.get("config", {}), config)}
    ids = [node["id"] for node in value.get("nodes", ())]
    for node_id, fields in nodes.items():
        if node_id not in ids:
            problems.append(Problem(0, f"nodes.{node_id}", f"There is no node '{node_id}'.", did_you_mean(node_id, ids)))
        for name in _FIXED:
            if name in _mapping(fields, f"nodes.{node_id}", problems):
                problems.append(Problem(0, f"nodes.{node_id}.{name}", f"`{name}` cannot be overridden.", "Remove it."))
    if problems:
        raise BadFile(label, problems)
    result["nodes"] = [_laid_over(node, nodes.get(node["id"], {})) for node in value.get("nodes", ())]
    return result


def parse_config(assignments: Iterable[str], label: str = "--config") -> dict[str, Json]:
    """`k=v` from a command line as config keys; `extra.k=v` reaches into extra."""
    config: dict[str, Json] = {}
    problems: list[Problem] = []
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        key, dot, inner = name.strip().partition(".")
        if not equals:
            problems.append(Problem(0, assignment, "There is no '=' in it.", "Write key=value."))
        elif key not in _CONFIG_TYPES or (dot and key != "extra"):
            problems.append(Problem(0, name, "There is no such config key.", did_you_mean(name, field_names(Config))))
        elif dot:
            config.setdefault("extra", {})[inner] = read_json(text)
        else:
            config[key] = text if _CONFIG_TYPES[key] is str or _is_choice(key) else read_json(text)
    if problems:
        raise BadFile(label, problems)
    return config


def _is_choice(key: str) -> bool:
    return all(isinstance(option, str) for option in get_args(_CONFIG_TYPES[key])) and bool(get_args(_CONFIG_TYPES[key]))


def _mapping(value: Any, where: str, problems: list[Problem]) -> Mapping[str, Json]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    problems.append(Problem(0, where, "Expected a mapping of names to values.", "Write name: value."))
    return {}


def _laid_over(node: Mapping[str, Json], fields: Mapping[str, Json]) -> dict[str, Json]:
    """Fields replace fields; config, retry and with are merged key by key."""
    result = dict(node)
    for name, new in fields.items():
        old = node.get(name)
        merge = _MERGED.get(name)
        result[name] = merge(old, new) if merge and isinstance(old, dict) and isinstance(new, Mapping) else new
    return result


def _config_over(old: Mapping[str, Json], new: Mapping[str, Json]) -> dict[str, Json]:
    """As `Config.over` does it, but for `extra`, which is replaced."""
    gone = superseded(_text(old, "provider"), _text(old, "base_url"), _text(new, "provider"), _text(new, "model"))
    return {**{name: value for name, value in old.items() if name not in gone}, **new}


def _text(config: Mapping[str, Json], key: str) -> str | None:
    """None also for what is no text: that is found wrong when the whole is checked."""
    value = config.get(key)
    return value if isinstance(value, str) else None


def _keys_over(old: Mapping[str, Json], new: Mapping[str, Json]) -> dict[str, Json]:
    return {**old, **new}


_MERGED: Mapping[str, Callable[[Mapping[str, Json], Mapping[str, Json]], dict[str, Json]]] = {
    "config": _config_over,
    "retry": _keys_over,
    "with": _keys_over,
}
