"""Overrides are checked like a file and named where they are at fault; a diff says what they changed."""

from __future__ import annotations

from typing import Any

import pytest

from flowgauge.define.diff import diff_workflows, render_diff
from flowgauge.define.overrides import apply_overrides, override_workflow, parse_config
from flowgauge.define.workflow import parse_workflow
from flowgauge.errors import BadFile
from flowgauge.model.workflow import Config, Workflow

VALUE: dict[str, Any] = {
    "name": "w",
    "inputs": [{"name": "q"}],
    "config": {"provider": "mock", "model": "fast"},
    "nodes": [
        {"id": "a", "type": "ai", "prompt": "One\n{{ inputs.q }}\n", "config": {"seed": 1}},
        {"id": "b", "type": "ai", "prompt": "x", "needs": ["a"]},
    ],
    "output": "{{ nodes.b.text }}",
}


def workflow(**changes: Any) -> Workflow:
    return parse_workflow({**VALUE, **changes}).workflow


def test_config_and_nodes_are_laid_over_the_workflow() -> None:
    new = override_workflow(workflow(), {"config": {"model": "slow"}, "nodes": {"a": {"config": {"temperature": 1}, "prompt": "Hi"}}})
    assert (new.config.provider, new.config.model) == ("mock", "slow")
    assert (new.nodes[0].config.seed, new.nodes[0].config.temperature) == (1, 1.0)
    assert new.nodes[1] == workflow().nodes[1]


@pytest.mark.parametrize(
    ("config", "over", "left"),
    [
        pytest.param(
            {"provider": "mock", "model": "fast"},
            {"model": "openai/gpt-4o-mini"},
            (None, "openai/gpt-4o-mini", None),
            id="another provider",
        ),
        pytest.param(
            {"provider": "anthropic", "api_key_env": "OURS"},
            {"model": "openai/gpt-4o-mini"},
            (None, "openai/gpt-4o-mini", None),
            id="whose key it is not sent",
        ),
        pytest.param(
            {"provider": "anthropic", "api_key_env": "OURS"},
            {"model": "openai/gpt-4o-mini", "api_key_env": "THEIRS"},
            (None, "openai/gpt-4o-mini", "THEIRS"),
            id="with a key of its own",
        ),
        pytest.param(
            {"provider": "openai", "api_key_env": "OURS"}, {"model": "openai/o4"}, ("openai", "openai/o4", "OURS"), id="the same provider"
        ),
        pytest.param(
            {"provider": "openrouter", "api_key_env": "OURS"},
            {"model": "openai/gpt-4o-mini"},
            ("openrouter", "openai/gpt-4o-mini", "OURS"),
            id="a provider whose models have such names",
        ),
        pytest.param(
            {"provider": "openai", "base_url": "http://localhost:1/v1"},
            {"model": "meta/llama"},
            ("openai", "meta/llama", None),
            id="a server of one's own",
        ),
        pytest.param(
            {"provider": "mock"}, {"provider": "openrouter", "model": "openai/o4"}, ("openrouter", "openai/o4", None), id="both are given"
        ),
        pytest.param({"provider": "mock", "model": "fast"}, {"model": "slow"}, ("mock", "slow", None), id="a name alone"),
    ],
)
def test_a_model_with_its_provider_takes_the_place_of_a_provider_that_cannot_have_it(
    config: dict[str, Any], over: dict[str, Any], left: tuple[str | None, ...]
) -> None:
    new = override_workflow(workflow(config=config), {"config": over}).config
    played = Config(**over).over(Config(**config))
    assert [(each.provider, each.model, each.api_key_env) for each in (new, played)] == [left, left]


def test_that_holds_for_the_config_of_a_node_too() -> None:
    node = {"id": "a", "type": "ai", "prompt": "x", "config": {"provider": "mock", "model": "fast"}}
    new = override_workflow(workflow(nodes=[node], output=None), {"nodes": {"a": {"config": {"model": "openai/o4"}}}})
    assert (new.nodes[0].config.provider, new.nodes[0].config.model) == (None, "openai/o4")


def test_the_value_itself_stays_as_it_was() -> None:
    before = repr(VALUE)
    apply_overrides(VALUE, {"config": {"model": "x"}, "nodes": {"a": {"config": {"seed": 2}}}})
    assert repr(VALUE) == before


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"config": {"temprature": 1}}, "--config: config.temprature: Unknown key 'temprature'. Did you mean 'temperature'?"),
        ({"config": {"temperature": "x"}}, "--config: config.temperature: Expected a number, not 'x'."),
        ({"config": 3}, "--config: config: Expected a mapping"),
        ({"nodes": {"c": {}}}, "--config: nodes.c: There is no node 'c'."),
        ({"nodes": {"a": 3}}, "--config: nodes.a: Expected a mapping"),
        ({"nodes": {"a": {"type": "http"}}}, "--config: nodes.a.type: `type` cannot be overridden."),
        ({"nodes": {"b": {"prompt": "{{ inputs.x }}"}}}, "--config: nodes.b.prompt: inputs.x names an input that is not declared."),
        ({"node": {"b": {}}}, "--config: node: There is no such override. Did you mean 'nodes'?"),
    ],
)
def test_an_override_at_fault_is_named(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(BadFile) as caught:
        override_workflow(workflow(), overrides, "--config")
    assert message in str(caught.value)


def test_config_from_a_command_line_is_typed_by_its_key() -> None:
    given = ["model=4", "temperature=0.5", "stream=true", "extra.top_k=3", "extra.user=me", "on_node_failure=continue", "max_tokens=7"]
    assert parse_config(given) == {
        "model": "4",
        "temperature": 0.5,
        "stream": True,
        "extra": {"top_k": 3, "user": "me"},
        "on_node_failure": "continue",
        "max_tokens": 7,
    }


def test_config_that_cannot_be_read_is_listed() -> None:
    with pytest.raises(BadFile) as caught:
        parse_config(["modle=x", "seed", "model.x=1"])
    assert len(caught.value.problems) == 3
    assert "Did you mean 'model'?" in str(caught.value)


def test_the_same_workflow_has_no_difference() -> None:
    assert diff_workflows(workflow(), workflow()).is_empty
    assert render_diff(diff_workflows(workflow(), workflow())) == "No difference."


def test_a_diff_lists_nodes_inputs_config_and_output() -> None:
    new = workflow(
        inputs=[{"name": "q", "description": "The question"}, {"name": "r"}],
        config={"provider": "mock", "model": "slow"},
        nodes=[
            {"id": "a", "type": "ai", "prompt": "Two\n{{ inputs.q }}\n", "config": {"seed": 2}},
            {"id": "c", "type": "ai", "prompt": "x", "needs": ["a"]},
        ],
        output="{{ nodes.c.text }}",
    )
    diff = diff_workflows(workflow(), new)
    assert (diff.nodes_added, diff.nodes_removed) == (("c",), ("b",))
    assert (diff.inputs_added, diff.inputs_removed) == (("r",), ())
    assert [(change.field, change.before, change.after) for change in diff.nodes_changed[0].fields] == [
        ("config.seed", 1, 2),
        ("prompt", "One\n{{ inputs.q }}\n", "Two\n{{ inputs.q }}\n"),
    ]
    assert render_diff(diff).splitlines() == [
        '~ output: "{{ nodes.b.text }}" → "{{ nodes.c.text }}"',
        '~ config.model: "fast" → "slow"',
        "+ input r",
        "~ input q",
        '  + description: "The question"',
        "+ node c",
        "- node b",
        "~ node a",
        "  ~ config.seed: 1 → 2",
        "  ~ prompt:",
        "      @@ -1,2 +1,2 @@",
        "      -One",
        "      +Two",
        "       {{ inputs.q }}",
    ]


def test_another_order_is_a_difference() -> None:
    nodes = [{"id": "x", "type": "ai", "prompt": "x"}, {"id": "y", "type": "ai", "prompt": "x"}]
    diff = diff_workflows(workflow(nodes=nodes, output=None), workflow(nodes=nodes[::-1], output=None))
    assert diff.nodes_moved
    assert "another order" in render_diff(diff)
