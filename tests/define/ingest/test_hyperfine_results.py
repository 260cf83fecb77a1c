"""hyperfine's files, as the real program writes them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.define.ingest.results_text import command, written

from flowgauge.define.ingest import Ingested, read_results
from flowgauge.errors import BadFile, NotMeasured
from flowgauge.model.metric import Metric

MADE = Path(__file__).parent / "hyperfine.json"
"""Written by hyperfine 1.15: -i -N --runs 6 -L n 1,2 'sleep 0.0{n}' "sh -c '[ $(( $$ % 3 )) -ne 0 ]'"."""
installed = pytest.mark.skipif(shutil.which("hyperfine") is None, reason="hyperfine is not installed")


def one(folder: Path, **changes: Any) -> Ingested:
    (found,) = read_results(written(folder, {"results": [command(**changes)]}))
    return found


def test_the_file_of_the_real_program() -> None:
    flaky = "sh -c '[ $(( $$ % 3 )) -ne 0 ]'"
    found = {each.subject: each for each in read_results(MADE)}
    assert list(found) == ["sleep 0.01 [n=1]", f"{flaky} [n=1]", "sleep 0.02 [n=2]", f"{flaky} [n=2]"]
    sleeping, failing = found["sleep 0.01 [n=1]"], found[f"{flaky} [n=1]"]
    assert sleeping.metrics["duration_ms"].samples[""][:2] == pytest.approx([11.335270, 11.407321])
    assert sleeping.metrics["duration_ms"].value == pytest.approx(11.789846, abs=1e-6)
    assert sleeping.metrics["success_rate"].value == 1.0
    assert (sleeping.tags, sleeping.notes) == ({"param.n": "1"}, ())
    assert failing.metrics["success_rate"] == Metric(value=4 / 6, direction="higher", samples={"": [0.0, 1.0, 1.0, 0.0, 1.0, 1.0]})
    assert len(failing.metrics["duration_ms"].samples[""]) == 4
    assert failing.metrics["user_ms"].value is None
    assert failing.notes == ("2 of 6 runs failed (exit code 1: 2); their times are in no metric.",)


def test_seconds_become_milliseconds(tmp_path: Path) -> None:
    metrics = one(tmp_path).metrics
    assert metrics["duration_ms"] == Metric(value=200.0, direction="lower", unit="ms", samples={"": [100.0, 300.0]})
    assert metrics["user_ms"] == Metric(value=10.0, direction="lower", unit="ms")
    assert metrics["system_ms"] == Metric(value=20.0, direction="lower", unit="ms")


def test_times_of_failed_runs_are_left_out(tmp_path: Path) -> None:
    found = one(tmp_path, times=[0.1, 0.2, 0.4], exit_codes=[0, None, 3], memory_usage_byte=[1000, 2000, 4000])
    assert found.metrics["duration_ms"].samples == {"": [100.0]}
    assert found.metrics["memory_bytes"] == Metric(value=1000.0, direction="lower", unit="B", samples={"": [1000.0]})
    assert found.notes == ("2 of 3 runs failed (killed by a signal: 1, exit code 3: 1); their times are in no metric.",)


def test_where_no_run_succeeded_the_time_is_unknown_and_not_zero(tmp_path: Path) -> None:
    found = one(tmp_path, exit_codes=[1, 1])
    assert found.metrics["duration_ms"] == Metric(value=None, direction="lower", unit="ms")
    assert found.metrics["success_rate"].value == 0.0
    assert "|| true" in found.notes[1]


def test_a_file_without_single_times_has_its_mean_and_says_so(tmp_path: Path) -> None:
    found = one(tmp_path, times=..., exit_codes=...)
    assert found.metrics["duration_ms"] == Metric(value=200.0, direction="lower", unit="ms")
    assert "success_rate" not in found.metrics
    assert "no single times" in found.notes[0]


def test_times_of_nothing_are_told(tmp_path: Path) -> None:
    assert "1 of 2 times are 0" in one(tmp_path, times=[0.0, 0.3]).notes[0]


def test_a_command_over_several_lines_is_a_name_on_one(tmp_path: Path) -> None:
    assert one(tmp_path, command="for i in 1 2\n  do\n    sleep $i\n  done").subject == "for i in 1 2 do sleep $i done"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"mean": ...}, "results[0].mean: 'mean' is missing.", id="no mean"),
        pytest.param({"times": [0.1, -0.3]}, "results[0].times[1]: -0.3 is out of range.", id="a negative time"),
        pytest.param({"times": [0.1, 1e101]}, "results[0].times[1]: 1e+101 is out of range.", id="a time past all reason"),
        pytest.param({"times": "fast"}, "results[0].times: Expected a list, not 'fast'.", id="times that are no list"),
        pytest.param({"exit_codes": [0, "1"]}, "results[0].exit_codes[1]: Expected a whole number, not '1'.", id="a code in quotes"),
        pytest.param({"exit_codes": [0]}, "results[0]: The lists are not of the same runs: 2 times, 1 exit_codes.", id="a run too few"),
        pytest.param({"command": " "}, "results[0].command: It is empty. Name the command: hyperfine -n NAME.", id="no name"),
        pytest.param({"command": "x" * 501}, "results[0].command: It is longer than 500 characters.", id="a long name"),
        pytest.param({"command": "a\x00b"}, "results[0].command: It has characters that cannot be shown.", id="a name with a zero byte"),
    ],
)
def test_a_mistake_is_told_with_its_way(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadFile) as raised:
        one(tmp_path, **changes)
    assert problem in str(raised.value)


@installed
def test_the_program_itself(tmp_path: Path) -> None:
    path = tmp_path / "made.json"
    program = ["hyperfine", "-i", "-N", "--runs", "3", "-n", "short", "sleep 0.01", "-n", "failing", "false", "--export-json", str(path)]
    subprocess.run(program, check=True, capture_output=True, timeout=60)
    short, failing = read_results(path)
    assert (short.subject, failing.subject) == ("short", "failing")
    assert len(short.metrics["duration_ms"].samples[""]) == 3
    assert min(short.metrics["duration_ms"].samples[""]) >= 10
    assert failing.metrics["success_rate"].samples == {"": [0.0, 0.0, 0.0]}
    assert failing.metrics["duration_ms"].value is None


@installed
def test_what_the_program_leaves_when_a_command_fails(tmp_path: Path) -> None:
    path = tmp_path / "made.json"
    done = subprocess.run(["hyperfine", "-N", "false", "--export-json", str(path)], check=False, capture_output=True, timeout=60)
    assert done.returncode != 0
    with pytest.raises(NotMeasured, match="hyperfine -i goes on"):
        read_results(path)
