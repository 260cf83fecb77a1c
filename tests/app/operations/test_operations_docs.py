"""docs/rpc.md says of every operation what the table says: its summary, scope, parameters, answer; and its example is one."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.app.hosting import hosted

from flowgauge import errors
from flowgauge.app.bench import load
from flowgauge.app.bench_pins import overridden
from flowgauge.app.host import Host
from flowgauge.app.operations.benches import bench_request
from flowgauge.app.operations.calling import read_params
from flowgauge.app.operations.operation import Operation
from flowgauge.app.operations.table import GROUPS, OPERATIONS
from flowgauge.app.schedule_requests import params_of
from flowgauge.nodes.ai import AiNode, model_of
from flowgauge.run.graph import Graph
from flowgauge.store.page import Page

TEXT = (Path(__file__).parents[3] / "docs" / "rpc.md").read_text(encoding="utf-8")
OPERATIONS_TEXT, RECORDS_TEXT = TEXT.split("\n## Records\n")
ROWS = [pytest.param(operation, id=name) for name, operation in OPERATIONS.items()]


def sections(text: str, heading: str) -> dict[str, str]:
    parts = re.split(heading, text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


DOCUMENTED = sections(OPERATIONS_TEXT, r"^### `([a-z_]+)`$")
RECORDS = sections(RECORDS_TEXT, r"^### ([A-Za-z]+)$")


def answer(result: Any) -> tuple[str, type[msgspec.Struct]]:
    """How the document says it, and the record."""
    origin, inner = typing.get_origin(result), [each for each in typing.get_args(result) if each not in (type(None), ...)]
    if origin in (types.UnionType, typing.Union):
        words, record = answer(inner[0])
        return f"{words}, or null", record
    if origin in (Page, tuple):
        return f"{'page' if origin is Page else 'list'} of {answer(inner[0])[0]}", inner[0]
    return f"[{result.__name__}](#{result.__name__.lower()})", result


def test_every_operation_has_its_section_and_every_section_its_operation() -> None:
    assert set(DOCUMENTED) == set(OPERATIONS)
    assert sum(map(len, GROUPS)) == len(OPERATIONS), "no two operations have one name"


@pytest.mark.parametrize("operation", ROWS)
def test_a_section_says_what_the_table_says(operation: Operation) -> None:
    words, _ = answer(operation.result)
    assert f"{operation.summary} Scope: `{operation.scope}`. Answers: {words}." in DOCUMENTED[operation.name]


@pytest.mark.parametrize("operation", ROWS)
def test_a_section_has_every_parameter_and_no_other(operation: Operation) -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (.+) \| (.+) \| (.+) \|$", DOCUMENTED[operation.name], flags=re.MULTILINE)
    required = {field.encode_name: field.required for field in msgspec.structs.fields(operation.params)}
    assert {name: default == "**required**" for name, _, default, _ in rows} == required


@pytest.mark.parametrize("operation", ROWS)
def test_the_example_of_a_section_is_taken(operation: Operation) -> None:
    (example,) = re.findall(r"^```json\n(.+?)\n```$", DOCUMENTED[operation.name], flags=re.MULTILINE | re.DOTALL)
    read_params(operation, json.loads(example))


@pytest.mark.parametrize("name", ["benchmark_start", "schedule_set"])
def test_the_example_of_what_measures_can_be_typed_as_it_stands(tmp_path: Path, name: str) -> None:
    (example,) = re.findall(r"^```json\n(.+?)\n```$", DOCUMENTED[name], flags=re.MULTILINE | re.DOTALL)

    async def work(host: Host) -> tuple[Any, set[tuple[str, str]]]:
        await host.call("workflow_from_template", {"name": "ticket-triage"})
        asked = json.loads(example)
        bench, _ = load(host.store, bench_request(host.store, params_of(asked.get("request", asked))))
        assert bench is not None
        graphs = [Graph(workflow) for workflow in overridden(host.store, bench).values()]
        called = {model_of(vertex.config) for graph in graphs for vertex in graph.vertices.values() if isinstance(vertex.node, AiNode)}
        return await host.call(name, asked) if name == "schedule_set" else None, called

    made, called = hosted(str(tmp_path / "a.db"), work)
    if name == "schedule_set":
        assert (made["name"], made["enabled"]) == ("nightly", True)
    else:
        assert called == {("openai", "gpt-4o-mini")}


def cost_sources(record: Any, seen: set[Any]) -> Iterator[tuple[str, ...]]:
    """The words of every `cost_source` in a type, however deep."""
    for inner in (record, *typing.get_args(record)):
        if inner in seen:
            continue
        seen.add(inner)
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            for field in msgspec.structs.fields(inner):
                if field.name == "cost_source":
                    yield tuple(sorted(typing.get_args(field.type)))
                yield from cost_sources(field.type, seen)
        elif inner is not record:
            yield from cost_sources(inner, seen)


def test_the_source_of_a_cost_has_the_same_words_everywhere() -> None:
    seen: set[Any] = set()
    found = [words for operation in OPERATIONS.values() for words in cost_sources(operation.result, seen)]
    assert len(found) > 3
    assert set(found) == {("computed", "none", "provider", "unpriced")}
    told = re.findall(r"^\| `cost_source` \| (.+) \|$", RECORDS_TEXT, flags=re.MULTILINE)
    assert set(told) == {"provider, computed, unpriced or none."}


@pytest.mark.parametrize("operation", ROWS)
def test_every_field_of_an_answer_is_documented(operation: Operation) -> None:
    _, record = answer(operation.result)
    named = re.findall(r"^\| `([a-z_]+)` \|", RECORDS[record.__name__], flags=re.MULTILINE)
    assert named == [field.encode_name for field in msgspec.structs.fields(record)]


def test_every_link_inside_the_document_leads_somewhere() -> None:
    anchors = {heading.lower().replace("`", "").replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", TEXT, flags=re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) - anchors == set()


def test_every_code_of_an_error_is_in_the_table() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.FlowgaugeError)]
    listed = {-int(code) for row in re.findall(r"^\| (−[−\d, ]+) \|", TEXT, flags=re.MULTILINE) for code in re.findall(r"−(\d+)", row)}
    assert {kind.rpc_code for kind in kinds} - listed == set()


@pytest.mark.parametrize("operation", ROWS)
def test_an_operation_is_described_in_one_sentence_and_refuses_what_it_does_not_know(operation: Operation) -> None:
    assert re.fullmatch(r"[A-Z][^.]*\.", operation.summary)
    with pytest.raises(errors.BadParameter) as caught:
        read_params(operation, {"no_such_field": 1})
    assert caught.value.field in {"no_such_field", *(field.encode_name for field in msgspec.structs.fields(operation.params))}


@pytest.mark.parametrize("operation", ROWS)
def test_a_list_is_paged(operation: Operation) -> None:
    fields = {field.name for field in msgspec.structs.fields(operation.params)}
    assert ({"cursor", "limit"} <= fields) == (typing.get_origin(operation.result) is Page)
