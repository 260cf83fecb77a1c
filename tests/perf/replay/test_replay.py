"""Replay holds an agent to what it did, without the network; diff shows what it does now."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import Program
from tests.perf.replay.conftest import put
from tests.perf.replay.episodes import CHANGED, SCENARIO, STEADY, serving, write_agent

import flowgauge
from flowgauge.perf.replay.archive import RUN, read_files, zipped
from flowgauge.sandbox.guest import seccomp


@pytest.fixture
def recorded(flowgauge: Program, files: dict[str, bytes], tmp_path: Path) -> Path:
    """The bundle of STEADY, beside its agent."""
    write_agent(tmp_path, STEADY)
    (tmp_path / "bundle.zip").write_bytes(zipped(files))
    return tmp_path / "bundle.zip"


def test_an_agent_that_did_not_change_gives_the_same(flowgauge: Program, recorded: Path) -> None:
    done = flowgauge("replay", "bundle.zip", "--strict")
    assert (done.code, "✓ the same" in done.out, "edited" in done.out) == (0, True, False)
    told = flowgauge("replay", "bundle.zip", "--json").json
    assert (told["same"], told["edited"], told["changes"], told["strict"]) == (True, False, [], False)
    assert told["recorded"]["artifact_hash"] == told["replayed"]["artifact_hash"]


def test_a_changed_action_shows_in_replay_and_in_diff(flowgauge: Program, recorded: Path, tmp_path: Path) -> None:
    write_agent(tmp_path, CHANGED)
    done = flowgauge("replay", "bundle.zip", "--out", "again.json")
    change = '{"type":"paint","args":{"wall":"north"}} → {"type":"paint","args":{"wall":"south"}}'
    assert (done.code, "edited since" in done.out) == (1, True)
    assert f"step 2 · action: {change}" in done.out
    shown = flowgauge("diff", "bundle.zip", "again.json")
    assert (shown.code, f"  step 2 · action: {change}" in shown.out) == (1, True)
    told = flowgauge("diff", "bundle.zip", "again.json", "--json").json
    assert told["changes"] == [
        {
            "area": "steps",
            "field": "action",
            "step": 2,
            "kind": "changed",
            "before": {"type": "paint", "args": {"wall": "north"}},
            "after": {"type": "paint", "args": {"wall": "south"}},
        }
    ]


def test_the_same_runs_have_no_difference(flowgauge: Program, recorded: Path) -> None:
    flowgauge("replay", "bundle.zip", "--out", "again.json")
    same = flowgauge("diff", "bundle.zip", "again.json")
    assert (same.code, "✓ the same" in same.out) == (0, True)
    assert flowgauge("diff", "again.json", "again.json", "--json").json["same"] is True


def test_what_changed_without_changing_what_is_done_is_the_same(flowgauge: Program, recorded: Path, tmp_path: Path) -> None:
    write_agent(tmp_path, f"# tidied up\n{STEADY}")
    done = flowgauge("replay", "bundle.zip")
    assert (done.code, "edited since" in done.out) == (0, True)


def test_a_question_that_was_not_recorded_is_not_answered(flowgauge: Program, recorded: Path, tmp_path: Path) -> None:
    write_agent(tmp_path, STEADY.replace("Name a colour.", "Name a tree."))
    done = flowgauge("replay", "bundle.zip")
    assert done.code == 1
    assert "is not in" in done.out
    assert "The nearest recorded one is" in done.out
    assert "failure_type: null → " in done.out


def test_an_agent_that_swallows_the_refusal_is_found_out_all_the_same(flowgauge: Program, recorded: Path, tmp_path: Path) -> None:
    swallowing = '    try:\n        run.complete("Name a tree.", model="mock/fast")\n    except Exception:\n        pass\n'
    first = '    run.step({"type": "choose"'
    write_agent(tmp_path, STEADY.replace(first, swallowing + first))
    done = flowgauge("replay", "bundle.zip")
    assert (done.code, "step 1 · io_audit" in done.out) == (1, True)


def test_a_question_that_is_no_longer_asked_is_found(flowgauge: Program, recorded: Path, tmp_path: Path) -> None:
    told = flowgauge("replay", "bundle.zip", "--json").json["replayed"]["output"]["label"]
    write_agent(tmp_path, STEADY.replace('run.complete("Name a colour.", model="mock/fast")', repr(told)))
    done = flowgauge("replay", "bundle.zip")
    assert (done.code, '- step 1 · io_audit: {"kind":"model"' in done.out) == (1, True)


def test_strict_also_counts_tool_calls(flowgauge: Program, recorded: Path, tmp_path: Path) -> None:
    write_agent(tmp_path, STEADY.replace('result={"label": label})', 'result={"label": label}, tool=True)'))
    assert flowgauge("replay", "bundle.zip").code == 0
    strict = flowgauge("replay", "bundle.zip", "--strict")
    assert (strict.code, "tool_calls: 1 → 2" in strict.out) == (1, True)
    write_agent(tmp_path, STEADY.replace(", tool=True", ""))
    assert flowgauge("replay", "bundle.zip", "--strict").code == 0


PROBE = """
import os, socket, subprocess, sys

def tried(what):
    try:
        return f"reached {what()}"
    except Exception as error:
        return type(error).__name__

def connected():
    with socket.create_connection(("127.0.0.1", PORT), timeout=5) as there:
        there.sendall(b"GET /caught HTTP/1.0\\r\\n\\r\\n")
        return there.recv(10)

def started():
    code = "import socket; socket.create_connection(('127.0.0.1', PORT), timeout=5)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

def local():
    socket.socket(socket.AF_UNIX).connect("SOCKET")

def agent(run):
    if os.path.exists("MARK"):
        run.step({"type": "probe"}, result=[tried(connected), tried(started), tried(local)])
    return "done"
"""


@pytest.mark.skipif(not seccomp.supported(), reason="only Linux on x86_64 and aarch64 can refuse sockets")
def test_on_replay_nobody_is_reached_not_even_on_loopback(flowgauge: Program, tmp_path: Path) -> None:
    """The agent is allowed everything, and tries by itself, by a program, and by a socket in the file system."""
    with serving() as server:
        source = PROBE.replace("PORT", str(server.port)).replace("MARK", str(tmp_path / "mark")).replace("SOCKET", str(tmp_path / "s"))
        write_agent(tmp_path, source, SCENARIO.replace("seed: 7", "seed: 7, allow: {network: true, processes: true}"))
        assert flowgauge("record", "scenario.yaml", "-o", "b.zip").code == 0
        (tmp_path / "mark").touch()
        done = flowgauge("replay", "b.zip", "--json")
        assert (done.code, done.json["network"], server.connections) == (1, "kernel", 0)
        (step,) = done.json["replayed"]["action_trace"]
        assert step["result"] == ["PermissionError", "CalledProcessError", "PermissionError"]
        live = flowgauge("record", "scenario.yaml", "-o", "live.zip", "--json").json["run"]
        assert live["action_trace"][0]["result"][:2] == ["reached b'HTTP/1.0 2'", "reached None"]
        assert server.connections == 2


def test_an_import_that_calls_out_is_cut_off_too(flowgauge: Program, tmp_path: Path) -> None:
    with serving() as server:
        calling = f"if os.path.exists('{tmp_path}/mark'):\n    urllib.request.urlopen('{server.url}')\n"
        write_agent(tmp_path, f"import os, urllib.request\n{calling}def agent(): return 1\n")
        assert flowgauge("record", "scenario.yaml", "-o", "b.zip").code == 0
        (tmp_path / "mark").touch()
        done = flowgauge("replay", "b.zip")
        assert (done.code, server.connections) == (3, 0)
        assert "cannot be run here" in done.err


def test_a_workflow_that_asks_another_server_is_not_answered(flowgauge: Program, tmp_path: Path) -> None:
    flow = "name: ask\nnodes:\n  - {{id: get, type: http, url: '{}/x'}}\noutput: '{{{{ nodes.get.json.visit }}}}'\n"
    with serving() as server, serving() as other:
        (tmp_path / "flow.yaml").write_text(flow.format(server.url))
        assert flowgauge("record", "flow.yaml", "-o", "b.zip").code == 0
        (tmp_path / "flow.yaml").write_text(flow.format(other.url))
        done = flowgauge("replay", "b.zip")
        assert (done.code, other.connections, server.connections) == (1, 0, 1)
        assert "not_recorded" in done.out


def test_a_changed_bundle_is_refused_before_anything_of_it_runs(flowgauge: Program, recorded: Path, tmp_path: Path) -> None:
    write_agent(tmp_path, f"open('{tmp_path}/ran', 'w')\n{STEADY}")
    content = bytearray(recorded.read_bytes())
    content[content.index(b"north")] ^= 1
    recorded.write_bytes(content)
    done = flowgauge("replay", "bundle.zip")
    assert (done.code, done.out, (tmp_path / "ran").exists()) == (2, "", False)
    assert RUN in done.err


def test_a_changed_folder_names_every_file_that_was_changed(flowgauge: Program, files: dict[str, bytes], tmp_path: Path) -> None:
    write_agent(tmp_path, STEADY)
    put(tmp_path / "bundle", {name: content if name == "integrity.sha256" else content + b"\n" for name, content in files.items()})
    done = flowgauge("replay", "bundle")
    assert done.code == 2
    assert done.err.count("was changed") == len(files) - 1


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda folder: (folder / "agents.py").unlink(), id="its file is gone"),
        pytest.param(lambda folder: (folder / "agents.py").write_text("def other(run): ...\n"), id="its function is gone"),
        pytest.param(lambda folder: (folder / "agents.py").write_text("def agent(run:\n"), id="its file is no Python"),
        pytest.param(lambda folder: (folder / "agents.py").write_text("import os; os._exit(7)\n"), id="its file ends the process"),
    ],
)
def test_an_agent_that_cannot_be_run_is_not_measured(
    flowgauge: Program, recorded: Path, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    spoil(tmp_path)
    done = flowgauge("replay", "bundle.zip")
    assert (done.code, done.out) == (3, "")


def test_a_workflow_that_is_gone_is_not_measured(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text("name: f\nnodes:\n  - {id: a, type: ai, prompt: hi, config: {provider: mock, model: fast}}\n")
    assert flowgauge("record", "flow.yaml", "-o", "b.zip").code == 0
    (tmp_path / "flow.yaml").unlink()
    assert flowgauge("replay", "b.zip").code == 3
    assert flowgauge("replay", "b.zip", "--folder", "/").code == 3


def test_the_scenario_s_files_are_found_elsewhere_when_told_where(flowgauge: Program, recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "moved").mkdir()
    shutil.move(tmp_path / "agents.py", tmp_path / "moved" / "agents.py")
    assert flowgauge("replay", "bundle.zip").code == 3
    assert flowgauge("replay", "bundle.zip", "--folder", "moved").code == 0


def test_a_replay_leaves_nothing_behind(flowgauge: Program, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert flowgauge("replay", "bundle.zip").code == 0
    assert list((tmp_path / "tmp").iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} <= {"tmp", "bundle.zip", "agents.py", "scenario.yaml", ".flowgauge"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "no run artifact", id="an empty file"),
        pytest.param(b'{"play": 1}', "no run artifact", id="JSON of another kind"),
        pytest.param(None, "There is no", id="nothing at all"),
    ],
)
def test_diff_of_what_is_no_run_says_so(flowgauge: Program, recorded: Path, tmp_path: Path, content: bytes | None, says: str) -> None:
    if content is not None:
        (tmp_path / "other.json").write_bytes(content)
    done = flowgauge("diff", "bundle.zip", "other.json")
    assert (done.code, says in done.err) == (2, True)


def test_diff_warns_of_a_run_whose_hash_does_not_fit(flowgauge: Program, recorded: Path, tmp_path: Path) -> None:
    run = msgspec.json.decode(read_files(recorded)[RUN])
    run["action_trace"][0]["result"] = {"label": "blue"}
    (tmp_path / "edited.json").write_bytes(msgspec.json.encode(run))
    done = flowgauge("diff", "bundle.zip", "edited.json")
    assert (done.code, "warning: edited.json: artifact_hash" in done.err) == (1, True)


def test_a_bundle_of_this_machine_names_no_path_of_it(files: dict[str, bytes]) -> None:
    places = [str(place).encode() for place in (Path.cwd(), Path(flowgauge.__file__).parent, Path(tempfile.gettempdir()))]
    assert not [place for place in places for content in files.values() if place in content]


FLOW = """
name: greet
inputs: [{{name: who, type: string, default: Ada}}]
config: {{provider: mock, model: fast}}
nodes:
  - {{id: say, type: ai, prompt: "{prompt}"}}
  - {{id: shout, type: python, needs: [say], code: "def run(text): return text.upper()", with: {{text: "{{{{ nodes.say.text }}}}"}}}}
output: "{{{{ nodes.shout.value }}}}"
"""


def test_stored_plays_are_compared_by_their_sids(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "greet.yaml").write_text(FLOW.format(prompt="Greet {{ inputs.who }}"))
    first, again = (flowgauge("run", "greet.yaml", "--json").json["play"]["sid"] for _ in range(2))
    assert flowgauge("diff", first, again).code == 0
    (tmp_path / "greet.yaml").write_text(FLOW.format(prompt="Insult {{ inputs.who }}"))
    flowgauge("run", "greet.yaml")
    told = flowgauge("diff", first, "latest", "--json")
    assert told.code == 1
    assert [(change["area"], change["field"], change["step"]) for change in told.json["changes"]] == [
        ("subject", "task_ref", None),
        ("subject", "task_version", None),
        ("steps", "output", None),
        ("steps", "observation", 1),
        ("steps", "result", 1),
        ("steps", "result", 2),
    ]


def test_a_play_and_a_bundle_of_the_same_workflow_did_the_same_steps(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "greet.yaml").write_text(FLOW.format(prompt="Greet {{ inputs.who }}"))
    flowgauge("run", "greet.yaml", "-c", "seed=0")
    assert flowgauge("record", "greet.yaml", "-o", "b.zip").code == 0
    changes = flowgauge("diff", "latest", "b.zip", "--json").json["changes"]
    assert {change["area"] for change in changes} <= {"subject", "budget", "models"}


@pytest.mark.parametrize(
    ("sid", "says"),
    [
        pytest.param("pl_0123456789a", "pl_0123456789a", id="a play that is not stored"),
        pytest.param("latest", "There is no play yet", id="the newest of none"),
        pytest.param("somewhere", "Name a run artifact", id="what is no sid"),
    ],
)
def test_a_play_that_is_not_there_is_said_to_be_missing(flowgauge: Program, recorded: Path, sid: str, says: str) -> None:
    done = flowgauge("diff", "bundle.zip", sid)
    assert (done.code, says in done.err) == (2, True)
