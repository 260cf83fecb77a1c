from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.stage import node, on_stage, run

SHELL = "/bin/sh"


def command(*argv: str, **more: Any) -> dict[str, Any]:
    return {"inputs": [{"name": "x", "type": "object"}], "nodes": [node("command", id="c", argv=list(argv), **more)]}


def python(code: str, **more: Any) -> dict[str, Any]:
    return command(sys.executable, "-c", code, **more)


def out(played: Any) -> Any:
    return played.output["c"]


def test_output_of_a_program_and_its_json() -> None:
    output = out(run(command("echo", '{"a": 1}')))
    assert output == {"exit_code": 0, "stdout": '{"a": 1}\n', "stderr": "", "json": {"a": 1}}


def test_argument_with_spaces_and_shell_words_stays_one_argument() -> None:
    text = "a b; rm -rf $HOME `ls`"
    assert out(run(command("printf", "%s|", "{{ inputs.x.text }}", "end"), {"x": {"text": text}}))["stdout"] == f"{text}|end|"


def test_value_that_is_no_text_is_given_as_json() -> None:
    assert out(run(command("printf", "%s", "{{ inputs.x }}"), {"x": {"a": [1]}}))["stdout"] == '{"a":[1]}'


def test_stdin_reaches_the_program() -> None:
    assert out(run(command("cat", stdin="{{ inputs.x.text }}"), {"x": {"text": "grüße"}}))["stdout"] == "grüße"


def test_program_may_ignore_much_stdin() -> None:
    assert out(run(command("true", stdin="x" * 5_000_000)))["exit_code"] == 0


def test_program_that_waits_for_stdin_sees_its_end() -> None:
    assert out(run(command("cat")))["stdout"] == ""


def test_environment_is_clean_but_for_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do not pass on")
    monkeypatch.setenv("WANTED", "yes")
    seen = out(run(python("import json, os; print(json.dumps(dict(os.environ)))", env=["WANTED"])))["json"]
    assert seen["WANTED"] == "yes"
    assert "SECRET_TOKEN" not in seen


def test_working_folder(tmp_path: Path) -> None:
    assert out(run(command("pwd", cwd=str(tmp_path))))["stdout"].strip() == str(tmp_path.resolve())


def test_exit_code_that_is_expected_is_a_success() -> None:
    assert out(run(command("false", expect=[0, 1])))["exit_code"] == 1


@pytest.mark.parametrize(
    ("workflow", "kind", "words"),
    [
        pytest.param(command("false"), "command_failed", "exit code 1", id="an exit code that is not expected"),
        pytest.param(command("no-such-program-here"), "command_failed", "PATH", id="a program that is not there, with a remedy"),
        pytest.param(command("true", cwd="/no/such/folder"), "command_failed", "/no/such/folder", id="a folder that is not there"),
        pytest.param(command("echo", "a\0b"), "command_failed", "null byte", id="an argument that no program can be given"),
        pytest.param(python("import os; os.kill(os.getpid(), 9)"), "command_failed", "SIGKILL", id="a signal is named"),
        pytest.param(python("while True: print('x' * 9999)", max_bytes=100_000), "invalid_output", "max_bytes", id="a flood is stopped"),
        pytest.param(
            python("import sys\nwhile True: print('x' * 9999, file=sys.stderr)", max_bytes=100_000),
            "invalid_output",
            "100000",
            id="on stderr too",
        ),
    ],
)
def test_failures(workflow: dict[str, Any], kind: str, words: str) -> None:
    error = run(workflow).error
    assert error.kind == kind
    assert words in error.message


def test_failure_shows_what_the_program_said_last() -> None:
    assert "reason 42" in run(command(SHELL, "-c", "echo reason 42 >&2; exit 3")).error.detail


GRANDCHILD = "sleep 300 & echo $! > {file}; wait"


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_time_out_kills_the_program_and_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    async def scenario() -> None:
        async with on_stage() as stage:
            play = await stage.play(command(SHELL, "-c", GRANDCHILD.format(file=file), timeout_s=0.5))
            assert play.status == "timeout"
            await until(lambda: gone(int(file.read_text())))

    asyncio.run(scenario())


def test_cancel_kills_the_program_and_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    async def scenario() -> None:
        async with on_stage() as stage:
            task = asyncio.create_task(stage.play(command(SHELL, "-c", GRANDCHILD.format(file=file)), sid="pl_1"))
            await until(lambda: file.exists() and file.read_text().strip())
            assert stage.engine.cancel("pl_1")
            play = await task
            assert play.status == "cancelled"
            assert stage.run_of("c").status == "cancelled"
            await until(lambda: gone(int(file.read_text())))

    asyncio.run(scenario())


def test_program_that_leaves_a_child_behind_is_over_when_it_ends_itself(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    async def scenario() -> None:
        async with on_stage() as stage:
            play = await stage.play(command(SHELL, "-c", f"sleep 300 & echo $! > {file}; echo done", timeout_s=60))
            assert play.status == "success"
            assert play.output["c"]["stdout"] == "done\n"
            await until(lambda: gone(int(file.read_text())))

    asyncio.run(scenario())


def test_retry_of_a_command(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    played = run(command(SHELL, "-c", f"test -e {flag} || {{ touch {flag}; exit 1; }}", retry={"max": 1, "backoff_s": 0}))
    assert played.play.status == "success"
    assert played.play.retries == 1


def test_nothing_is_left_of_this_process_s_children() -> None:
    before = {child.pid for child in psutil.Process(os.getpid()).children()}
    run(command("true"))
    after = {child.pid for child in psutil.Process(os.getpid()).children()}
    assert after <= before
