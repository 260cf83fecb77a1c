"""What an episode writes down: steps, model calls, I/O, output; the same for the same seed, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.perf.stage_rows import run_all, write_scenario

from flowgauge.perf.artifact import violations
from flowgauge.perf.builtin import SCENARIO
from flowgauge.perf.model import IoEvent

TASK = """
from flowgauge.perf.recorder import InvalidAction


class Box:
    def __init__(self, seed, inputs):
        self.observation = {"boxes": inputs["boxes"]}
        self.right = seed % inputs["boxes"]
        self.tools = [self.open, self.shake]

    def open(self, number: int):
        if number < 0:
            raise InvalidAction("There is no such box.")
        return number == self.right

    def shake(self, number: int):
        raise RuntimeError("it broke")

    def validate(self, output):
        return output == self.right or f"It is in {self.right}."


def box(seed, inputs):
    return Box(seed, inputs)


def opener(run):
    for number in range(run.observation["boxes"]):
        if run.act("open", number=number):
            return number


def guesser(seed):
    return 0


def silent():
    return None


def negative(run):
    run.act("open", number=-1)


def careless(run):
    run.act("open", number="x", why="no")


def shaker(run):
    try:
        run.act("shake", number=1)
    except RuntimeError:
        return 1


def keeps(run):
    seen = {"n": 1}
    run.step({"type": "look"}, observation=seen, result=seen)
    seen["n"] = 2
    return 0


def unsure(output, inputs, seed):
    return None


def wants_one(output, inputs, seed):
    return output == 1
"""
BOX = 'task: box@3, environment: "agents.py:box", inputs: {boxes: 4}'


def one(folder: Path, line: str, agents: str = TASK, **settings: object) -> dict[str, object]:
    (found,) = run_all(write_scenario(folder, agents, [line], **settings), 1, workers=1)
    assert violations(found) == []
    return {
        "end": found.termination_reason,
        "type": found.failure_type,
        "reason": found.failure_reason,
        "output": found.output,
        "artifact": found,
    }


@pytest.mark.parametrize(
    ("line", "end", "failure_type", "words"),
    [
        pytest.param(f'agent: "agents.py:opener", {BOX}, seed: 2', "completed", None, "", id="a right answer"),
        pytest.param(
            f'agent: "agents.py:guesser", {BOX}, seed: 2', "wrong_answer", "logic_failure", "It is in 2.", id="a wrong one, with why"
        ),
        pytest.param(f'agent: "agents.py:silent", {BOX}', "no_answer", "non_termination", "without an answer", id="none at all"),
        pytest.param(
            f'agent: "agents.py:negative", {BOX}', "invalid_action", "invalid_action", "no such box", id="an action refused by its tool"
        ),
        pytest.param(
            f'agent: "agents.py:careless", {BOX}', "invalid_action", "invalid_action", "cannot be called so", id="arguments that do not fit"
        ),
        pytest.param(f'agent: "agents.py:shaker", {BOX}, seed: 1', "completed", None, "", id="a tool that failed and was caught"),
        pytest.param('agent: "agents.py:guesser", task: t@1, expect: 0', "completed", None, "", id="what the row expects"),
        pytest.param(
            'agent: "agents.py:guesser", task: t@1, expect: 5',
            "wrong_answer",
            "logic_failure",
            "Expected 5, got 0",
            id="not what it expects",
        ),
        pytest.param('agent: "agents.py:silent", task: t@1', "completed", None, "", id="nothing, where nothing is asked"),
        pytest.param(
            'agent: "agents.py:guesser", task: t@1, validator: "agents.py:wants_one"', "wrong_answer", "logic_failure", "says no", id="no"
        ),
        pytest.param(
            'agent: "agents.py:guesser", task: t@1, validator: "agents.py:unsure"', "error", "logic_failure", "must answer", id="unsure"
        ),
    ],
)
def test_how_an_episode_ends(tmp_path: Path, line: str, end: str, failure_type: str | None, words: str) -> None:
    found = one(tmp_path, line)
    assert (found["end"], found["type"]) == (end, failure_type), found["reason"]
    assert words in str(found["reason"])


def test_every_action_is_a_step_with_what_was_seen_done_and_answered(tmp_path: Path) -> None:
    (found,) = run_all(write_scenario(tmp_path, TASK, [f'agent: "agents.py:opener", {BOX}, seed: 2']), 1, workers=1)
    assert [(step.observation, step.action, step.result) for step in found.action_trace] == [
        ({"boxes": 4}, {"type": "open", "args": {"number": 0}}, False),
        (False, {"type": "open", "args": {"number": 1}}, False),
        (False, {"type": "open", "args": {"number": 2}}, True),
    ]
    assert (found.task_version, found.steps, found.tool_calls, found.output) == ("3", 3, 3, 2)


def test_a_tool_that_raises_leaves_its_words_in_the_trace(tmp_path: Path) -> None:
    (found,) = run_all(write_scenario(tmp_path, TASK, [f'agent: "agents.py:shaker", {BOX}, seed: 1']), 1, workers=1)
    assert found.action_trace[0].result == {"error": "RuntimeError: it broke"}


def test_a_step_is_kept_as_it_was(tmp_path: Path) -> None:
    (found,) = run_all(write_scenario(tmp_path, TASK, ['agent: "agents.py:keeps", task: t@1']), 1, workers=1)
    assert (found.action_trace[0].observation, found.action_trace[0].result) == ({"n": 1}, {"n": 1})


def test_strict_spec_fails_an_episode_and_names_the_field_that_broke_it(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "def agent(run):\n    run.step('jump')\n    return 1\n", ['agent: "agents.py:agent", task: t@1'])
    (lenient,) = run_all(path, 1, workers=1, strict=False)
    (strict,) = run_all(path, 1, workers=1)
    assert lenient.success
    assert (strict.success, strict.termination_reason) == (False, "spec_violation")
    assert strict.failure_reason.startswith("strict-spec: action_trace[0].action: 'jump'")


def test_an_artifact_beyond_its_limit_fails_its_episode_and_is_not_kept(tmp_path: Path) -> None:
    agents = "def agent(run):\n    run.step({'type': 'x'}, result='y' * 50_000)\n    return 1\n"
    (found,) = run_all(write_scenario(tmp_path, agents, ['agent: "agents.py:agent", task: t@1'], artifact_kb=8), 1, workers=1)
    assert (found.termination_reason, found.action_trace, found.steps) == ("artifact_limit", (), None)
    assert violations(found) == []


IO = """
import socket, subprocess, tempfile
from pathlib import Path


def touches(run):
    Path("own.txt").write_text("x")
    Path("own.txt").read_text()
    run.step({"type": "own"})
    Path(run.inputs["data"]).read_text()
    Path(run.inputs["out"]).write_text("y")
    run.step({"type": "other"})
    with tempfile.NamedTemporaryFile("w"):
        pass
    import colorsys
    Path("own.txt").unlink()
    return 1
"""


def test_the_audit_tells_what_was_touched_by_the_same_names_on_every_worker(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("z")
    inputs = f"inputs: {{data: {tmp_path}/data.txt, out: {tmp_path}/out.txt}}"
    line = f'agent: "agents.py:touches", task: t@1, {inputs}, allow: {{write: [out.txt]}}'
    found = run_all(write_scenario(tmp_path, IO, [line]), 4)
    assert [one.failure_reason for one in found] == [""] * 4
    first, second = found[0].action_trace
    assert first.io_audit == (IoEvent(kind="write", target="scratch/own.txt"), IoEvent(kind="read", target="scratch/own.txt"))
    assert second.io_audit == (IoEvent(kind="read", target="data.txt"), IoEvent(kind="write", target="out.txt"))
    assert found[0].io_audit == (
        IoEvent(kind="write", target="scratch/tmp*"),
        IoEvent(kind="remove", target="scratch/tmp*"),
        IoEvent(kind="remove", target="scratch/own.txt"),
    )
    assert len({one.action_trace[0].io_audit for one in found}) == 1
    assert (tmp_path / "out.txt").read_text() == "y"


MODELS = """
def asks(run):
    return [run.complete("billing or technical? my card", model="mock/fast", system="One word.") for _ in range(2)]


async def asks_and_waits(run):
    return await run.acomplete("billing or technical? my card", model="mock/fast")


def asks_nobody(run):
    return run.complete("hello", model="fast")


def asks_the_broken(run):
    return run.complete("hello", model="mock/broken")
"""


def test_what_is_said_to_models_is_in_the_trace_with_its_tokens(tmp_path: Path) -> None:
    (found,) = run_all(write_scenario(tmp_path, MODELS, ['agent: "agents.py:asks", task: t@1']), 1, workers=1)
    assert found.success, found.failure_reason
    first, second = found.llm_trace
    assert first.prompt == "system: One word.\nuser: billing or technical? my card"
    assert (first.model, first.completion) == ("mock/fast", found.output[0])
    assert (first.tokens_prompt or 0) > 0
    assert (first.tokens_completion or 0) > 0
    assert found.io_audit == (IoEvent(kind="model", target="mock/fast"),) * 2
    assert second.step == 1


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        pytest.param("asks_nobody", "names no model", id="a model without a provider"),
        pytest.param("asks_the_broken", "always fails", id="a model that fails"),
    ],
)
def test_a_model_that_cannot_be_asked_is_an_error_of_the_episode(tmp_path: Path, agent: str, words: str) -> None:
    (found,) = run_all(write_scenario(tmp_path, MODELS, [f'agent: "agents.py:{agent}", task: t@1']), 1, workers=1)
    assert found.termination_reason == "error"
    assert words in found.failure_reason


def test_an_agent_that_is_a_coroutine_function_asks_models_too(tmp_path: Path) -> None:
    (found,) = run_all(write_scenario(tmp_path, MODELS, ['agent: "agents.py:asks_and_waits", task: t@1']), 1, workers=1)
    assert found.success, found.failure_reason
    assert len(found.llm_trace) == 1


def test_the_mock_answers_an_episode_by_itself_and_not_by_what_ran_before(tmp_path: Path) -> None:
    found = run_all(
        write_scenario(tmp_path, MODELS, ['agent: "agents.py:asks", task: t@1, seed: 1', 'agent: "agents.py:asks", task: t@1, seed: 0']),
        3,
        workers=1,
    )
    assert found[0].artifact_hash == run_all(tmp_path / "scenario.yaml", 1)[0].artifact_hash
    assert (found[1].seed, found[2].seed) == (0, 2)


def test_secrets_of_the_environment_are_in_no_artifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sekret-value-0123456789")
    agents = "import os\ndef agent(run):\n    key = os.environ['SOME_API_KEY']\n    run.step({'type': 'x'}, result=key)\n    return key\n"
    (found,) = run_all(write_scenario(tmp_path, agents, ['agent: "agents.py:agent", task: t@1']), 1, workers=1)
    assert found.success, found.failure_reason
    assert found.output == found.action_trace[0].result == "[redacted]"


def test_the_built_in_scenario_succeeds_and_repeats_itself_on_other_workers() -> None:
    first, second = run_all(SCENARIO, 15, workers=3), run_all(SCENARIO, 15, workers=1)
    assert [one.failure_reason for one in first] == [""] * 15
    assert [one.artifact_hash for one in first] == [one.artifact_hash for one in second]
    assert {one.run_id for one in first}.isdisjoint(one.run_id for one in second)
    assert any(one.llm_trace for one in first)
    assert any(step.io_audit for one in first for step in one.action_trace)


WORKFLOW = """
name: steps
inputs: [{name: n, type: integer, default: 3}, {name: seed, type: integer}]
config: {provider: mock, model: fast}
nodes:
  - {id: ask, type: ai, prompt: "Say something about {{ inputs.seed }}"}
  - {id: other, type: ai, prompt: "Say another thing about {{ inputs.n }}"}
  - id: count
    type: python
    needs: [ask, other]
    code: "def run(a, b):\\n    return {'n': len(a) + len(b)}"
    with: {a: "{{ nodes.ask.text }}", b: "{{ nodes.other.text }}"}
output: {n: "{{ nodes.count.n }}"}
"""


def test_node_runs_of_a_workflow_are_its_action_trace_in_the_workflows_order(tmp_path: Path) -> None:
    (tmp_path / "steps.yaml").write_text(WORKFLOW)
    found = run_all(write_scenario(tmp_path, TASK, ["workflow: steps.yaml, task: t@1, seed: 5"]), 3)
    assert [one.failure_reason for one in found] == [""] * 3
    first = found[0]
    assert [step.action["args"]["node"] for step in first.action_trace] == ["ask", "other", "count"]
    assert first.action_trace[0].io_audit == (IoEvent(kind="model", target="mock/fast"),)
    assert first.action_trace[2].result["status"] == "success"
    assert len(first.llm_trace) == 2
    assert first.output == first.action_trace[2].result["output"]
    assert len({one.artifact_hash for one in found}) == 3


@pytest.mark.parametrize(
    ("more", "end", "steps"),
    [
        pytest.param(", budgets: {steps: 2}", "steps_exhausted", 2, id="more nodes than it has steps"),
        pytest.param(", config: {model: broken, max_retries: 0}", "error", None, id="a model that fails"),
        pytest.param(', validator: "agents.py:wants_one"', "wrong_answer", 3, id="an output that is not right"),
        pytest.param(", config: {model: slow}, budgets: {wall_clock_s: 0.3}", "timeout", None, id="a model that is too slow"),
    ],
)
def test_how_an_episode_of_a_workflow_ends(tmp_path: Path, more: str, end: str, steps: int | None) -> None:
    (tmp_path / "steps.yaml").write_text(WORKFLOW)
    (found,) = run_all(write_scenario(tmp_path, TASK, [f"workflow: steps.yaml, task: t@1{more}"]), 1, workers=1)
    assert found.termination_reason == end, found.failure_reason
    assert steps is None or found.steps == steps
