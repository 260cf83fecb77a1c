"""A program as a target."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.run.targets.bench_parts import bench, call, once

from flowgauge.errors import UsageError
from flowgauge.model.bench import Answer
from flowgauge.run.targets.table import TargetServices, make_target

PYTHON = shlex.quote(sys.executable)
SHOW = f"{PYTHON} -c 'import json, sys; print(json.dumps(sys.argv[1:]))'"


def of(command: str, inputs: dict[str, Any] | None = None, config: dict[str, Any] | None = None) -> Answer:
    return once(bench("command", command, inputs, config))


def program(code: str) -> str:
    return f"{PYTHON} -c {shlex.quote(code)}"


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        pytest.param("--ask {{ q }}", ["--ask", "two words; rm -rf / $(x) 'quote"], id="a hole is one argument, whatever fills it"),
        pytest.param("--ask={{ q }}!", ["--ask=two words; rm -rf / $(x) 'quote!"], id="a hole within a word"),
        pytest.param("{{ inputs.q }} {{ n }}", ["two words; rm -rf / $(x) 'quote", "3"], id="inputs by their root, numbers as text"),
        pytest.param("'{{ n }} {{n}}' x", ["3 3", "x"], id="quotes hold words together"),
        pytest.param("--model {{ config.model }}", ["--model", "m1"], id="the configuration"),
        pytest.param('{{ absent | default("}} none") }}', ["}} none"], id="a filter with braces in it"),
    ],
)
def test_holes_are_filled_after_the_line_is_split(arguments: str, seen: list[str]) -> None:
    inputs = {"q": "two words; rm -rf / $(x) 'quote", "n": 3, "absent": None}
    assert of(f"{SHOW} {arguments}", inputs, {"model": "m1"}).output == seen


def test_it_reads_the_inputs_and_finds_config_and_run_id_in_its_environment() -> None:
    code = "import json, os, sys; e = os.environ; print(json.dumps([json.load(sys.stdin), e['FLOWGAUGE_CONFIG'], e['FLOWGAUGE_RUN_ID']]))"
    assert of(program(code), {"a": [1, "ü"]}, {"k": 1}).output == [{"a": [1, "ü"]}, '{"k":1}', "run-0"]


def test_a_report_on_stdout_is_taken_over() -> None:
    answer = of(program('print(\'{"output": "yes", "cost_usd": 0.5, "scores": {"s": 1}}\')'))
    assert (answer.output, answer.cost_usd, answer.scores) == ("yes", 0.5, {"s": 1.0})


def test_text_on_stdout_is_the_output() -> None:
    assert of(program("print('no json'); print('at all')")).output == "no json\nat all"


@pytest.mark.parametrize(
    ("command", "kind", "message"),
    [
        pytest.param(program("import sys; print('why', file=sys.stderr); sys.exit(3)"), "command_failed", "exit code 3", id="an exit code"),
        pytest.param(program("import os; os.kill(os.getpid(), 9)"), "killed", "SIGKILL", id="a signal"),
        pytest.param("no-such-program-anywhere", "command_failed", "Cannot start", id="no such program"),
        pytest.param(f"{PYTHON} {{{{ inputs.gone }}}}", "template", "has no 'gone'", id="a hole that names what is not there"),
    ],
)
def test_what_goes_wrong_is_a_failed_answer(command: str, kind: str, message: str) -> None:
    answer = of(command, {"a": 1})
    assert answer.error is not None
    assert (answer.status, answer.error.kind, message in answer.error.message) == ("failed", kind, True), answer.error.message


def test_what_it_wrote_on_stderr_is_kept_with_its_failure() -> None:
    answer = of(program("import sys; print('because', file=sys.stderr); sys.exit(3)"))
    assert answer.error is not None
    assert "because" in answer.error.detail


def test_a_program_that_writes_without_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowgauge.run.targets.command.MAX_BYTES", 100_000)
    answer = of(program("while True: print('x' * 1000)"))
    assert answer.error is not None
    assert answer.error.kind == "invalid_output"


def test_a_program_that_leaves_a_child_behind_is_over_when_it_ends(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = f"import subprocess; p = subprocess.Popen(['sleep', '600']); open({str(note)!r}, 'w').write(str(p.pid)); print('over')"
    assert of(program(code)).output == "over"
    _is_gone(int(note.read_text()))


def test_a_program_that_nobody_waits_for_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    definition = bench("command", program(f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)"))

    async def give_up() -> None:
        running = asyncio.create_task(call(make_target(definition, TargetServices()), definition))
        while not note.exists() or not note.read_text():
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(give_up())
    _is_gone(int(note.read_text()))


def _is_gone(pid: int) -> None:
    """Waits until it is: one that does not go away fails by the test's own time limit."""
    stat = Path(f"/proc/{pid}/stat")
    while True:
        try:
            if stat.read_text().split()[2] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param("", "empty", id="nothing"),
        pytest.param("agent 'open", "cannot be split", id="an open quote"),
        pytest.param("agent {{ nobody }}", "Unknown name 'nobody'", id="an input that no case has"),
        pytest.param("agent {{ expected.secret }}", "Unknown name 'expected'", id="gold is not shown to targets"),
    ],
)
def test_a_line_that_cannot_be_used_is_refused_before_anything_runs(command: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_target(bench("command", command, {"a": 1}), TargetServices())
