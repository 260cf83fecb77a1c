"""A workflow file becomes a workflow, or one error that lists every mistake with its line and remedy."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from flowgauge.define.workflow import Loaded, load_workflow, parse_workflow, parse_workflow_text
from flowgauge.errors import BadFile
from flowgauge.nodes.codec import read_workflow, workflow_to_value, write_workflow

GOOD = dedent(
    """\
    name: ticket-triage
    description: Classify a ticket and draft an answer.
    inputs:
      - {name: ticket, type: string, required: true, description: The customer's text}
      - {name: tone, type: string, default: friendly}
    config: {provider: mock, model: default, timeout_s: 60, budget_usd: 0.05}
    nodes:
      - id: classify
        type: ai
        system: Answer with one word.
        prompt: "billing, technical or general? {{ inputs.ticket }}"
        retry: {max: 2}
      - id: answer
        type: ai
        needs: [classify]
        when: "nodes.classify.text.strip().lower() == 'billing'"
        prompt: "Write a {{ inputs.tone }} answer to {{ inputs.ticket }}"
      - id: shorten
        type: python
        needs: [answer]
        code: |
          def run(answer: str) -> dict:
              return {"text": answer[:400]}
        with: {answer: "{{ nodes.answer.text }}"}
    output: "{{ nodes.shorten.text }}"
    """
)


def problems(text: str, folder: Path | None = None) -> list[str]:
    with pytest.raises(BadFile) as caught:
        parse(text, folder)
    return str(caught.value).splitlines()


def parse(text: str, folder: Path | None = None) -> Loaded:
    if folder is None:
        return parse_workflow_text(dedent(text), "w.yaml")
    file = folder / "w.yaml"
    file.write_text(dedent(text))
    return load_workflow(file)


def nodes(text: str, head: str = "name: w\ninputs: [{name: q}]\nnodes:\n") -> str:
    return head + dedent(text)


def test_the_example_of_the_docs_is_a_workflow() -> None:
    loaded = parse(GOOD)
    assert [node.id for node in loaded.workflow.nodes] == ["classify", "answer", "shorten"]
    assert loaded.warnings == ()
    assert read_workflow(write_workflow(loaded.workflow)) == loaded.workflow


def test_json_gives_the_same_workflow() -> None:
    value = yaml.safe_load(GOOD)
    assert parse_workflow_text(json.dumps(value, indent="\t")).workflow == parse(GOOD).workflow
    assert parse_workflow(value).workflow == parse(GOOD).workflow


def test_a_workflow_given_as_values_is_checked_again_and_stays_the_same() -> None:
    workflow = parse(GOOD).workflow
    assert parse_workflow(workflow_to_value(workflow)).workflow == workflow


def test_three_mistakes_are_one_error_with_three_lines() -> None:
    text = (
        GOOD.replace("system:", "sytem:").replace("needs: [classify]", "needs: [clasify]").replace("{{ inputs.tone }}", "{{ inputs.tune }}")
    )
    told = problems(text)
    assert told == [
        "w.yaml:10: nodes[0].sytem: Unknown key 'sytem'. Did you mean 'system'?",
        "w.yaml:15: nodes[1].needs[0]: There is no node 'clasify'. Did you mean 'classify'?",
        "w.yaml:16: nodes[1].when: nodes.classify.text names a node that this one does not wait for. Add `needs: [classify]`.",
        "w.yaml:17: nodes[1].prompt: inputs.tune names an input that is not declared. Did you mean 'tone'? Declare it under `inputs:`.",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "- {id: a, type: ai, prompt: x, needs: [b]}\n- {id: b, type: ai, prompt: x, needs: [a]}",
            "w.yaml:4: nodes[0]: Nodes form a cycle: a → b → a. Remove one 'needs' entry.",
            id="a cycle",
        ),
        pytest.param("- {id: a, type: ai, prompt: x, needs: [a]}", "Nodes form a cycle: a → a.", id="a node that needs itself"),
        pytest.param(
            "- {id: a, type: ai, prompt: x}\n- {id: b, type: ai, prompt: '{{ nodes.a.text }}'}",
            "w.yaml:5: nodes[1].prompt: nodes.a.text names a node that this one does not wait for. Add `needs: [a]`.",
            id="a missing needs",
        ),
        pytest.param(
            "- {id: a, type: ai, prompt: x}\n- {id: b, type: ai, needs: [a], prompt: '{{ nodes.a.txt }}'}",
            "nodes.a.txt: the output of that node has no 'txt'. It has text, json, code, finish, turns.",
            id="an unknown output",
        ),
        pytest.param("- {id: a, type: ai, prompt: '{{ nodes.zz.text }}'}", "names a node that does not exist", id="an unknown node"),
        pytest.param("- {id: a, type: ai, prompt: '{{ nodes.a.text }}'}", "names the node's own output", id="its own output"),
        pytest.param("- {id: a, type: ai, prompt: '{{ config.modle }}'}", "Did you mean 'model'?", id="an unknown config key"),
        pytest.param("- {id: a, type: ai, prompt: '{{ inputs.q.x }}'}", "which is a string", id="inside a string input"),
        pytest.param("- {id: a, type: ai, prompt: '{{ item }}'}", "Unknown name 'item'", id="item outside of map"),
        pytest.param("- {id: a, type: ai, prompt: '{{ inputs.q '}", "never closes", id="a template that is not closed"),
        pytest.param("- {id: a, type: ai, prompt: x, when: 'open(1)'}", "Calling 'open' is not allowed", id="a condition with a call"),
        pytest.param(
            "- {id: a, type: ai, prompt: x}\n- {id: a, type: ai, prompt: x}", "is taken by the node on line 4", id="an id given twice"
        ),
        pytest.param(
            "- {id: a, type: nope}\n- {id: a, type: ai, prompt: x}",
            "is taken by the node on line 4",
            id="an id given twice, once to no type",
        ),
        pytest.param(
            "- {id: a, type: nope}\n- {id: a, type: nope}", "is taken by the node on line 4", id="an id given twice, to no type at all"
        ),
        pytest.param(
            "- {id: a, type: zzzz}",
            "There is no node type 'zzzz'. Known are ai, python, call, http, command, workflow, map, branch, operation.",
            id="a type that is like none",
        ),
        pytest.param(
            "- {id: a, type: pyhton, prompt: x}",
            "w.yaml:4: nodes[0].type: There is no node type 'pyhton'. Did you mean 'python'?",
            id="an unknown type",
        ),
        pytest.param("- {id: a}", "The node has no type. Add `type:`", id="no type"),
        pytest.param("- {type: ai, prompt: x}", "nodes[0].id: 'id' is missing.", id="no id"),
        pytest.param("- {id: 1a, type: ai, prompt: x}", "'1a' is not allowed here.", id="an id that is no name"),
        pytest.param("- 3", "A node must be a mapping.", id="a node that is a number"),
        pytest.param("- {id: a, type: ai, prompt: x, model: m}", "Put it under `config:`, as `config: {model: …}`.", id="config on a node"),
        pytest.param(
            "- {id: a, type: python, code: 'def run(): pass', prompt: x}", "It belongs to nodes of type ai.", id="another type's field"
        ),
        pytest.param("- {id: a, type: ai, prompt: 3}", "Expected text, not 3. Put it in quotes.", id="a number for text"),
        pytest.param("- {id: a, type: ai, prompt: x, timeout_s: 0}", "0 is out of range. It must be more than 0", id="a time-out of zero"),
        pytest.param("- {id: a, type: ai, prompt: x, retry: {max: 99}}", "It must be at most 20.", id="too many retries"),
        pytest.param("- {id: a, type: ai, prompt: x, retry: {on: [time_out]}}", "Did you mean 'timeout'?", id="an unknown failure"),
        pytest.param("- {id: a, type: ai, prompt: x, config: {temperature: hot}}", "Expected a number, not 'hot'.", id="text for a number"),
        pytest.param(
            "- {id: a, type: ai, prompt: x, config: {temperature: 0.1, stream: 1}}", "Expected true or false, not 1.", id="1 is no boolean"
        ),
        pytest.param("- {id: a, type: ai}", "There is nothing to ask.", id="the kind's own check"),
        pytest.param("- {id: a, type: ai, prompt: x, needs: b}", "Expected a list, not 'b'.", id="needs that is no list"),
        pytest.param(
            "- {id: a, type: python, code: 'def run(): pass', retry: {max: 1, repair: b}}\n- {id: b, type: http, url: 'http://x'}",
            "The node 'b' is of type http and cannot repair code. Name an ai node.",
            id="a repair node that is no ai node",
        ),
        pytest.param(
            "- {id: a, type: python, code: 'def run(): pass', retry: {max: 1, repair: b}}\n"
            "- {id: b, type: ai, prompt: '{{ repair.code }}{{ repair.error }}'}\n- {id: c, type: ai, needs: [b], prompt: x}",
            "The node 'b' is on call for repairs and never runs by itself.",
            id="waiting for a repair node",
        ),
        pytest.param("- {id: a, type: ai, prompt: '{{ repair.code }}'}", "Unknown name 'repair'", id="repair outside of a repair node"),
        pytest.param(
            "- id: b\n  type: branch\n  cases: [{when: inputs.q == 'x', then: [c]}]\n  otherwise: [d]\n- {id: c, type: ai, prompt: x}",
            "There is no node 'd'.",
            id="a branch to nowhere",
        ),
        pytest.param(
            "- id: b\n  type: branch\n  cases: [{when: inputs.p == 'x', then: [c]}]\n- {id: c, type: ai, prompt: x}",
            "w.yaml:6: nodes[0].cases[0].when: inputs.p names an input that is not declared.",
            id="a branch's condition",
        ),
        pytest.param(
            "- {id: m, type: map, over: '{{ inputs.q }}', each: {type: ai, prompt: '{{ item.x }} {{ nodes.z.text }}'}}",
            "nodes[0].each.prompt: nodes.z.text names a node that does not exist.",
            id="inside a map",
        ),
        pytest.param(
            "- {id: m, type: map, over: [1], each: {type: nope}}",
            "nodes[0].each.type: There is no node type 'nope'.",
            id="the type in a map",
        ),
        pytest.param("- {id: m, type: map, over: [1], each: {type: ai, prompt: x, id: i}}", "takes no `id`", id="an id in a map"),
        pytest.param(
            "- {id: a, type: ai, prompt: x, tools: [{name: f, cod: x}]}",
            "nodes[0].tools[0].cod: Unknown key 'cod'. Did you mean 'code'?",
            id="a key of a tool",
        ),
        pytest.param(
            "- {id: a, type: ai, messages: [{role: robot, text: x}]}",
            "nodes[0].messages[0].role: 'robot' is not allowed here. It must be one of system, user, assistant.",
            id="a role that does not exist",
        ),
        pytest.param("- {id: f, type: workflow, workflow: ./x.yaml}", "came from no file", id="a path without a folder"),
    ],
)
def test_a_mistake_is_told_with_its_remedy(text: str, expected: str) -> None:
    told = problems(nodes(text))
    assert any(expected in line for line in told), told


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(
            "inputs: [{name: n, type: integer, default: x}]", "The default of 'n' is not of its type, integer.", id="a wrong default"
        ),
        pytest.param("inputs: [{name: n, type: integer, default: true}]", "is not of its type", id="true is no integer"),
        pytest.param("inputs: [{name: n}, {name: n}]", "The input 'n' is declared twice.", id="declared twice"),
        pytest.param("inputs: [{name: n, type: strng}]", "Did you mean 'string'?", id="an unknown input type"),
        pytest.param("inputs: {n: 1}", "Expected a list", id="inputs that are no list"),
        pytest.param("config: {modle: x}", "Did you mean 'model'?", id="an unknown config key"),
        pytest.param("config: {temperature: 3}", "It must be at most 2", id="a temperature too high"),
        pytest.param("model: x", "Put it under `config:`", id="config at the top"),
        pytest.param("output: '{{ nodes.b.text }}'", "names a node that does not exist", id="an output of nothing"),
        pytest.param("name: w", "was given on line 1 already", id="a key given twice"),
    ],
)
def test_a_mistake_at_the_top(head: str, expected: str) -> None:
    told = problems(f"name: w\n{head}\nnodes: [{{id: a, type: ai, prompt: x}}]\n")
    assert any(expected in line for line in told), told


@pytest.mark.parametrize(
    ("value", "expected"), [("{}", "Expected a list of nodes."), ("[]", "There are no nodes."), ("null", "Expected a list of nodes.")]
)
def test_nodes_must_be_a_list_with_something_in_it(value: str, expected: str) -> None:
    assert expected in problems(f"name: w\nnodes: {value}\n")[0]


@pytest.mark.parametrize("text", ["3", "[1]", "text", "null", "true"])
def test_what_is_no_mapping_is_no_workflow(text: str) -> None:
    assert "A workflow must be a mapping." in problems(text)[0]


def test_code_that_does_not_compile_is_told_with_its_own_line() -> None:
    text = nodes("- id: a\n  type: python\n  code: |\n    import os\n\n    def run(:\n        pass\n")
    assert problems(text) == ["w.yaml:9: nodes[0].code: The python code does not compile: invalid syntax. Correct the code."]


@pytest.mark.parametrize(
    ("code", "arguments", "expected"),
    [
        ("def go(): pass", "{}", "The python code has no function 'run'."),
        ("def run(a): pass", "{}", "The function 'run' needs a."),
        ("def run(a): pass", "{a: 1, b: 2}", "The function 'run' takes no argument 'b'."),
        ("def run(*, a): pass", "{}", "The function 'run' needs a."),
    ],
)
def test_code_and_its_arguments_must_fit(code: str, arguments: str, expected: str) -> None:
    told = problems(nodes(f"- {{id: a, type: python, code: '{code}', with: {arguments}}}"))
    assert len(told) == 1
    assert expected in told[0]


@pytest.mark.parametrize(
    "code",
    [
        "def run(a, **rest): pass",
        "async def run(a, b=1): pass",
        "from os import getcwd as run",
        "run = print",
        "try:\n  def run(a): 0\nfinally: 0",
    ],
)
def test_code_that_fits(code: str) -> None:
    value = {"name": "w", "nodes": [{"id": "a", "type": "python", "code": code, "with": {"a": 1, "b": 2}}]}
    assert parse_workflow(value).workflow.nodes


def test_the_line_of_a_template_is_the_line_in_its_block() -> None:
    text = nodes("- id: a\n  type: ai\n  prompt: |\n    one\n    two {{ inputs.nope }}\n    three\n")
    assert problems(text)[0].startswith("w.yaml:8: nodes[0].prompt: inputs.nope")


def test_a_file_of_code_is_read_into_the_workflow(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("def run(): return 1\n")
    loaded = parse(nodes("- {id: a, type: python, file: code.py}"), tmp_path)
    assert workflow_to_value(loaded.workflow)["nodes"][0] == {"id": "a", "type": "python", "code": "def run(): return 1\n"}


def test_a_file_of_code_that_is_missing_or_broken_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("x = 1\ndef run(:\n")
    told = problems(nodes("- {id: a, type: python, file: gone.py}\n- {id: b, type: python, file: bad.py}"), tmp_path)
    assert len(told) == 2
    assert "nodes[0].file: gone.py: There is no such file." in told[0]
    assert "nodes[1].file: bad.py:2: The python code does not compile" in told[1]


def test_a_tool_s_file_and_workflow_are_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text("def add(a: int, b: int): return a + b\n")
    (tmp_path / "other.yaml").write_text("name: other\nnodes: [{id: a, type: ai, prompt: x}]\n")
    text = "- {id: a, type: ai, prompt: x, tools: [{name: add, file: tool.py}, {name: ask, workflow: ./other.yaml}]}"
    tools = workflow_to_value(parse(nodes(text), tmp_path).workflow)["nodes"][0]["tools"]
    assert tools[0]["code"].startswith("def add")
    assert tools[1]["definition"]["name"] == "other"


OTHER = (
    "name: other\ninputs: [{name: x, required: true}]\nnodes: [{id: a, type: ai, prompt: '{{ inputs.x }}'}]\noutput: '{{ nodes.a.text }}'\n"
)


def test_a_workflow_by_path_is_kept_inside_the_node(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(OTHER)
    loaded = parse(nodes("- {id: s, type: workflow, workflow: other.yaml, with: {x: '{{ inputs.q }}'}}"), tmp_path)
    (tmp_path / "other.yaml").unlink()
    again = parse_workflow(workflow_to_value(loaded.workflow))
    assert again.workflow == loaded.workflow
    assert workflow_to_value(loaded.workflow)["nodes"][0]["definition"]["nodes"][0]["prompt"] == "{{ inputs.x }}"


@pytest.mark.parametrize(
    ("other", "arguments", "expected"),
    [
        pytest.param(OTHER, "{}", "The other workflow needs x.", id="a missing input"),
        pytest.param(OTHER, "{x: 1, y: 2}", "The other workflow has no input 'y'.", id="an unknown input"),
        pytest.param(
            "name: o\nnodes: [{id: a, type: aj}]", "{}", "other.yaml:2: nodes[0].type: There is no node type 'aj'.", id="a mistake in it"
        ),
        pytest.param(
            "name: o\nnodes: [{id: a, type: workflow, workflow: ./w.yaml}]",
            "{}",
            "Workflows contain each other: w.yaml → other.yaml → w.yaml.",
            id="each contains the other",
        ),
    ],
)
def test_mistakes_with_another_file(tmp_path: Path, other: str, arguments: str, expected: str) -> None:
    (tmp_path / "other.yaml").write_text(other)
    told = problems(nodes(f"- {{id: s, type: workflow, workflow: ./other.yaml, with: {arguments}}}"), tmp_path)
    assert any(expected in line for line in told), told


def test_a_name_is_not_taken_for_a_path() -> None:
    assert parse(nodes("- {id: s, type: workflow, workflow: team/triage}")).workflow.nodes


def test_a_repair_node_sees_the_failing_code_and_what_its_node_sees() -> None:
    text = """
    - {id: draft, type: ai, prompt: "{{ inputs.q }}"}
    - {id: run, type: python, needs: [draft], code_from: "{{ nodes.draft.code }}", retry: {max: 2, repair: fix}}
    - {id: fix, type: ai, prompt: "{{ repair.code }} {{ repair.error }} {{ nodes.draft.text }}"}
    """
    assert parse(nodes(text)).warnings == ()


def test_what_is_odd_is_a_warning() -> None:
    text = """
    name: w
    inputs: [{name: n, required: true, default: x}, {name: unused}]
    config: {model: gpt-4o}
    nodes:
      - {id: a, type: ai, prompt: "{{ inputs.n }}"}
      - {id: b, type: ai, needs: [a], prompt: "{{ nodes.a.json }}"}
    """
    told = [str(warning) for warning in parse(text).warnings]
    assert [line.split(":")[0] for line in told] == ["3", "7", "3", "4"]
    assert "required and has a default" in told[0]
    assert "nodes.a.json is null" in told[1]
    assert "No template uses unused." in told[2]
    assert "has no provider" in told[3]


def test_a_long_chain_of_nodes_is_no_deep_stack() -> None:
    chain = [{"id": f"n{number}", "type": "ai", "prompt": "x", "needs": [f"n{number - 1}"] if number else []} for number in range(3000)]
    assert len(parse_workflow({"name": "w", "nodes": chain}).workflow.nodes) == 3000


def test_a_very_long_list_of_problems_ends_somewhere() -> None:
    bad = [{"id": f"n{number}", "type": "ai", "promt": "x", "needs": [f"m{number}"]} for number in range(5000)]
    with pytest.raises(BadFile) as caught:
        parse_workflow({"name": "w", "nodes": bad})
    assert len(caught.value.problems) == 201
    assert "there may be more" in str(caught.value)


WORDS = [
    "id",
    "type",
    "ai",
    "nodes",
    "needs",
    "{{",
    "}}",
    ":",
    "-",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "|",
    "\n",
    "\n  ",
    "null",
    "3",
    "x",
    "&a",
    "*a",
    "<<",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
def test_random_words_are_a_workflow_or_a_bad_file(text: str) -> None:
    _is_workflow_or_bad_file(text)


@settings(deadline=None)
@given(st.data())
def test_a_good_file_with_random_changes_is_a_workflow_or_a_bad_file(data: st.DataObject) -> None:
    text = GOOD
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.sampled_from([*WORDS, "", " ", "\t", "é", "\0"])) + text[end:]
    _is_workflow_or_bad_file(text)


def _places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, entry in inner for place in _places(entry, (*way, key)))]


STRAY: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 3, -1.5, "", "x", "{{ inputs.x }}", "{{", [], {}, ["a"], {"a": 1}, [[]], {"type": "ai"}, [{"id": []}]]
)


@settings(deadline=None)
@given(st.data())
def test_a_good_value_with_a_stray_part_is_a_workflow_or_a_bad_file(data: st.DataObject) -> None:
    value = yaml.safe_load(GOOD)
    value["nodes"] += [
        {
            "id": "m",
            "type": "map",
            "over": "{{ nodes.shorten.text }}",
            "needs": ["shorten"],
            "each": {"type": "ai", "prompt": "{{ item }}"},
        },
        {"id": "b", "type": "branch", "cases": [{"when": "inputs.tone == 'x'", "then": ["h"]}], "otherwise": ["m"]},
        {"id": "h", "type": "http", "url": "https://x", "headers": {"a": "b"}, "retry": {"max": 1, "on": ["timeout"]}},
        {"id": "s", "type": "workflow", "workflow": "o", "definition": yaml.safe_load(OTHER), "with": {"x": "y"}},
        {"id": "t", "type": "ai", "prompt": "x", "tools": [{"name": "f", "code": "def f(a): pass"}], "schema": {"type": "object"}},
    ]
    way = data.draw(st.sampled_from(_places(value)[1:]))
    owner = value
    for key in way[:-1]:
        owner = owner[key]
    owner[way[-1]] = data.draw(STRAY)
    _is_workflow_or_bad_file(json.dumps(value))


def _is_workflow_or_bad_file(text: str) -> None:
    try:
        loaded = parse_workflow_text(text)
    except BadFile as error:
        assert error.problems
        assert all(problem.message for problem in error.problems)
        return
    assert read_workflow(write_workflow(loaded.workflow)) == loaded.workflow


def test_the_types_of_nodes_are_listed_once() -> None:
    with pytest.raises(BadFile) as caught:
        parse_workflow({"name": "w", "nodes": [{"id": "a", "type": "zzzz"}]})
    assert str(caught.value).count("branch") == 1


def test_without_lines_a_node_with_the_same_id_is_named_by_its_place() -> None:
    node = {"id": "a", "type": "ai", "prompt": "x"}
    with pytest.raises(BadFile, match=r"nodes\[1\].id: The id 'a' is taken by nodes\[0\]"):
        parse_workflow({"name": "w", "nodes": [node, node]})
