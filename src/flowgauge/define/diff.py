"""What changed between two workflows: nodes, inputs, config, output, field by field.

Pure: two workflows in, a Diff out, and a Diff in plain text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from flowgauge.documents.tree import plain
from flowgauge.lang.filters import to_json
from flowgauge.model.workflow import Json, Workflow
from flowgauge.nodes.codec import workflow_to_value

_SHORT = 80
_TOP = ("name", "description", "output")


class FieldChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One field before and after. What was not there is absent: `added` and `removed` tell it from null."""

    field: str
    before: Json = None
    after: Json = None
    added: bool = False
    removed: bool = False


class ItemChange(msgspec.Struct, frozen=True, kw_only=True):
    """A node or an input that is in both, and its fields that differ."""

    id: str
    fields: tuple[FieldChange, ...]


class Diff(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that differs; empty where the workflows are the same."""

    nodes_added: tuple[str, ...] = ()
    nodes_removed: tuple[str, ...] = ()
    nodes_changed: tuple[ItemChange, ...] = ()
    nodes_moved: bool = False
    """The order in the file differs and nothing else says so."""
    inputs_added: tuple[str, ...] = ()
    inputs_removed: tuple[str, ...] = ()
    inputs_changed: tuple[ItemChange, ...] = ()
    config: tuple[FieldChange, ...] = ()
    workflow: tuple[FieldChange, ...] = ()
    """name, description and output."""

    @property
    def is_empty(self) -> bool:
        """Nothing differs."""
        return self == Diff()


def diff_workflows(old: Workflow, new: Workflow) -> Diff:
    """From old to new."""
    before, after = plain(workflow_to_value(old)), plain(workflow_to_value(new))
    old_nodes, new_nodes = _by(before.get("nodes", ()), "id"), _by(after.get("nodes", ()), "id")
    old_inputs, new_inputs = _by(before.get("inputs", ()), "name"), _by(after.get("inputs", ()), "name")
    common = [node_id for node_id in old_nodes if node_id in new_nodes]
    return Diff(
        nodes_added=tuple(node_id for node_id in new_nodes if node_id not in old_nodes),
        nodes_removed=tuple(node_id for node_id in old_nodes if node_id not in new_nodes),
        nodes_changed=_changed(old_nodes, new_nodes),
        nodes_moved=common != [node_id for node_id in new_nodes if node_id in old_nodes],
        inputs_added=tuple(name for name in new_inputs if name not in old_inputs),
        inputs_removed=tuple(name for name in old_inputs if name not in new_inputs),
        inputs_changed=_changed(old_inputs, new_inputs),
        config=tuple(_fields(before.get("config", {}), after.get("config", {}))),
        workflow=tuple(
            _fields({name: before[name] for name in _TOP if name in before}, {name: after[name] for name in _TOP if name in after})
        ),
    )


def render_diff(diff: Diff) -> str:
    """Plain text, one change a line, long text as a line diff."""
    if diff.is_empty:
        return "No difference."
    lines = [line for change in diff.workflow for line in _render_field(change, "")]
    lines += [line for change in diff.config for line in _render_field(change, "config.")]
    lines += _render_items("input", diff.inputs_added, diff.inputs_removed, diff.inputs_changed)
    lines += _render_items("node", diff.nodes_added, diff.nodes_removed, diff.nodes_changed)
    if diff.nodes_moved:
        lines.append("~ the nodes stand in another order")
    return "\n".join(lines)


def _by(items: Any, key: str) -> dict[str, Mapping[str, Json]]:
    return {item[key]: item for item in items}


def _changed(old: Mapping[str, Mapping[str, Json]], new: Mapping[str, Mapping[str, Json]]) -> tuple[ItemChange, ...]:
    pairs = ((name, tuple(_fields(old[name], new[name]))) for name in old if name in new)
    return tuple(ItemChange(id=name, fields=fields) for name, fields in pairs if fields)


def _fields(old: Mapping[str, Json], new: Mapping[str, Json], prefix: str = "") -> Iterator[FieldChange]:
    """Mappings are compared key by key, all else as a whole."""
    for name in dict.fromkeys((*old, *new)):
        if name not in old:
            yield FieldChange(field=prefix + name, after=new[name], added=True)
        elif name not in new:
            yield FieldChange(field=prefix + name, before=old[name], removed=True)
        elif isinstance(old[name], dict) and isinstance(new[name], dict):
            yield from _fields(old[name], new[name], f"{prefix}{name}.")
        elif old[name] != new[name] or type(old[name]) is not type(new[name]):
            yield FieldChange(field=prefix + name, before=old[name], after=new[name])


def _render_items(noun: str, added: tuple[str, ...], removed: tuple[str, ...], changed: tuple[ItemChange, ...]) -> Iterator[str]:
    yield from (f"+ {noun} {name}" for name in added)
    yield from (f"- {noun} {name}" for name in removed)
    for item in changed:
        yield f"~ {noun} {item.id}"
        for change in item.fields:
            yield from (f"  {line}" for line in _render_field(change, ""))


def _render_field(change: FieldChange, prefix: str) -> Iterator[str]:
    name = prefix + change.field
    if change.added:
        yield f"+ {name}: {_shown(change.after)}"
    elif change.removed:
        yield f"- {name}: {_shown(change.before)}"
    elif isinstance(change.before, str) and isinstance(change.after, str) and "\n" in change.before + change.after:
        yield f"~ {name}:"
        lines = difflib.unified_diff(change.before.splitlines(), change.after.splitlines(), lineterm="", n=1)
        yield from (f"    {line}" for line in list(lines)[2:])
    else:
        yield f"~ {name}: {_shown(change.before)} → {_shown(change.after)}"


def _shown(value: Json) -> str:
    text = to_json(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
