"""What a run is held to, however long it is; and a run that comes into trouble tells what had ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.app.git_folder import GitFolder
from tests.perf.stage_rows import write_scenario
from tests.perf.test_perf_command import flowgauge

RARE = """
def rare(run, seed):
    if seed % 10 == 9:
        raise ValueError("the tenth")
    return 1
"""
ROW = 'agent: "agents.py:rare", task: rare@1'


def judged(folder: Path, *arguments: str | Path) -> tuple[int, dict[str, bool]]:
    """The exit code, and which lines broke."""
    path = write_scenario(folder, RARE, [ROW])
    done = flowgauge(path, "--workers", "2", "--repeats", "0", "--json", *arguments, folder=folder)
    return done.returncode, {one["threshold"]: one["broken"] for one in json.loads(done.stdout)["summary"]["thresholds"]}


@pytest.mark.parametrize("episodes", ["24", "25", "200"])
def test_failures_break_a_run_of_any_length(tmp_path: Path, episodes: str) -> None:
    code, lines = judged(tmp_path, "--episodes", episodes)
    assert (code, lines["failure_count == 0"]) == (1, True)


@pytest.mark.parametrize("episodes", ["24", "60"])
def test_who_says_how_often_it_may_fail_is_believed(tmp_path: Path, episodes: str) -> None:
    code, lines = judged(tmp_path, "--episodes", episodes, "--threshold", "success_rate>=0.4")
    assert code == 0, lines
    assert not {"failure_count == 0", "success rate does not fall off"} & lines.keys()


def test_a_file_of_thresholds_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("thresholds: [success_rate >= 0.4]\n")
    assert judged(tmp_path, "--episodes", "60", "--thresholds", "t.yaml") == (0, {"success_rate >= 0.4": False})


def test_a_run_held_against_one_that_failed_as_often_passes(tmp_path: Path) -> None:
    assert judged(tmp_path, "--episodes", "60", "--output-dir", "before")[0] == 1
    code, lines = judged(tmp_path, "--episodes", "60", "--output-dir", "after", "--compare", "before", "--threshold", "episodes>=60")
    assert "failure_count == 0" not in lines
    assert not any(lines.values()), lines
    assert code != 2


def test_a_failure_can_be_recorded_by_the_number_that_perf_gives_it(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, RARE, [ROW])
    done = flowgauge(path.name, "--episodes", "12", "--workers", "2", folder=tmp_path)
    command = next(line.split(": ", 1)[1] for line in done.stdout.splitlines() if "flowgauge record" in line)
    assert command == "flowgauge record scenario.yaml --episode 10 -o episode-10.zip"
    again = subprocess.run([sys.executable, "-m", *command.split()], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "seed 9 · error" in again.stdout


def test_a_run_of_another_scenario_is_refused_in_one_line(tmp_path: Path) -> None:
    assert flowgauge("--episodes", "5", "--workers", "1", "--output-dir", "before", folder=tmp_path).returncode == 0
    path = write_scenario(tmp_path, RARE, [ROW])
    done = flowgauge(path, "--compare", "before", folder=tmp_path)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "was of the scenario 'built-in', this is 'test'" in done.stderr


def test_the_commit_is_that_of_the_scenario_s_folder(tmp_path: Path) -> None:
    repository = GitFolder(tmp_path / "theirs")
    (tmp_path / "here").mkdir()
    path = write_scenario(repository.path, RARE, [ROW])
    sha = repository.commit("a scenario")
    done = flowgauge(path, "--episodes", "2", "--workers", "1", "--json", folder=tmp_path / "here")
    assert json.loads(done.stdout)["manifest"]["host"]["git"] == sha


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "0"])
def test_a_time_limit_that_is_none_is_refused(tmp_path: Path, seconds: str) -> None:
    done = flowgauge("--timeout", seconds, folder=tmp_path)
    assert done.returncode == 2
    assert "Invalid value for '--timeout'" in done.stderr


SPOILS = """
import shutil
from pathlib import Path

def spoils(run, seed, inputs):
    if seed == 5:
        for path in Path(inputs["out"]).parent.glob(Path(inputs["out"]).name):
            shutil.rmtree(path)
    return 1
"""


def spoiled(folder: Path, what: str, *arguments: str) -> Any:
    """A run whose sixth episode removes folders below it; the whole of them while nobody looks."""
    row = f'agent: "agents.py:spoils", task: t@1, inputs: {{out: "{folder / what}"}}, allow: {{write: ["{folder}"]}}'
    path = write_scenario(folder, SPOILS, [row])
    return flowgauge(path, "--episodes", "40", "--workers", "1", "--output-dir", "out", *arguments, folder=folder)


@pytest.mark.parametrize(
    ("what", "left"),
    [
        pytest.param("out", 0, id="all of it"),
        pytest.param("out/perf-runs-*", 4, id="the folder of run artifacts"),
    ],
)
def test_a_folder_that_goes_away_is_told_with_what_had_ended(tmp_path: Path, what: str, left: int) -> None:
    done = spoiled(tmp_path, what)
    assert done.returncode == 3, done.stderr
    assert "6 of 6 episodes succeeded" in done.stdout
    assert "error: episode-000006.json cannot be written: No such file or directory. Make room in out" in done.stderr
    assert "6 of 40 episodes had ended" in done.stderr
    assert "itself failed" not in done.stderr
    files = [path for path in (tmp_path / "out").glob("**/*") if path.is_file()]
    assert len(files) == left
    assert not list(tmp_path.glob("**/.*.part"))
    for line in done.stdout.partition("\nWritten\n")[2].splitlines():
        assert (tmp_path / line.strip()).exists(), line


def test_json_of_a_run_in_trouble_is_still_one_document(tmp_path: Path) -> None:
    done = spoiled(tmp_path, "out/perf-runs-*", "--json")
    value = json.loads(done.stdout)
    assert (value["summary"]["episodes"], value["manifest"]["interrupted"], value["summary"]["run_artifacts"]["file_count"]) == (6, True, 0)


def test_to_interrupt_workers_that_load_is_obeyed(tmp_path: Path) -> None:
    source = "import pathlib, time\npathlib.Path(__file__).with_name('loading').touch()\ntime.sleep(1000)\ndef f(): pass\n"
    path = write_scenario(tmp_path, source, ['agent: "agents.py:f", task: t@1'])
    command = [sys.executable, "-m", "flowgauge", "perf", str(path), "--workers", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while not (tmp_path / "loading").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert "Interrupted. 0 of 24 episodes had ended" in stderr


def test_a_picture_that_is_not_drawn_is_told(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "def f():\n    return 1\n", ['agent: "agents.py:f", task: t@1'])
    done = flowgauge(path, "--episodes", "1", "--workers", "1", "--charts", folder=tmp_path)
    drawn = list((tmp_path / "deliverables" / "perf").glob("perf-machine-*.svg"))
    assert bool(drawn) != ("machine (CPU, memory): not drawn" in done.stderr)
