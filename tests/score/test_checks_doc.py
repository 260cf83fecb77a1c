"""docs/checks.md names every type and option there is, and nothing else; its examples can be made."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from flowgauge.model.bench import CheckSpec
from flowgauge.score.problems import check_problems
from flowgauge.score.table import CHECKS

TEXT = (Path(__file__).parents[2] / "docs" / "checks.md").read_text(encoding="utf-8")
FIELDS = {field.encode_name for field in msgspec.structs.fields(CheckSpec)}


def part_of(name: str) -> str:
    return TEXT.split(f"\n### `{name}`\n", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]


def rows_of(part: str) -> set[str]:
    heads = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {name for head in heads for name in re.findall(r"`(\w+)`", head)}


def examples(part: str) -> list[CheckSpec]:
    listed = [item for block in part.split("```yaml\n")[1:] for item in yaml.safe_load(block.split("```", 1)[0])]
    return [_spec(item) for item in listed]


def _spec(item: dict[str, object]) -> CheckSpec:
    own = {key: value for key, value in item.items() if key in FIELDS}
    return msgspec.convert({**own, "options": {key: value for key, value in item.items() if key not in FIELDS}}, CheckSpec)


def test_every_type_has_its_part_and_no_other_has() -> None:
    assert set(re.findall(r"\n### `(\w+)`\n", TEXT)) == set(CHECKS)


def test_every_field_of_a_check_is_told() -> None:
    assert rows_of(TEXT.split("## What every check has", 1)[1].split("\n## ", 1)[0]) == FIELDS


@pytest.mark.parametrize("name", CHECKS)
def test_part_of_a_type_lists_its_options_and_has_an_example(name: str) -> None:
    part = part_of(name)
    assert rows_of(part) == {field.encode_name for field in msgspec.structs.fields(CHECKS[name].options)}
    shown = examples(part)
    assert {spec.type for spec in shown} == {name}
    assert [list(check_problems(spec)) for spec in shown] == [[]] * len(shown)


def test_defaults_in_the_docs_are_those_of_the_options() -> None:
    for name, row in CHECKS.items():
        for field in msgspec.structs.fields(row.options):
            told = re.search(rf"\| `{field.encode_name}` \|.*?([\d,.]+) unless said", part_of(name))
            if told and "`auto`" not in told[0]:
                assert float(told[1].replace(",", "")) == field.default, f"{name}.{field.encode_name}"
