"""AgentLoom workflows become workflows; what cannot be carried over is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from flowgauge.define.workflow import load_workflow, parse_workflow_text
from flowgauge.errors import BadFile
from flowgauge.lang.values import render_value
from flowgauge.nodes.codec import workflow_to_value

FILES = Path(__file__).parent / "agentloom"


def value_of(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(json.dumps(workflow_to_value(load_workflow(FILES / name).workflow)))
    return value


def node(value: dict[str, Any], node_id: str) -> dict[str, Any]:
    return next(item for item in value["nodes"] if item["id"] == node_id)


def test_config_and_state_become_config_and_inputs() -> None:
    value = value_of("router.yaml")
    assert value["description"] == "Sorts a message and answers it. (version 2.1)"
    assert value["config"] == {
        "provider": "mock",
        "model": "default",
        "budget_usd": 0.05,
        "timeout_s": 30.0,
        "max_concurrent_nodes": 4,
        "max_retries": 3,
        "on_node_failure": "continue",
    }
    assert [(item["name"], item.get("type", "string"), item["default"]) for item in value["inputs"]] == [
        ("message", "string", "My invoice is wrong"),
        ("people", "array", [{"name": "Ada"}, {"name": "Bob"}]),
        ("tries", "integer", 2),
    ]


def test_prompts_name_inputs_and_nodes() -> None:
    classify = node(value_of("router.yaml"), "classify")
    assert classify["prompt"] == "For {{ inputs.people[0].name }}: {{ inputs.message }} ({unknown})"
    assert classify["system"] == 'One word, please. Answer as {"label"}.'
    assert classify["config"] == {"temperature": 0.1}
    assert classify["retry"] == {"max": 2, "backoff_s": 1.0, "max_backoff_s": 10.0}


def test_a_router_becomes_a_branch() -> None:
    route = node(value_of("router.yaml"), "route")
    assert route["type"] == "branch"
    assert route["otherwise"] == ["general"]
    assert route["cases"] == [
        {"when": "nodes.classify.text.strip().lower() == 'billing' and inputs.tries > 1", "then": ["billing"]},
        {"when": "'tech' in nodes.classify.text", "then": ["technical"]},
    ]


def test_a_key_that_several_branches_write_is_read_from_the_one_that_ran() -> None:
    prompt = node(value_of("router.yaml"), "sign")["prompt"]
    scope = {"nodes": {"billing": None, "technical": {"text": "tech answer"}, "general": None}}
    assert render_value(prompt, scope) == "Sign this: tech answer"


def test_the_output_is_what_the_steps_wrote() -> None:
    assert list(value_of("router.yaml")["output"]) == ["label", "reply", "signed"]


def test_tools_become_nodes() -> None:
    value = value_of("tools.yaml")
    fetch, say, read, save = (node(value, name) for name in ("fetch", "say", "read", "save"))
    assert (fetch["type"], fetch["method"], fetch["url"], fetch["timeout_s"]) == ("http", "POST", "{{ inputs.url }}", 7.0)
    assert fetch["headers"] == {"X-Who": "{{ inputs.greeting }}"}
    assert fetch["body"] == '{"a": {"b": 1}}'
    assert say["argv"] == ["/bin/sh", "-c", 'echo "${1}" there', "sh", "{{ inputs.greeting }}"]
    assert say["cwd"] == "/data"
    assert (read["type"], read["allow"]) == ("python", {"read": ["/data/in"]})
    assert save["allow"] == {"write": ["/data/out"]}
    assert save["with"]["content"] == "{{ nodes.fetch.status }} {{ nodes.say.stdout }} {{ nodes.read.value }}"


def test_the_file_tools_do_what_they_say(tmp_path: Path) -> None:
    value = value_of("tools.yaml")
    target = tmp_path / "new" / "file.txt"
    for name, arguments, expected in (
        ("save", {"path": str(target), "content": "é!"}, {"written": 2, "path": str(target)}),
        ("read", {"path": str(target)}, "é!"),
    ):
        scope: dict[str, Any] = {}
        exec(node(value, name)["code"], scope)
        assert scope["run"](**arguments) == expected


def test_sub_workflows_are_kept_inside() -> None:
    value = value_of("nested.yaml")
    inner, other, join = (node(value, name) for name in ("inner", "other", "join"))
    assert inner["definition"]["name"] == "inner-flow"
    assert inner["with"] == {"topic": "{{ inputs.topic }}", "style": "{{ inputs.style }}"}
    assert other["definition"]["name"] == "child"
    assert other["with"] == {"subject": "{{ inputs.topic }}"}
    assert join["prompt"] == "{{ nodes.inner.output.draft }} and {{ nodes.other.output.line }}"


def test_a_sub_workflow_in_a_file_that_shares_the_state_is_given_what_it_reads(tmp_path: Path) -> None:
    (tmp_path / "child.yaml").write_text((FILES / "child.yaml").read_text())
    (tmp_path / "w.yaml").write_text(
        "name: w\nstate: {subject: tea, other: 1}\nsteps: [{id: a, type: subworkflow, workflow_path: child.yaml, output: out}]\n"
    )
    value = workflow_to_value(load_workflow(tmp_path / "w.yaml").workflow)
    assert value["nodes"][0]["with"] == {"subject": "{{ inputs.subject }}"}


def test_what_cannot_be_carried_over_is_named_with_its_line() -> None:
    with pytest.raises(BadFile) as caught:
        load_workflow(FILES / "refused.yaml")
    told = {problem.line: problem.message for problem in caught.value.problems}
    expected = {
        3: "on_step_failure: continue",
        4: "'providers' cannot be carried over",
        5: "Redaction by key",
        6: "state.doc is written by 'ask' and 'twice'",
        8: "Steps of type 'approval_gate'",
        11: "'thinking' of a llm_call step",
        12: "state.later is written by the step 'late', which 'ask' does not wait for",
        15: "The tool 'my_tool'",
        16: "Which file is meant cannot be told",
        21: "'int(state.x) > 1' cannot be carried over",
    }
    assert set(told) == set(expected)
    assert all(words in told[line] for line, words in expected.items() if line != 12)


def one_step(step: str, state: str = "{x: 1, text: hi}", config: str = "{}") -> str:
    return f"name: w\nconfig: {config}\nstate: {state}\nsteps:\n  - {step}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            one_step(
                "{id: a, type: tool, tool_name: shell_command, tool_args: {command: rm x}}",
                config="{sandbox: {enabled: true, allowed_commands: [ls]}}",
            ),
            "not one of allowed_commands",
            id="a command outside of the sandbox",
        ),
        pytest.param(
            one_step("{id: a, type: tool, tool_name: shell, tool_args: {command: \"echo '{state.text}'\"}}"),
            "inside single quotes",
            id="a value in single quotes",
        ),
        pytest.param(
            one_step(
                "{id: a, type: tool, tool_name: http_request, tool_args: {url: 'https://evil.org'}}",
                config="{sandbox: {enabled: true, allowed_domains: [example.com]}}",
            ),
            "allowed_domains",
            id="a host outside of the sandbox",
        ),
        pytest.param(one_step("{id: a, type: llm_call, prompt: 'open { brace'}"), "The template cannot be read", id="a stray brace"),
        pytest.param(one_step("{id: a, type: llm_call, prompt: '{state.x!r}'}"), "The format of", id="a conversion"),
        pytest.param(one_step("{id: a, type: llm_call, prompt: '{state}'}"), "The state as a whole", id="the whole state"),
        pytest.param(one_step("{id: a, type: llm_call, prompt: x, attachments: [{type: pdf, source: x}]}"), "Only images", id="a document"),
        pytest.param(one_step("{id: a, type: llm_call, prompt: x, tools: [{name: t}]}"), "'tools' of a llm_call", id="tools"),
        pytest.param(
            one_step("{id: a, type: llm_call, prompt: x, depends_on: [b]}"), "steps[0].depends_on[0]: There is no node 'b'.", id="needs"
        ),
        pytest.param(one_step("{id: a, type: subworkflow}"), "names no workflow", id="no workflow"),
        pytest.param("name: w\nsteps: []\n", "There are no steps.", id="no steps"),
    ],
)
def test_one_thing_that_cannot_be_carried_over(text: str, message: str) -> None:
    with pytest.raises(BadFile) as caught:
        parse_workflow_text(text, "w.yaml")
    assert message in str(caught.value)
    assert all(problem.line for problem in caught.value.problems)


def test_pictures_and_schemas_are_carried_over() -> None:
    text = """
name: w
state: {picture: "https://example.com/a.png"}
steps:
  - id: a
    type: llm_call
    prompt: Look.
    attachments: [{type: image, source: "{state.picture}"}, {source: "https://example.com/b.png", fetch: provider}]
    response_schema: {type: json_schema, schema: {type: object, properties: {kind: {type: string}}}}
    output: seen
  - {id: b, type: llm_call, depends_on: [a], prompt: "{state.seen.kind}", response_schema: {type: json_object}}
"""
    value = workflow_to_value(parse_workflow_text(text).workflow)
    assert value["nodes"][0]["images"] == ("{{ inputs.picture }}", "https://example.com/b.png")
    assert value["nodes"][0]["schema"]["properties"] == {"kind": {"type": "string"}}
    assert value["nodes"][1]["prompt"] == "{{ nodes.a.json.kind }}"
    assert value["nodes"][1]["schema"] == {"type": "object"}


def test_a_step_of_an_earlier_layer_is_waited_for() -> None:
    text = """
name: w
steps:
  - {id: a, type: llm_call, prompt: x, output: first}
  - {id: b, type: llm_call, prompt: y}
  - {id: c, type: llm_call, depends_on: [b], prompt: "{state.first}"}
"""
    value = workflow_to_value(parse_workflow_text(text).workflow)
    assert value["nodes"][2]["needs"] == ("b", "a")


def test_a_value_before_it_is_overwritten_is_the_input() -> None:
    text = """
name: w
state: {draft: hello}
steps:
  - {id: a, type: llm_call, prompt: "{state.draft}", output: draft}
  - {id: b, type: llm_call, depends_on: [a], prompt: "{state.draft}", output: draft}
"""
    value = workflow_to_value(parse_workflow_text(text).workflow)
    assert [item["prompt"] for item in value["nodes"]] == ["{{ inputs.draft }}", "{{ nodes.a.text }}"]
    assert value["output"] == {"draft": "{{ nodes.b.text }}"}


def test_a_step_that_may_be_skipped_leaves_the_initial_value() -> None:
    text = """
name: w
state: {kind: a, note: none yet}
steps:
  - {id: r, type: router, conditions: [{expression: "state.kind == 'a'", target: extra}]}
  - {id: extra, type: llm_call, depends_on: [r], prompt: x, output: note}
  - {id: end, type: llm_call, depends_on: [r, extra], prompt: "{state.note}"}
"""
    value = workflow_to_value(parse_workflow_text(text).workflow)
    assert value["nodes"][2]["prompt"] == '{{ nodes.extra.text | default("none yet") }}'


@settings(deadline=None)
@given(st.data())
def test_a_good_file_with_a_stray_part_is_a_workflow_or_a_bad_file(data: st.DataObject) -> None:
    value = yaml.safe_load((FILES / data.draw(st.sampled_from(["router.yaml", "tools.yaml", "nested.yaml"]))).read_text())
    places = _places(value)[1:]
    way = data.draw(st.sampled_from(places))
    owner = value
    for key in way[:-1]:
        owner = owner[key]
    owner[way[-1]] = data.draw(st.sampled_from([None, True, 3, "", "x", "{", "{state.x}", "state.y", [], {}, ["a"], {"a": 1}, [None]]))
    try:
        parse_workflow_text(json.dumps(value))
    except BadFile as error:
        assert error.problems


def _places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, entry in inner for place in _places(entry, (*way, key)))]
