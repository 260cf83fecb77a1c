"""Record seals what does the same twice, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import Program
from tests.perf.replay.episodes import CHANCY, FAILING, SCENARIO, STEADY, free_port, serving, write_agent

from flowgauge.perf.replay.archive import CALLS, read_files
from flowgauge.perf.replay.bundle import open_bundle

FETCHING = """
name: fetching
inputs:
  - {{name: topic, type: string, default: tea}}
config: {{provider: mock, model: fast}}
nodes:
  - {{id: fetch, type: http, url: "{url}/{{{{ inputs.topic }}}}"}}
  - {{id: say, type: ai, needs: [fetch], prompt: "Say {{{{ nodes.fetch.json.visit }}}}"}}
  - {{id: count, type: command, needs: [fetch], argv: [wc, -c], stdin: "{{{{ nodes.fetch.text }}}}"}}
  - id: twice
    type: python
    needs: [say]
    code: "def run(text): return text * 2"
    with: {{text: "{{{{ nodes.say.text }}}}"}}
output: {{visit: "{{{{ nodes.fetch.json.visit }}}}", said: "{{{{ nodes.twice.value }}}}", size: "{{{{ nodes.count.stdout }}}}"}}
"""
ROWS = """
name: two rows
rows:
  - {agent: "agents.py:agent", task: first, seed: 10}
  - {agent: "agents.py:agent", task: second, seed: 20}
"""


def only(folder: Path) -> set[str]:
    """What stands in a folder, but for what was put there and what the store keeps."""
    return {path.name for path in folder.iterdir()} - {"agents.py", "scenario.yaml", "flow.yaml", ".flowgauge", "__pycache__"}


@pytest.mark.parametrize("name", ["bundle.zip", "bundle"])
def test_an_agent_that_does_the_same_twice_is_sealed(flowgauge: Program, tmp_path: Path, name: str) -> None:
    write_agent(tmp_path, STEADY)
    done = flowgauge("record", "scenario.yaml", "-o", name)
    assert (done.code, only(tmp_path)) == (0, {name})
    assert f"sealed {name} · 1 call recorded" in done.out
    run = open_bundle(tmp_path / name).run
    assert (run.agent, run.task_ref, run.task_version, run.seed, run.success) == ("agents.py:agent", "wall@2", "2", 7, True)
    assert [step.action["type"] for step in run.action_trace] == ["choose", "paint"]
    assert [line["kind"] for line in map(msgspec.json.decode, read_files(tmp_path / name)[CALLS].splitlines()[1:-1])] == ["model"]


def test_an_agent_that_rolls_dice_is_refused_with_the_step_and_leaves_nothing(flowgauge: Program, tmp_path: Path) -> None:
    write_agent(tmp_path, CHANCY)
    done = flowgauge("record", "scenario.yaml", "-o", "bundle.zip")
    assert (done.code, only(tmp_path)) == (1, set())
    assert "nothing is sealed" in done.out
    assert "step 2 · result: " in done.out
    assert "step 1" not in done.out


def test_the_difference_is_told_to_machines_too(flowgauge: Program, tmp_path: Path) -> None:
    write_agent(tmp_path, CHANCY)
    told = flowgauge("record", "scenario.yaml", "-o", "bundle.zip", "--json").json
    (change,) = told["changes"]
    assert (told["sealed"], told["bundle"], change["step"], change["field"]) == (False, None, 2, "result")
    assert change["before"] != change["after"]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        pytest.param(
            "import os\ndef agent(run):\n    run.step({'type': 'as', 'args': {'pid': os.getpid()}})\n", "step 1 · action", id="its action"
        ),
        pytest.param("import os\ndef agent(run):\n    return os.getpid()\n", "output: ", id="its output"),
        pytest.param(
            "import os\ndef agent(run):\n    open(f'{os.getpid()}.txt', 'w').close()\n    run.step({'type': 'write'})\n",
            "step 1 · io_audit",
            id="the files that it touches",
        ),
        pytest.param(
            "import os, pathlib\ndef agent(run):\n"
            "    mark = pathlib.Path(run.inputs['mark'])\n"
            "    for _ in range(1 + mark.exists()):\n        run.step({'type': 'go'})\n    mark.touch()\n",
            "steps: 1 → 2",
            id="how many steps it takes",
        ),
        pytest.param(
            "import os, pathlib\ndef agent(run):\n"
            "    mark = pathlib.Path(run.inputs['mark'])\n"
            "    if mark.exists():\n        raise ValueError('again')\n    mark.touch()\n",
            "failure_type: null → ",
            id="how it ends",
        ),
    ],
)
def test_whatever_differs_between_the_runs_is_named(flowgauge: Program, tmp_path: Path, source: str, says: str) -> None:
    mark = tmp_path / "mark"
    scenario = f"name: marks\nrows:\n  - {{agent: 'agents.py:agent', task: t, inputs: {{mark: '{mark}'}}, allow: {{write: ['{mark}']}}}}\n"
    write_agent(tmp_path, source, scenario)
    done = flowgauge("record", "scenario.yaml", "-o", "bundle")
    assert (done.code, only(tmp_path) - {"mark"}) == (1, set())
    assert says in done.out


def test_an_episode_that_fails_the_same_way_twice_is_sealed_and_replays(flowgauge: Program, tmp_path: Path) -> None:
    write_agent(tmp_path, FAILING)
    assert flowgauge("record", "scenario.yaml", "-o", "bundle.zip").code == 0
    run = open_bundle(tmp_path / "bundle.zip").run
    assert (run.success, run.termination_reason, run.failure_type) == (False, "error", "logic_failure")
    assert flowgauge("replay", "bundle.zip").code == 0


@pytest.mark.parametrize(
    ("options", "row"),
    [
        pytest.param([], ("first", 10), id="the first by default"),
        pytest.param(["--episode", "4"], ("second", 21), id="the fourth, as perf counts: the second round of the second row"),
        pytest.param(["--seed", "99"], ("first", 99), id="another seed"),
        pytest.param(["--episode", "2", "--seed", "5"], ("second", 5), id="another seed of another row"),
    ],
)
def test_the_episode_that_was_asked_for_is_recorded(flowgauge: Program, tmp_path: Path, options: list[str], row: tuple[str, int]) -> None:
    write_agent(tmp_path, "def agent(run):\n    return run.random.random()\n", ROWS)
    assert flowgauge("record", "scenario.yaml", "-o", "b.zip", *options).code == 0
    bundle = open_bundle(tmp_path / "b.zip")
    assert (bundle.run.task_ref, bundle.run.seed) == row
    assert [one.seed for one in bundle.manifest.scenario.rows] == [row[1]]


def test_a_function_is_recorded_without_a_scenario(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "parts.py").write_text("WORD = 'hello'\n")
    (tmp_path / "sub" / "agents.py").write_text(
        "import parts\ndef greeter(run, inputs, seed):\n    return [parts.WORD, inputs['who'], inputs['times'], seed]\n"
    )
    done = flowgauge("record", "sub/agents.py:greeter", "-i", "who=Ada", "-i", "times=3", "--seed", "4", "-o", "b.zip", "--json")
    assert done.json["run"]["output"] == ["hello", "Ada", 3, 4]
    assert flowgauge("replay", "b.zip").code == 0


def test_a_workflow_with_http_command_model_and_code_replays_when_its_server_is_gone(flowgauge: Program, tmp_path: Path) -> None:
    with serving() as server:
        (tmp_path / "flow.yaml").write_text(FETCHING.format(url=server.url))
        assert flowgauge("record", "flow.yaml", "-i", "topic=coffee", "-o", "b.zip").code == 0
        assert server.requests == ["/coffee"]
    bundle = open_bundle(tmp_path / "b.zip")
    assert bundle.manifest.calls == 3
    assert bundle.run.output["visit"] == 1
    again = flowgauge("replay", "b.zip", "--json")
    assert (again.code, again.json["same"], again.json["replayed"]["output"]) == (0, True, bundle.run.output)


def test_a_stored_workflow_is_recorded_by_name_and_version(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(FETCHING.format(url=f"http://127.0.0.1:{free_port()}"))
    flowgauge("workflow", "save", "flow.yaml")
    (tmp_path / "flow.yaml").unlink()
    done = flowgauge("record", "fetching@1", "-o", "b.zip")
    assert (done.code, open_bundle(tmp_path / "b.zip").run.failure_type) == (0, "logic_failure")
    assert flowgauge("replay", "b.zip").code == 0


def test_live_twice_asks_that_the_outside_answers_alike(flowgauge: Program, tmp_path: Path) -> None:
    with serving() as server:
        (tmp_path / "flow.yaml").write_text(FETCHING.format(url=server.url))
        done = flowgauge("record", "flow.yaml", "-o", "b.zip", "--live-twice")
        assert (done.code, len(server.requests), only(tmp_path)) == (1, 2, set())
    assert "The runs differ from step 1 on" in done.out
    assert "step 1 · result.output.json.visit: 1 → 2" in done.out


def test_live_twice_seals_where_both_runs_and_the_replay_agree(flowgauge: Program, tmp_path: Path) -> None:
    write_agent(tmp_path, STEADY)
    assert flowgauge("record", "scenario.yaml", "-o", "b.zip", "--live-twice").code == 0
    assert flowgauge("replay", "b.zip").code == 0


def test_a_connection_past_the_recorder_cannot_be_sealed(flowgauge: Program, tmp_path: Path) -> None:
    """It would have to be answered on replay, and nobody wrote down how."""
    with serving() as server:
        source = f"import urllib.request\ndef agent(run):\n    return urllib.request.urlopen('{server.url}/x').read().decode()\n"
        write_agent(tmp_path, source, SCENARIO.replace("seed: 7", "seed: 7, allow: {network: true}"))
        done = flowgauge("record", "scenario.yaml", "-o", "b.zip")
        assert (done.code, server.connections, only(tmp_path)) == (1, 1, set())
    assert "connect" in done.out


def test_why_a_refused_connection_cannot_be_sealed_is_said(flowgauge: Program, tmp_path: Path) -> None:
    source = f"import socket\ndef agent(run):\n    socket.create_connection(('127.0.0.1', {free_port()}))\n"
    write_agent(tmp_path, source)
    done = flowgauge("record", "scenario.yaml", "-o", "b.zip")
    assert (done.code, only(tmp_path)) == (1, set())
    assert "Why: in the first run the agent was refused a connection to 127.0.0.1:" in done.out
    found = json.loads(flowgauge("record", "scenario.yaml", "-o", "b.zip", "--json").out)
    assert found["why"].startswith("Why: ")
    write_agent(tmp_path, CHANCY)
    assert "Why:" not in flowgauge("record", "scenario.yaml", "-o", "b.zip").out


def test_a_folder_that_is_not_there_is_not_made_and_nothing_runs(flowgauge: Program, tmp_path: Path) -> None:
    write_agent(tmp_path, STEADY)
    done = flowgauge("record", "scenario.yaml", "-o", "missing/b.zip")
    assert (done.code, "1st run" in done.out, (tmp_path / "missing").exists()) == (2, False, False)
    assert "There is no folder missing." in done.err


def test_secrets_of_the_environment_stand_in_no_file_of_a_bundle(
    flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hunter2-hunter2"
    monkeypatch.setenv("SHOP_TOKEN", secret)
    source = """
import os
def agent(run):
    said = run.complete("My token is " + os.environ.get("SHOP_TOKEN", "[redacted]"), model="mock/fast")
    run.step({"type": "use", "args": {"token": run.inputs["token"]}}, observation=os.environ.get("SHOP_TOKEN", "[redacted]"), result=said)
    return run.inputs
"""
    scenario = f"name: shop\nrows:\n  - {{agent: 'agents.py:agent', task: buy, inputs: {{token: '{secret}'}}}}\n"
    write_agent(tmp_path, source, scenario)
    done = flowgauge("record", "scenario.yaml", "-o", "bundle", "--json")
    assert (done.code, secret in done.out) == (0, False)
    for name, content in read_files(tmp_path / "bundle").items():
        assert secret.encode() not in content, name
    assert flowgauge("replay", "bundle").code == 0
    monkeypatch.delenv("SHOP_TOKEN")
    assert flowgauge("replay", "bundle").code == 0


def test_a_bundle_does_not_take_the_place_of_another(flowgauge: Program, tmp_path: Path) -> None:
    write_agent(tmp_path, STEADY)
    (tmp_path / "b.zip").write_text("mine")
    done = flowgauge("record", "scenario.yaml", "-o", "b.zip")
    assert (done.code, (tmp_path / "b.zip").read_text(), "1st run" in done.out) == (2, "mine", False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["nowhere.yaml"], "There is no file nowhere.yaml", id="a file that is not there"),
        pytest.param(["nowhere.py:agent"], "There is no file nowhere.py", id="a function's file that is not there"),
        pytest.param(["agents.py:missing"], "defines no 'missing'", id="a function that is not there"),
        pytest.param(["unheard-of"], "unheard-of", id="a workflow that is not stored"),
        pytest.param(["scenario.yaml", "-i", "a=1"], "--input does not go with a scenario", id="inputs for a scenario"),
        pytest.param(["agents.py:agent", "-c", "model=x"], "--config does not go with a function", id="config for a function"),
        pytest.param(["agents.py:agent", "--episode", "2"], "--episode is for scenarios", id="an episode of a function"),
        pytest.param(["agents.py:agent", "--episode", "1"], "--episode is for scenarios", id="the first episode of a function"),
        pytest.param(["scenario.yaml", "--episode", "0"], "Invalid value for '--episode'", id="an episode before the first"),
        pytest.param(["scenario.yaml", "--timeout", "nan"], "nan is no finite number", id="a time that is no number"),
        pytest.param(["scenario.yaml", "--timeout", "inf"], "inf is no finite number", id="a time without end"),
        pytest.param(["agents.py:agent", "-i", "word"], "There is no '=' in word", id="an input without a value"),
    ],
)
def test_what_cannot_be_recorded_is_said_in_one_line(flowgauge: Program, tmp_path: Path, arguments: list[str], says: str) -> None:
    write_agent(tmp_path, STEADY)
    done = flowgauge("record", *arguments, "-o", "b.zip")
    assert (done.code, only(tmp_path)) == (2, set())
    assert says in done.err


def test_without_a_target_the_built_in_scenario_is_recorded(flowgauge: Program, tmp_path: Path) -> None:
    assert flowgauge("record", "--episode", "5", "-o", "b.zip").code == 0
    assert flowgauge("replay", "b.zip", "--strict").code == 0
    assert str(Path(__file__).parents[3]) not in str(read_files(tmp_path / "b.zip"))


ASKING = """
import urllib.request, json, asyncio

def ask(path):
    return json.loads(urllib.request.urlopen("URL" + path).read())

def agent(run):
    first = run.outside("search", {"path": "/tea"}, lambda: ask("/tea"))
    again = run.outside("search", {"path": "/tea"}, lambda: ask("/tea"))
    run.step({"type": "search", "args": {"path": "/tea"}}, result=[first, again], tool=True)
    try:
        run.outside("shop", None, lambda: ask("/\\nbad"))
    except Exception as error:
        run.step({"type": "shop"}, result=[type(error).__name__, str(error)])
    return run.outside("loop", [1], lambda: asyncio.run(asyncio.sleep(0, "its own loop")))
"""
ALLOWED = SCENARIO.replace("seed: 7", "seed: 7, allow: {network: true}")


@pytest.mark.parametrize("asynchronous", [False, True], ids=["a plain agent", "a coroutine function"])
def test_calls_that_an_agent_makes_by_itself_are_recorded_where_it_says_so(flowgauge: Program, tmp_path: Path, asynchronous: bool) -> None:
    source = ASKING
    if asynchronous:
        source = source.replace("def agent", "async def agent").replace("run.outside", "await run.aoutside").replace("asyncio.run(", "(")
    with serving() as server:
        write_agent(tmp_path, source.replace("URL", server.url), ALLOWED)
        done = flowgauge("record", "scenario.yaml", "-o", "b.zip", "--json")
        assert (done.code, server.requests) == (0, ["/tea", "/tea"])
    run = done.json["run"]
    assert [step["result"] for step in run["action_trace"]] == [
        [{"visit": 1}, {"visit": 2}],
        ["Failed", "InvalidURL: URL can't contain control characters. '/\\nbad' (found at least '\\n')"],
    ]
    assert run["action_trace"][0]["io_audit"] == [{"kind": "call", "target": "search", "refused": False}] * 2
    assert run["output"] == "its own loop"
    assert open_bundle(tmp_path / "b.zip").manifest.calls == 4
    assert flowgauge("replay", "b.zip", "--strict").code == 0


def test_a_call_of_its_own_still_needs_to_be_allowed(flowgauge: Program, tmp_path: Path) -> None:
    with serving() as server:
        write_agent(tmp_path, ASKING.replace("URL", server.url))
        run = flowgauge("record", "scenario.yaml", "-o", "b.zip", "--json").json["run"]
        assert (run["termination_reason"], server.connections) == ("sandbox_violation", 0)


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        pytest.param("import os\ndef agent(run):\n    os._exit(3)\n", [], "worker_died", id="it ends its process"),
        pytest.param("def agent(run):\n    while True: pass\n", ["--timeout", "0.5"], "timeout", id="it does not end"),
        pytest.param("def agent(run):\n    return 'x' * 5_000_000\n", [], "artifact_limit", id="it answers with too much"),
    ],
)
def test_a_run_without_a_trace_is_not_sealed(flowgauge: Program, tmp_path: Path, source: str, options: list[str], says: str) -> None:
    write_agent(tmp_path, source)
    done = flowgauge("record", "scenario.yaml", "-o", "b.zip", *options)
    assert (done.code, only(tmp_path), says in done.err) == (3, set(), True)


def test_a_number_that_is_a_secret_elsewhere_breaks_no_artifact(
    flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOOR_TOKEN", "12345678")
    write_agent(tmp_path, "def agent(run):\n    return {'number': 12345678, 'text': 'is 12345678'}\n")
    done = flowgauge("record", "scenario.yaml", "-o", "b.zip", "--json")
    assert (done.code, done.json["run"]["output"]) == (0, {"number": 12345678, "text": "is [redacted]"})
