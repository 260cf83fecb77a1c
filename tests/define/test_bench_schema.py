"""The schema of bench files says the same as the loader, and the docs name every key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from flowgauge.define.bench import bench_from_value
from flowgauge.define.bench_file import BenchFile, StateVariant
from flowgauge.define.bench_schema import bench_json_schema
from flowgauge.define.fields import field_names
from flowgauge.documents.document import read_document
from flowgauge.errors import BadFile
from flowgauge.model.bench import Case, CheckSpec, Configuration, Target

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "bench-file.md").read_text(encoding="utf-8")
VALIDATOR = jsonschema.Draft202012Validator(bench_json_schema())
TARGET = Target(kind="python", reference="m:f", name="f")


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(bench_json_schema())


@pytest.mark.parametrize("name", ["configs", "labelled", "lines"])
def test_every_example_fits(name: str) -> None:
    value = read_document(ROOT / "examples" / "bench" / f"{name}.yaml").value
    assert [error.message for error in VALIDATOR.iter_errors(value)] == []


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"configs": [{"name": "a"}], "runs": 3}, id="a bench"),
        pytest.param({"configs": [{"name": ""}]}, id="an empty name"),
        pytest.param({"configs": [{}]}, id="no name"),
        pytest.param({"runs": 0}, id="out of range"),
        pytest.param({"runs": 3, "rums": 3}, id="an unknown key"),
        pytest.param({"checks": [{"type": "judge", "rubric": "x", "votes": 3}]}, id="settings beside the type"),
        pytest.param({"checks": [{"rubric": "x"}]}, id="no type"),
        pytest.param({"checks": [{"type": "x", "weight": -1}]}, id="a negative weight"),
        pytest.param({"cases": [{"name": "a", "inputs": {"q": 1}, "runs": 2, "tags": {"a": "b"}}]}, id="a case"),
        pytest.param({"cases": [{"name": "a", "state": {}}]}, id="a key of a variant in a case"),
        pytest.param({"state_variants": [{"name": "a", "state": {"q": 1}}]}, id="a variant"),
        pytest.param({"dataset": 3}, id="a data set that is no path"),
        pytest.param({"name": "a:b"}, id="a name with a colon"),
        pytest.param({"tags": {"a": 1}}, id="a tag that is no text"),
        pytest.param({"budget_usd": 0}, id="no money"),
    ],
)
def test_schema_and_loader_agree(value: dict[str, Any]) -> None:
    try:
        bench_from_value({"runs": 1, **value}, TARGET)
        loads = True
    except BadFile:
        loads = False
    assert VALIDATOR.is_valid({"runs": 1, **value}) is loads


@pytest.mark.parametrize("value", ["a.csv", ["a.csv", "b.jsonl"], []])
def test_a_data_set_is_a_path_or_several(value: Any) -> None:
    assert VALIDATOR.is_valid({"dataset": value})


@pytest.mark.parametrize(
    ("heading", "struct"),
    [
        ("## At the top", BenchFile),
        ("## Configurations", Configuration),
        ("### `cases`", Case),
        ("### `state_variants`", StateVariant),
        ("## Checks and scorers", CheckSpec),
    ],
)
def test_the_docs_name_every_key_in_its_part(heading: str, struct: type[msgspec.Struct]) -> None:
    assert heading in DOCS
    part = DOCS.split(f"{heading}\n", 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]
    assert [field for field in field_names(struct) if f"`{field}`" not in part] == []


def _yaml_blocks() -> list[str]:
    blocks = [block.split("```", 1)[0] for block in DOCS.split("```yaml\n")[1:]]
    return [block for block in blocks if block.startswith("name:")]


@pytest.mark.parametrize("text", _yaml_blocks(), ids=lambda text: str(yaml.safe_load(text)["name"]))
def test_every_whole_bench_in_the_docs_fits(text: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(yaml.safe_load(text))] == []
