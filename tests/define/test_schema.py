"""The schema for editors says the same as the loader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from flowgauge.define.fields import field_names
from flowgauge.define.schema import workflow_json_schema
from flowgauge.define.workflow import parse_workflow
from flowgauge.documents.document import read_document
from flowgauge.errors import BadFile
from flowgauge.model.workflow import Config, InputDecl, Retry, Workflow
from flowgauge.nodes.table import NODES

ROOT = Path(__file__).parents[2]
VALIDATOR = jsonschema.Draft202012Validator(workflow_json_schema())
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(workflow_json_schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_fits(path: Path) -> None:
    value = read_document(path).value
    if "steps" not in value:
        assert [error.message for error in VALIDATOR.iter_errors(value)] == []


@pytest.mark.parametrize("name", NODES)
def test_every_node_type_is_a_branch_with_descriptions(name: str) -> None:
    schema = workflow_json_schema()
    part = schema["$defs"][NODES[name].struct.__name__]
    assert part["properties"]["type"]["const"] == name
    assert part["description"] == NODES[name].summary
    assert set(part["properties"]) == set(field_names(NODES[name].struct))


NODE: dict[str, Any] = {"id": "a", "type": "ai", "prompt": "x"}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"name": "w", "nodes": [NODE]}, id="a workflow"),
        pytest.param({"name": "w", "nodes": []}, id="no nodes"),
        pytest.param({"nodes": [NODE]}, id="no name"),
        pytest.param({"name": "w", "nodes": [{**NODE, "nope": 1}]}, id="an unknown key"),
        pytest.param({"name": "w", "nodes": [{"type": "ai", "prompt": "x"}]}, id="no id"),
        pytest.param({"name": "w", "nodes": [{"id": "a", "prompt": "x"}]}, id="no type"),
        pytest.param({"name": "w", "nodes": [{**NODE, "type": "nope"}]}, id="an unknown type"),
        pytest.param({"name": "w", "nodes": [{**NODE, "retry": {"max": 21}}]}, id="out of range"),
        pytest.param({"name": "w", "nodes": [{**NODE, "config": {"temperature": "x"}}]}, id="a wrong type"),
        pytest.param({"name": "w", "nodes": [{"id": "m", "type": "map", "over": [1], "each": {"type": "ai", "prompt": "x"}}]}, id="a map"),
        pytest.param(
            {"name": "w", "nodes": [{"id": "m", "type": "map", "over": [1], "each": {"type": "ai", "x": 1}}]}, id="a mistake in a map"
        ),
    ],
)
def test_schema_and_loader_agree(value: dict[str, Any]) -> None:
    try:
        parse_workflow(value)
        loads = True
    except BadFile:
        loads = False
    assert VALIDATOR.is_valid(value) is loads


def _structs() -> list[tuple[str, type[msgspec.Struct]]]:
    return [
        ("workflow", Workflow),
        ("input", InputDecl),
        ("config", Config),
        ("retry", Retry),
        *((name, kind.struct) for name, kind in NODES.items()),
    ]


@pytest.mark.parametrize(("name", "struct"), _structs(), ids=lambda part: part if isinstance(part, str) else "")
def test_the_docs_name_every_field(name: str, struct: type[msgspec.Struct]) -> None:
    text = (ROOT / "docs" / "workflow-file.md").read_text(encoding="utf-8")
    missing = [field for field in field_names(struct) if f"`{field}`" not in text]
    assert missing == [], f"docs/workflow-file.md says nothing of these fields of {name}"


def test_the_docs_name_every_node_type_with_its_own_part() -> None:
    text = (ROOT / "docs" / "workflow-file.md").read_text(encoding="utf-8")
    for name, kind in NODES.items():
        heading = f"### `{name}`"
        assert heading in text
        part = text.split(heading, 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]
        shared = set(field_names(NODES["operation"].struct)) - {"operation", "with"}
        missing = [field for field in field_names(kind.struct) if field not in shared and f"`{field}`" not in part]
        assert missing == [], f"the part on {name} in docs/workflow-file.md is not complete"


def _yaml_blocks() -> list[str]:
    text = (ROOT / "docs" / "workflow-file.md").read_text(encoding="utf-8")
    blocks = [block.split("```", 1)[0] for block in text.split("```yaml\n")[1:]]
    return [block for block in blocks if block.startswith("name:")]


@pytest.mark.parametrize("text", _yaml_blocks(), ids=lambda text: str(yaml.safe_load(text)["name"]))
def test_every_whole_workflow_in_the_docs_is_one(text: str) -> None:
    parse_workflow(yaml.safe_load(text))
