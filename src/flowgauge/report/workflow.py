"""A workflow as YAML that a person would have written: the file's order, long text as blocks."""

from __future__ import annotations

from typing import Any

import yaml

from flowgauge.model.workflow import Workflow
from flowgauge.nodes.codec import workflow_to_value


class _Dumper(yaml.SafeDumper):
    """Text of several lines as a block, no aliases."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def workflow_yaml(workflow: Workflow) -> str:
    """A file that loads to the same workflow."""
    value = workflow_to_value(workflow)
    value["nodes"] = [_id_first(node) for node in value.get("nodes", ())]
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _id_first(node: dict[str, Any]) -> dict[str, Any]:
    return {"id": node["id"], "type": node["type"], **node}
