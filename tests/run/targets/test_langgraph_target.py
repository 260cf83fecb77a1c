"""A LangGraph graph as a target, with LangGraph itself."""

from __future__ import annotations

import pytest

pytest.importorskip("langgraph")

from tests.run.targets.bench_parts import bench, once

from flowgauge.errors import UsageError
from flowgauge.model.bench import Answer
from flowgauge.run.targets.table import TargetServices, make_target

ASK = {"messages": [{"role": "user", "content": "How high is the tide?"}]}


def of(graph: str, config: dict[str, str] | None = None) -> Answer:
    return once(bench("langgraph", f"tests.run.targets.target_graphs:{graph}", ASK, config))


@pytest.mark.parametrize("graph", ["compiled", "uncompiled", "made"])
def test_a_graph_is_invoked_with_the_inputs_as_its_state(graph: str) -> None:
    answer = of(graph)
    assert answer.error is None
    assert [message["type"] for message in answer.output["messages"]] == ["human", "ai"]
    assert answer.output["messages"][1]["content"] == "High."
    assert answer.duration_ms > 0


def test_what_its_model_used_is_counted_and_priced() -> None:
    answer = of("compiled")
    assert (answer.tokens_prompt, answer.tokens_completion, answer.model) == (11, 2, "known")
    assert (answer.cost_usd, answer.cost_source) == (15.0, "computed")


def test_usage_that_only_the_messages_tell_is_counted_too() -> None:
    answer = of("quiet")
    assert (answer.tokens_prompt, answer.tokens_completion, answer.model) == (5, 1, "known")


def test_a_streaming_model_tells_when_its_first_token_came() -> None:
    answer = of("streaming")
    assert answer.first_token_ms is not None
    assert 0 < answer.first_token_ms <= answer.duration_ms


def test_the_configuration_is_handed_over_as_configurable() -> None:
    assert of("configured", {"tone": "dry"}).output["seen"] == {"tone": "dry", "thread_id": "run-0"}


def test_a_graph_that_raises_is_a_failed_answer() -> None:
    answer = of("broken")
    assert answer.error is not None
    assert (answer.status, answer.error.kind) == ("failed", "code_error")
    assert "raised ValueError: the tide is out" in answer.error.message


def test_a_state_that_json_cannot_hold_is_no_output() -> None:
    answer = of("unwritable")
    assert answer.error is not None
    assert (answer.status, answer.error.kind) == ("failed", "invalid_output")
    assert "a state that JSON cannot hold: it holds a builtin_function_or_method" in answer.error.message


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(UsageError, match="no graph"):
        make_target(bench("langgraph", "tests.run.targets.target_graphs:ASKED"), TargetServices())
