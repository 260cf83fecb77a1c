from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.stage import Played, node, on_stage, run

from flowgauge.providers.mock.profiles import Script, Turn


def python(code: str, **fields: Any) -> dict[str, Any]:
    return node("python", **{"id": "p", "code": code, **fields})


def test_object_is_the_output_and_another_value_is_under_value() -> None:
    both = [python("def run(): return {'a': 1}"), python("def run(): return 7", id="q")]
    assert run({"nodes": both}).output == {"p": {"a": 1}, "q": {"value": 7}}


def test_what_was_printed_is_kept() -> None:
    played = run({"nodes": [python("import sys\ndef run():\n    print('seen')\n    print('oops', file=sys.stderr)\n    return 1")]})
    (step,) = played.run_of("p").steps
    assert step.kind == "python"
    assert step.response == {"stdout": "seen\n", "stderr": "oops\n"}
    assert played.play.isolation == "process"


@pytest.mark.parametrize(
    ("code", "kind", "status", "words"),
    [
        pytest.param("def run(): return 1 / 0", "code_error", "failed", "ZeroDivisionError", id="an exception"),
        pytest.param("def run(:", "code_error", "failed", "SyntaxError", id="code that cannot be read"),
        pytest.param("def other(): pass", "code_error", "failed", "run", id="no such function"),
        pytest.param("def run(): return {1, 2}", "invalid_output", "failed", "set", id="an answer that is no JSON"),
        pytest.param("import os\ndef run(): os._exit(9)", "killed", "failed", "9", id="a crash costs one node"),
        pytest.param("def run():\n    while True: pass", "timeout", "timeout", "0.4", id="a hang is killed"),
    ],
)
def test_failures(code: str, kind: str, status: str, words: str) -> None:
    played = run({"nodes": [python(code, timeout_s=0.4 if kind == "timeout" else 20)]})
    assert (played.error.kind, played.play.status) == (kind, status)
    assert words in played.error.message


def test_code_from_another_node() -> None:
    write = node("ai", id="write", prompt="code")
    nodes = [write, node("python", id="p", needs=["write"], code_from="{{ nodes.write.text }}", function="f", **{"with": {"x": 2}})]
    played = run({"nodes": nodes}, answers=[Script(match="", text="Here:\n```python\ndef f(x):\n    return x + 40\n```")])
    assert played.output["p"] == {"value": 42}


GOOD, BAD = "```python\ndef run(): return 'mended'\n```", "```python\ndef run(): return 1 / 0\n```"


def repaired(*answers: str, tries: int = 3, **fields: Any) -> Played:
    fix = node("ai", id="fix", prompt="Mend {{ repair.code }} because {{ repair.error }}", retry={"max": 0})
    broken = python("def run(): return undefined_name", retry={"max": tries, "backoff_s": 0, "repair": "fix"}, **fields)
    return run({"nodes": [broken, fix]}, answers=[Script(match="", turns=tuple(Turn(text=text) for text in answers))])


def test_repair_leads_to_success() -> None:
    played = repaired(GOOD)
    assert played.output == {"p": {"value": "mended"}}
    assert played.stage.journal.log == ["play_started", "p#1", "p/repair[1]#1", "p#2", "play_finished"]
    assert played.play.retries == 1
    asked = played.stage.model.requests[0].messages[0].text
    assert "undefined_name" in asked
    assert "NameError" in asked
    assert played.play.tokens_prompt == played.run_of("p/repair[1]").tokens_prompt > 0


def test_second_repair_is_given_the_code_of_the_first() -> None:
    answers = [Script(match="undefined_name", text=BAD), Script(match="1 / 0", text=GOOD)]
    fix = node("ai", id="fix", prompt="{{ repair.code }} {{ repair.error }}")
    broken = python("def run(): return undefined_name", retry={"max": 3, "backoff_s": 0, "repair": "fix"})
    played = run({"nodes": [fix, broken]}, answers=answers)
    assert played.output == {"p": {"value": "mended"}}
    assert "ZeroDivisionError" in played.stage.model.requests[1].messages[0].text
    assert played.play.retries == 2


def test_repairs_that_do_not_help_end_with_the_node_s_own_failure() -> None:
    played = repaired(BAD, tries=2)
    assert played.error.kind == "code_error"
    assert "ZeroDivisionError" in played.error.message
    assert [run.node_id for run in played.stage.journal.runs] == ["p", "p/repair[1]", "p", "p/repair[2]", "p"]
    assert played.play.retries == 2


def test_repair_that_fails_itself_leaves_the_node_s_failure_and_says_so() -> None:
    fix = node("ai", id="fix", prompt="x", config={"model": "mock/broken", "max_retries": 0})
    broken = python("def run(): return undefined_name", retry={"max": 3, "backoff_s": 0, "repair": "fix"})
    error = run({"nodes": [broken, fix]}).error
    assert error.kind == "code_error"
    assert error.node_id == "p"
    assert "NameError" in error.message
    assert "The repair by fix failed too" in error.message


def test_node_on_call_never_runs_by_itself_even_when_it_waits_for_something() -> None:
    fix = node("ai", id="fix", prompt="x", needs=["first"])
    nodes = [python("def run(): return 1", id="first"), python("def run(): return 2", retry={"max": 1, "repair": "fix"}), fix]
    assert run({"nodes": nodes}).stage.status() == {"first": "success", "p": "success"}


def test_cancel_kills_the_worker(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    code = f"import time\ndef run():\n    open({str(flag)!r}, 'w').close()\n    time.sleep(0.7)\n    open({str(flag) + '2'!r}, 'w').close()"

    async def scenario() -> None:
        async with on_stage() as stage:
            nodes = [python(code, allow={"write": [str(tmp_path)]})]
            task = asyncio.create_task(stage.play({"nodes": nodes}, sid="pl_1"))
            while not flag.exists():
                await asyncio.sleep(0.005)
            stage.engine.cancel("pl_1")
            assert (await task).status == "cancelled"
            assert stage.run_of("p").error is not None
            await asyncio.sleep(1.0)
            assert not Path(f"{flag}2").exists(), "the code ran on"

    asyncio.run(scenario())
