from __future__ import annotations

from typing import Any

import pytest
from tests.stage import INSTANT, StillClock, node, run

from flowgauge.providers.mock.profiles import Fault, Profile, Script, ScriptedCall, Turn

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FAST = {"max": 3, "backoff_s": 0}
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def ask(**fields: Any) -> dict[str, Any]:
    return {"inputs": [{"name": "x"}], "nodes": [node("ai", **{"id": "a", "prompt": "go", **fields})]}


def says(*texts: str) -> list[Script]:
    return [Script(match="", turns=tuple(Turn(text=text) for text in texts))]


def test_answer_has_text_finish_and_turns() -> None:
    output = run(ask(), answers=says("hello")).output["a"]
    assert output == {"text": "hello", "json": None, "code": "hello", "finish": "stop", "turns": 1}


def test_code_is_taken_out_of_its_fence() -> None:
    assert run(ask(), answers=says("Here:\n```python\nx = 1\n```\nDone.")).output["a"]["code"] == "x = 1\n"


def test_messages_system_and_images_reach_the_model() -> None:
    workflow = ask(
        system="Be brief, {{ inputs.x }}.",
        messages=[{"role": "user", "text": "first {{ inputs.x }}"}, {"role": "assistant", "text": "yes?"}],
        prompt="what is it?",
        images=["https://example.test/a.png", PIXEL],
    )
    request = run(workflow, {"x": "{{ inputs.y }}"}).stage.model.requests[0]
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "user"]
    assert request.messages[0].text == "Be brief, {{ inputs.y }}.", "what was filled in is not rendered again"
    last = request.messages[-1]
    assert [(image.url, image.data, image.media_type) for image in last.images] == [
        ("https://example.test/a.png", "", "image/png"),
        ("", "iVBORw0KGgo=", "image/png"),
    ]


def test_what_is_no_picture_fails_without_a_call() -> None:
    played = run(ask(images=["/etc/passwd"]))
    assert played.error.kind == "template"
    assert not played.stage.model.requests


def test_config_reaches_the_request_and_the_node_s_own_wins() -> None:
    workflow = {**ask(config={"temperature": 0.1, "extra": {"b": 2}}), "config": {"temperature": 0.9, "seed": 7, "extra": {"a": 1}}}
    request = run(workflow).stage.model.requests[0]
    assert (request.temperature, request.seed, request.extra) == (0.1, 7, {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        pytest.param({"model": "gpt-4o"}, "provider_rejected", id="a model without a provider"),
        pytest.param({"provider": "nobody", "model": "x"}, "provider_rejected", id="a provider that nobody knows"),
    ],
)
def test_model_that_cannot_be_called(config: dict[str, Any], kind: str) -> None:
    played = run({**ask(), "config": config})
    assert (played.error.kind, len(played.stage.journal.runs)) == (kind, 1), "such a failure is not tried again"


@pytest.mark.parametrize("text", ['{"n": 3}', '```json\n{"n": 3}\n```', 'Sure:\n```\n{"n": 3}\n```'])
def test_json_that_fits_its_schema(text: str) -> None:
    assert run(ask(schema=SCHEMA), answers=says(text)).output["a"]["json"] == {"n": 3}


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        pytest.param("I think three.", "not JSON", id="no JSON"),
        pytest.param('{"n": "three"}', "$.n: 'three' is not of type 'integer'", id="JSON of the wrong type"),
        pytest.param("{}", "'n' is a required property", id="JSON that lacks something"),
    ],
)
def test_model_is_told_what_was_wrong(bad: str, complaint: str) -> None:
    played = run(ask(schema=SCHEMA, retry=FAST), answers=says(bad, '{"n": 3}'))
    assert played.output["a"]["json"] == {"n": 3}
    first, second = played.stage.model.requests
    assert len(first.messages) == 1
    assert second.messages[1].text == bad
    assert complaint in second.messages[2].text
    assert [run.status for run in played.stage.journal.runs] == ["failed", "success"]
    assert played.play.retries == 1
    tokens = [run.tokens_completion for run in played.stage.journal.runs]
    assert all(tokens)
    assert played.play.tokens_completion == sum(tokens), "the failed attempt's tokens count"


def test_schema_that_is_never_met_fails_after_all_tries() -> None:
    played = run(ask(schema=SCHEMA, retry={"max": 2, "backoff_s": 0}), answers=says("no"))
    assert (played.error.kind, len(played.stage.journal.runs)) == ("invalid_output", 3)


def test_schema_that_refers_elsewhere_is_not_fetched() -> None:
    error = run(ask(schema={"$ref": "http://127.0.0.1:9/schema.json"}), answers=says("{}")).error
    assert error.kind == "template"
    assert "127.0.0.1:9" in error.message


def test_steps_are_kept_small() -> None:
    played = run(ask(prompt="p" * 100_000), answers=says("r" * 50_000))
    step = played.run_of("a").steps[0]
    assert len(played.output["a"]["text"]) == 50_000
    assert len(step.request["last"]["text"]) < 5_000
    assert "96000 characters" in step.request["last"]["text"]
    assert len(step.response["text"]) < 5_000


@pytest.mark.parametrize("kind", ["server_error", "rate_limited", "malformed", "disconnect"])
def test_passing_faults_of_a_provider_are_retried(kind: Any) -> None:
    clock = StillClock()
    profile = Profile(latency=INSTANT, faults=(Fault(kind=kind, first=2, retry_after_s=0.08),))
    played = run(ask(retry={"max": 2, "backoff_s": 0.02}, config={"model": "mock/p"}), profiles={"p": profile}, clock=clock)
    assert played.play.status == "success"
    assert len(played.stage.journal.runs) == 3
    first, second = clock.sleeps
    least = 0.08 if kind == "rate_limited" else 0.0
    assert max(0.01, least) <= first <= max(0.02, least)
    assert max(0.02, least) <= second <= max(0.04, least)


def test_default_is_two_further_tries_and_max_retries_sets_it() -> None:
    broken = {"config": {"model": "mock/broken"}}
    assert len(run({**ask(), **broken}, clock=StillClock()).stage.journal.runs) == 3
    none = {"config": {"model": "mock/broken", "max_retries": 0}}
    assert len(run({**ask(), **none}, clock=StillClock()).stage.journal.runs) == 1


def calls(*names: str, **arguments: Any) -> Turn:
    return Turn(tool_calls=tuple(ScriptedCall(name=name, arguments=arguments) for name in names))


WEATHER = {
    "name": "weather",
    "description": "The weather of a city.",
    "code": "def weather(city: str, days: int = 1):\n    return f'{city}: rain'",
}


def test_python_tool_is_offered_called_and_recorded() -> None:
    script = [Script(match="", turns=(calls("weather", city="Paris"), Turn(text="Take an umbrella.")))]
    played = run(ask(tools=[WEATHER]), answers=script)
    assert played.output["a"] == {"text": "Take an umbrella.", "json": None, "code": "Take an umbrella.", "finish": "stop", "turns": 2}
    first, second = played.stage.model.requests
    assert first.tools[0].parameters["required"] == ["city"]
    assert (second.messages[-1].role, second.messages[-1].text) == ("tool", "Paris: rain")
    steps = played.run_of("a").steps
    assert [(step.kind, step.name) for step in steps] == [("model", "mock/default"), ("tool", "weather"), ("model", "mock/default")]
    assert steps[1].request == {"city": "Paris"}
    assert played.play.isolation == "process"


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        pytest.param({"name": "t", "code": "def t():\n    raise ValueError('no such city')"}, "no such city", id="a tool that raises"),
        pytest.param({"name": "other", "code": "def other(): pass"}, "There is no tool t", id="a tool that is not there"),
        pytest.param({"name": "t", "code": "def t():\n    while True: pass", "timeout_s": 0.3}, "0.3", id="a tool that hangs is killed"),
    ],
)
def test_model_is_told_that_a_tool_failed(tool: dict[str, Any], told: str) -> None:
    played = run(ask(tools=[tool]), answers=[Script(match="", turns=(calls("t"), Turn(text="I see.")))])
    assert played.output["a"]["text"] == "I see."
    answer = played.stage.model.requests[1].messages[-1]
    assert answer.is_error
    assert told in answer.text
    assert told in played.run_of("a").steps[1].error


def test_tools_asked_for_together_answer_in_order() -> None:
    code = "def t(n: int):\n    import time\n    time.sleep(0.05 * (2 - n))\n    return n"
    turn = Turn(tool_calls=tuple(ScriptedCall(name="t", arguments={"n": n}) for n in range(3)))
    played = run(ask(tools=[{"name": "t", "code": code}]), answers=[Script(match="", turns=(turn, Turn(text="ok")))])
    assert [message.text for message in played.stage.model.requests[1].messages[-3:]] == ["0", "1", "2"]


def test_turn_limit() -> None:
    played = run(ask(tools=[WEATHER], max_turns=3), answers=[Script(match="", turns=(calls("weather", city="Rome"),))])
    assert played.error.kind == "turn_limit"
    assert len(played.stage.model.requests) == 3


def test_retry_goes_on_with_the_conversation_and_calls_no_tool_again() -> None:
    turns = (calls("weather", city="Oslo"), Turn(text="not json"), Turn(text='{"n": 1}'))
    played = run(ask(tools=[WEATHER], schema=SCHEMA, retry=FAST), answers=[Script(match="", turns=turns)])
    assert played.output["a"]["json"] == {"n": 1}
    used = [step.name for run in played.stage.journal.runs for step in run.steps if step.kind == "tool"]
    assert used == ["weather"]
    last = played.stage.model.requests[-1].messages
    assert [message.role for message in last] == ["user", "assistant", "tool", "assistant", "user"]


SQUARE = {
    "name": "square",
    "inputs": [{"name": "n", "type": "integer", "required": True}],
    "nodes": [{"id": "s", "type": "python", "code": "def run(n): return n * n", "with": {"n": "{{ inputs.n }}"}}],
    "output": "{{ nodes.s.value }}",
}


def test_workflow_as_a_tool() -> None:
    turns = (calls("square", n=5), calls("square", n=6), calls("square", n=5), Turn(text="done"))
    tool = {"name": "square", "workflow": "./square.yaml", "definition": SQUARE}
    played = run(ask(tools=[tool]), answers=[Script(match="", turns=turns)])
    assert played.output["a"]["text"] == "done"
    told = [message.text for message in played.stage.model.requests[-1].messages if message.role == "tool"]
    assert told == ["25", "36", "25"]
    inner = [run.node_id for run in played.stage.journal.runs if run.node_id != "a"]
    assert len(set(inner)) == 3, "each call is stored apart"
    assert all(path.startswith("a/square[") and path.endswith("]/s") for path in inner)
    assert played.stage.model.requests[0].tools[0].parameters["required"] == ["n"]


def test_workflow_tool_with_inputs_that_do_not_fit_tells_the_model() -> None:
    tool = {"name": "square", "workflow": "x", "definition": SQUARE}
    played = run(ask(tools=[tool]), answers=[Script(match="", turns=(calls("square", n="five"), Turn(text="ok")))])
    assert "Expected an integer" in played.stage.model.requests[1].messages[-1].text


def test_two_tools_of_one_name_are_refused() -> None:
    assert "Two tools" in run(ask(tools=[WEATHER, WEATHER])).error.message


def test_budget_used_up_inside_a_tool_ends_the_play_and_is_not_told_to_the_model() -> None:
    dear = {
        "name": "dear",
        "config": {"model": "mock/expensive", "budget_usd": 0.0001},
        "nodes": [node("ai", id="x", prompt="y" * 4000)],
    }
    turns = (calls("dear"), Turn(text="never mind"))
    played = run(ask(tools=[{"name": "dear", "workflow": "w", "definition": dear}]), answers=[Script(match="", turns=turns)])
    assert played.play.status == "budget_exceeded"
    assert len(played.stage.model.requests) == 1


def test_a_server_that_asks_for_a_day_has_refused() -> None:
    profile = Profile(latency=INSTANT, faults=(Fault(kind="rate_limited", first=9, retry_after_s=86400.0),))
    played = run(ask(config={"model": "mock/p"}), profiles={"p": profile}, clock=StillClock())
    assert played.error.kind == "rate_limited"
    assert played.run_of("a").attempt == 1
