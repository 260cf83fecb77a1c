"""Run artifacts: the same content has the same hash, and every breach of the spec is named by its field."""

from __future__ import annotations

from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.perf.stage_rows import artifact

from flowgauge.perf.artifact import artifact_hash, run_json_schema, violations
from flowgauge.perf.model import FAILURE_TYPES, Budgets, IoEvent, LlmEntry, RunArtifact, TraceStep

SCHEMA = run_json_schema()
Plain = dict[str, Any]


def plain(**changes: Any) -> Plain:
    value: Plain = msgspec.json.decode(msgspec.json.encode(artifact()))
    return {**value, **changes}


def test_a_whole_artifact_keeps_to_the_spec() -> None:
    assert violations(artifact()) == []


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"run_id": "run_000009_bb"}, id="another run id"),
        pytest.param({"trace_id": "f" * 32}, id="another trace id"),
        pytest.param({"wall_clock_s": 9.0}, id="another wall clock"),
        pytest.param({"started_at": 5}, id="another moment"),
        pytest.param(
            {"action_trace": (TraceStep(step=1, observation={"at": 0}, action={"args": {"far": 2}, "type": "look"}, result=[1, 2]),)},
            id="a step that took another time, its keys in another order",
        ),
    ],
)
def test_what_varies_from_run_to_run_does_not_change_the_hash(changes: Plain) -> None:
    assert artifact(**changes).artifact_hash == artifact().artifact_hash


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"seed": 8}, id="another seed"),
        pytest.param({"output": "lost"}, id="another output"),
        pytest.param({"inputs": {}}, id="other inputs"),
        pytest.param({"budgets": Budgets(steps=11)}, id="other budgets"),
        pytest.param({"tool_calls": 2}, id="another count of tool calls"),
        pytest.param({"action_trace": ()}, id="no steps"),
        pytest.param({"io_audit": (IoEvent(kind="read", target="x"),)}, id="another touch of the outside"),
        pytest.param({"llm_trace": (LlmEntry(step=1, model="m", prompt="p", completion="c"),)}, id="another word of a model"),
        pytest.param({"failure_reason": "why"}, id="other words for a failure"),
    ],
)
def test_what_should_be_the_same_is_in_the_hash(changes: Plain) -> None:
    assert artifact(**changes).artifact_hash != artifact().artifact_hash


def test_a_struct_and_the_file_that_holds_it_have_the_same_hash() -> None:
    assert artifact_hash(plain()) == artifact().artifact_hash == artifact_hash(artifact())


def without(field: str) -> Plain:
    return {name: value for name, value in plain().items() if name != field}


@pytest.mark.parametrize("field", RunArtifact.__struct_fields__)
def test_every_field_is_required_and_named_where_it_is_missing(field: str) -> None:
    assert any(f"'{field}' is a required property" in line for line in violations(without(field)))


def step(**changes: Any) -> list[Plain]:
    return [{**plain()["action_trace"][0], **changes}]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        pytest.param({"seed": "seven"}, "seed", id="a seed in words"),
        pytest.param({"trace_id": "zz"}, "trace_id", id="a trace id that is none"),
        pytest.param({"agent": ""}, "agent", id="an agent without a name"),
        pytest.param({"termination_reason": "bored"}, "termination_reason", id="an end that is not in the list"),
        pytest.param({"success": False, "failure_type": "bad luck"}, "failure_type", id="a failure type that is not in the list"),
        pytest.param({"wall_clock_s": -1.0}, "wall_clock_s", id="time that runs backwards"),
        pytest.param({"budgets": {"steps": 0}}, "budgets", id="a budget of no steps"),
        pytest.param({"budgets": {"sleep": 1}}, "budgets", id="a budget for something else"),
        pytest.param({"action_trace": step(action="jump")}, "action_trace[0].action", id="an action that is a word"),
        pytest.param({"action_trace": step(action={"args": {}})}, "action_trace[0].action", id="an action without a type"),
        pytest.param({"action_trace": step(io_audit=[{"kind": "read"}])}, "action_trace[0].io_audit", id="an audit without a target"),
        pytest.param({"artifact_hash": "md5:0"}, "artifact_hash", id="another kind of hash"),
        pytest.param({"steps": 3}, "steps", id="more steps than the trace has"),
        pytest.param({"action_trace": step(step=2)}, "action_trace[0].step", id="a trace that does not begin with 1"),
        pytest.param({"failure_type": "timeout"}, "failure_type", id="a success with a failure type"),
        pytest.param({"termination_reason": "timeout"}, "termination_reason", id="a success that timed out"),
        pytest.param({"output": "changed"}, "artifact_hash", id="content that was changed after it was sealed"),
    ],
)
def test_a_violation_names_the_field(changes: Plain, where: str) -> None:
    assert any(line.startswith(where) for line in violations(plain(**changes))), violations(plain(**changes))


def test_an_episode_that_was_killed_has_no_counts_and_keeps_to_the_spec() -> None:
    killed = artifact(
        success=False, termination_reason="timeout", failure_type="timeout", steps=None, tool_calls=None, action_trace=(), output=None
    )
    assert violations(killed) == []


def test_every_end_has_a_type_of_failure_but_success() -> None:
    assert {end for end, kind in FAILURE_TYPES.items() if kind is None} == {"completed"}


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "args", "step", "kind"]), inner, max_size=2),
    max_leaves=6,
)


@given(field=st.sampled_from(RunArtifact.__struct_fields__), value=anything)
def test_what_the_quick_look_lets_pass_the_schema_lets_pass_and_what_it_does_not_is_told(field: str, value: Any) -> None:
    changed = plain(**{field: value})
    fits = jsonschema.Draft202012Validator(SCHEMA).is_valid(changed)
    contradictory = ("is not the", "does not go with", "of the content", "is not 1")
    found = violations(changed)
    assert fits or found
    if fits:
        assert all(any(words in line for words in contradictory) for line in found), found


@given(output=anything, result=anything)
def test_any_content_that_json_holds_can_be_sealed_and_checked(output: Any, result: Any) -> None:
    made = artifact(output=output, action_trace=(TraceStep(step=1, observation=None, action={"type": "x"}, result=result),))
    assert violations(made) == []
    assert violations(msgspec.json.decode(msgspec.json.encode(made))) == []
