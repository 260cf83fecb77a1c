from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from flowgauge.model.ports import Job, Outcome, Permits
from flowgauge.sandbox import WorkerPool


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def pool(runner: asyncio.Runner) -> Iterator[WorkerPool]:
    pool = WorkerPool(1)
    runner.run(pool.__aenter__())
    yield pool
    runner.run(pool.close())


@pytest.fixture
def outcome_of(runner: asyncio.Runner, pool: WorkerPool) -> Any:
    def call(code: str, **arguments: Any) -> Outcome:
        return runner.run(pool.call(Job(code=code, arguments=arguments)))

    return call


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -1.5, "", "ünï\u2028\U0001f600", 10**30, [], {}, {"a": [1, {"b": None}]}, "x" * 3_000_000,
    ],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_a_json_value_comes_back_as_it_was(outcome_of: Any, value: Any) -> None:
    outcome = outcome_of("def run(x): return x", x=value)
    assert (outcome.failure, outcome.value) == (None, value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("{'x': {1}}", "result['x']: set is not JSON", id="a set in a dict"),
        pytest.param("[0, (1, object())]", "result[1][1]: object is not JSON", id="an object in a tuple in a list"),
        pytest.param("{'a': float('nan')}", "result['a']: nan is not JSON", id="not a number"),
        pytest.param("[float('-inf')]", "result[0]: -inf is not JSON", id="infinity"),
        pytest.param("b'x'", "result: bytes is not JSON", id="bytes"),
        pytest.param("{(1, 2): 0}", "result: a key of type tuple is not JSON ((1, 2))", id="a tuple as key"),
        pytest.param("['\\ud800']", "result[0]: text with a lone surrogate is not UTF-8", id="half a character"),
        pytest.param("(lambda d: d.update(me=d) or d)({})", "result['me']: holds itself", id="a circle"),
    ],
)
def test_what_is_not_json_is_named_with_its_path(outcome_of: Any, expression: str, message: str) -> None:
    outcome = outcome_of(f"def run(): return {expression}")
    assert (outcome.failure, outcome.message) == ("invalid_output", message)


def test_a_result_nested_a_thousand_deep_does_not_take_the_parent_down(outcome_of: Any) -> None:
    outcome = outcome_of("def run():\n  x = []\n  for _ in range(5000): x = [x]\n  return x")
    assert outcome.failure == "invalid_output"
    assert "nested too deeply" in outcome.message


def test_a_result_over_64_mb_is_refused(outcome_of: Any) -> None:
    outcome = outcome_of("def run(): return 'x' * (65 << 20)")
    assert outcome.failure == "invalid_output"
    assert "65 MB" in outcome.message


def test_a_coroutine_function_is_awaited(outcome_of: Any) -> None:
    code = "import asyncio\nasync def run(x):\n  await asyncio.sleep(0.001)\n  return x * 2"
    assert outcome_of(code, x=4).value == 8


def test_another_function_than_run_can_be_named(runner: asyncio.Runner, pool: WorkerPool) -> None:
    outcome = runner.run(pool.call(Job(code="def first(): return 1\ndef second(): return 2", function="second")))
    assert outcome.value == 2


def test_a_traceback_shows_the_users_lines_and_no_frame_of_the_worker(outcome_of: Any) -> None:
    outcome = outcome_of("def half(x):\n    return 1 / x\n\ndef run():\n    return half(0)\n")
    assert outcome.failure == "code_error"
    assert outcome.message == "ZeroDivisionError: division by zero (line 2)"
    assert "line 5, in run\n    return half(0)" in outcome.traceback
    assert "line 2, in half\n    return 1 / x" in outcome.traceback
    assert "guest" not in outcome.traceback


def test_a_traceback_through_asyncio_begins_with_the_users_frame(outcome_of: Any) -> None:
    outcome = outcome_of("async def run():\n    raise ValueError('no')\n")
    first_frame = outcome.traceback.splitlines()[1]
    assert first_frame == '  File "<python code>", line 2, in run'


def test_a_traceback_shows_the_source_of_this_job_and_not_of_the_last(outcome_of: Any) -> None:
    outcome_of("def run():\n    raise ValueError('first')\n")
    shown = outcome_of("def run():\n    raise KeyError('second')\n").traceback
    assert "KeyError('second')" in shown
    assert "first" not in shown


@pytest.mark.parametrize(
    ("code", "arguments", "expected"),
    [
        pytest.param("def run(x): pass", {}, "missing 1 required positional argument: 'x'", id="an argument is missing"),
        pytest.param("def run(x): pass", {"x": 1, "y": 2}, "The call gives: x, y; the function is run(x).", id="one too many"),
        pytest.param("async def run(x): pass", {"y": 2}, "the function is run(x)", id="of a coroutine function"),
        pytest.param("def main(): pass", {}, "no function 'run'. It defines: main.", id="another name"),
        pytest.param("", {}, "It defines no function.", id="nothing at all"),
        pytest.param("def run(:\n  pass", {}, "SyntaxError: invalid syntax (line 1)", id="no python"),
        pytest.param("x = 1\nimport nowhere_to_be_found", {}, "(line 2)", id="a module that is not there"),
        pytest.param("import sys\ndef run(): sys.exit(3)", {}, "The code called sys.exit(3).", id="it exits"),
        pytest.param("def run(): raise KeyboardInterrupt", {}, "KeyboardInterrupt (line 1)", id="it interrupts itself"),
        pytest.param("def run(): return run()", {}, "RecursionError", id="it recurses without end"),
        pytest.param("class E(Exception):\n  def __str__(self): raise E\ndef run(): raise E", {}, "E", id="an error that cannot be shown"),
    ],
)
def test_what_is_wrong_with_the_code_is_said(outcome_of: Any, code: str, arguments: dict[str, Any], expected: str) -> None:
    outcome = outcome_of(code, **arguments)
    assert outcome.failure == "code_error"
    assert expected in outcome.message


def test_a_type_error_inside_the_function_is_not_taken_for_a_wrong_call(outcome_of: Any) -> None:
    outcome = outcome_of("def run():\n    return 1 + 'a'")
    assert outcome.message.startswith("TypeError: unsupported operand")
    assert "The call gives" not in outcome.message


def test_prints_come_back_apart_and_in_order(outcome_of: Any) -> None:
    code = (
        "import os, subprocess, sys\n"
        "def run():\n"
        "    print('one')\n"
        "    subprocess.run(['echo', 'two'], check=True)\n"
        "    os.write(1, b'three\\n')\n"
        "    sys.stdout.write('four')\n"
        "    print('wrong', file=sys.stderr)\n"
    )
    outcome = outcome_of(code)
    assert (outcome.failure, outcome.stdout, outcome.stderr) == (None, "one\ntwo\nthree\nfour", "wrong\n")


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("for _ in range(200): print('x' * 100_000)", id="by print"),
        pytest.param("for _ in range(200): os.write(1, b'x' * 100_000)", id="by the descriptor"),
        pytest.param("subprocess.run(['head', '-c', '20000000', '/dev/zero'])", id="by a subprocess"),
    ],
)
def test_a_flood_is_cut_and_does_not_block(outcome_of: Any, statement: str) -> None:
    outcome = outcome_of(f"import os, subprocess\ndef run():\n    {statement}\n    return 'through'")
    assert outcome.value == "through"
    assert len(outcome.stdout) < 65 * 1024
    assert outcome.stdout.endswith("[cut after 64 KB]")


def test_arguments_that_cannot_be_sent_are_an_outcome(outcome_of: Any) -> None:
    outcome = outcome_of("def run(x): pass", x="\ud800")
    assert outcome.failure == "code_error"
    assert "cannot be sent" in outcome.message


def test_code_may_define_dataclasses_and_import_installed_packages(outcome_of: Any) -> None:
    code = (
        "from __future__ import annotations\n"
        "import dataclasses, yaml\n"
        "@dataclasses.dataclass\n"
        "class Point:\n    x: int\n"
        "def run(): return yaml.safe_load('a: 1') | dataclasses.asdict(Point(2))"
    )
    assert outcome_of(code).value == {"a": 1, "x": 2}


def test_permits_without_effect_share_the_worker(runner: asyncio.Runner, pool: WorkerPool) -> None:
    code = "import os\ndef run(): return os.getpid()"
    first = runner.run(pool.call(Job(code=code)))
    second = runner.run(pool.call(Job(code=code, permits=Permits())))
    assert first.value == second.value
