"""`flowgauge perf` as a person calls it: exit codes, what is said where, Ctrl-C, and a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.perf.stage_rows import write_scenario

from flowgauge.perf.artifact import violations

EXAMPLES = Path(__file__).parents[2] / "examples" / "perf"
Done = subprocess.CompletedProcess[str]


def flowgauge(*arguments: str | Path, folder: Path) -> Done:
    command = [sys.executable, "-m", "flowgauge", "perf", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110, check=False, env=_environment())


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("FLOWGAUGE_")}


def test_the_everyday_slice_from_an_empty_folder(tmp_path: Path) -> None:
    done = flowgauge("--episodes", "24", "--workers", "4", "--strict-spec", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "24 of 24 episodes succeeded" in done.stdout
    assert "✓ failure_count == 0: it is 0" in done.stdout
    assert len(list((tmp_path / "deliverables" / "perf").glob("perf-*.json"))) == 4


def test_an_episode_that_fails_is_exit_1_with_the_line_that_broke(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "def agent(seed):\n    return seed\n", ['agent: "agents.py:agent", task: t@1, expect: 0'])
    done = flowgauge(path, "--episodes", "2", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["threshold: failure_count == 0: it is 1"]
    assert "t@1 · agents.py:agent: wrong_answer: Expected 0, got 1. (episode 2, seed 1)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["--threshold", "max_wall_clock_s<=0"], 1, "threshold: max_wall_clock_s <= 0", id="a flag that is broken"),
        pytest.param(["--threshold", "faster"], 2, "'faster' is no threshold", id="a flag that says nothing"),
        pytest.param(["--compare", "gone.json"], 2, "gone.json cannot be read", id="no earlier run"),
        pytest.param(["gone.yaml"], 2, "There is no such file", id="no scenario"),
        pytest.param(["--workers", "0"], 2, "Invalid value for '--workers'", id="no workers"),
        pytest.param(["--thresholds", "gone.yaml"], 2, "There is no such file", id="no file of thresholds"),
        pytest.param(["--output-dir", "/proc/nowhere"], 2, "Nothing can be written", id="a folder that cannot be made"),
    ],
)
def test_what_does_not_pass_or_cannot_be_done(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    done = flowgauge("--episodes", "5", "--workers", "1", "--repeats", "0", *arguments, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert words in done.stderr


def test_a_worker_that_never_comes_up_is_exit_3(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "import os\nos._exit(9)\ndef f(): pass\n", ['agent: "agents.py:f", task: t@1'])
    done = flowgauge(path, folder=tmp_path)
    assert done.returncode == 3
    assert "exit code 9" in done.stderr


def test_json_is_one_document_and_nothing_else_is_on_stdout(tmp_path: Path) -> None:
    done = flowgauge("--episodes", "5", "--workers", "2", "--json", folder=tmp_path)
    value = json.loads(done.stdout)
    assert value["summary"]["success_count"] == 5
    assert value["manifest"]["command"] == "flowgauge perf --episodes 5 --workers 2 --json"
    assert len(value["metrics"]["rows"]) == 5


SLOW = "import time\ndef agent(run):\n    run.step({'type': 'wait'})\n    time.sleep(0.2)\n    return 1\n"


def started(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    """A long run, with some episodes over."""
    path = write_scenario(tmp_path, SLOW, ['agent: "agents.py:agent", task: t@1'])
    command = [sys.executable, "-m", "flowgauge", "perf", str(path), "--episodes", "1000", "--workers", "2", "--output-dir", "out"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_environment(), start_new_session=True
    )
    out = tmp_path / "out"
    deadline = time.monotonic() + 60
    while len(list(out.glob("perf-runs-*/episode-*.json"))) < 4:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process, out


def test_an_interrupted_run_reports_what_there_is(tmp_path: Path) -> None:
    process, out = started(tmp_path)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    (summary,) = out.glob("perf-summary-*.json")
    episodes = json.loads(summary.read_bytes())["episodes"]
    assert 4 <= episodes < 1000
    assert f"Interrupted. {episodes} of 1000 episodes had ended" in stderr
    assert f"{episodes} of {episodes} episodes succeeded" in stdout
    (manifest,) = out.glob("perf-manifest-*.json")
    assert json.loads(manifest.read_bytes())["interrupted"] is True


def test_a_run_that_is_killed_loses_no_episode_that_had_ended(tmp_path: Path) -> None:
    process, out = started(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    files = sorted(out.glob("perf-runs-*/episode-*.json"))
    assert len(files) >= 4
    for file in files:
        assert violations(json.loads(file.read_bytes())) == []


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        pytest.param("delivery.yaml", ["--strict-spec", "--thresholds", EXAMPLES / "thresholds.yaml"], 0, id="two couriers and a workflow"),
        pytest.param("faults.yaml", ["--timeout", "1", "--repeats", "0"], 1, id="agents that misbehave"),
    ],
)
def test_the_examples_do_what_they_say(tmp_path: Path, name: str, arguments: list[str | Path], code: int) -> None:
    done = flowgauge(EXAMPLES / name, "--episodes", "8", "--workers", "2", "--json", *arguments, folder=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        reasons = json.loads(done.stdout)["summary"]["failure_reasons"]
        assert reasons == {
            "file_limit": 1,
            "memory_limit": 1,
            "output_limit": 1,
            "sandbox_violation": 1,
            "steps_exhausted": 1,
            "timeout": 1,
            "worker_died": 1,
        }


def test_a_stored_workflow_can_be_named_by_its_version(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flowgauge", "workflow", "save", str(EXAMPLES / "notice.yaml")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=_environment(),
    )
    assert done.returncode == 0, done.stderr
    path = write_scenario(tmp_path, "", ["workflow: delivery-notice@1, task: notice@1, inputs: {street: Mill Lane}"])
    found = flowgauge(path, "--episodes", "3", "--workers", "1", "--json", folder=tmp_path)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["metrics"]["rows"][0]["agent"] == "delivery-notice@1"
