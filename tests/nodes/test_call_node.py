from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest
from tests.stage import node, run


async def doubled(x: int) -> dict[str, int]:
    return {"twice": 2 * x}


def shouted(text: str) -> str:
    return text.upper()


def returns_coroutine() -> Any:
    return doubled(4)


def raises() -> None:
    raise KeyError("the user's own mistake")


async def raises_timeout() -> None:
    raise TimeoutError("upstream was slow")


async def cancels_itself() -> None:
    raise asyncio.CancelledError


async def ignores_cancel() -> str:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        return "too late"
    return "slept"


def gives(what: str) -> Any:
    circle: list[Any] = []
    values: dict[str, Any] = {
        "a set": {1, 2},
        "a file": sys.stdout,
        "nan": float("nan"),
        "nan inside": {"a": [1.0, float("inf")]},
        "a lone surrogate": "\ud800",
        "a circle": circle,
        "a tuple": (1, 2),
        "nothing": None,
        "yes": True,
        "a number": 3,
        "null inside": {"a": None},
    }
    circle.append(circle)
    return values[what]


class Counter:
    @staticmethod
    def one() -> int:
        return 1


not_callable = 3


def call(function: str, **more: Any) -> dict[str, Any]:
    return {"nodes": [node(id="c", function=f"{__name__}:{function}", **more)]}


@pytest.mark.parametrize(
    ("function", "arguments", "output"),
    [
        pytest.param("doubled", {"x": 4}, {"twice": 8}, id="a coroutine function's object is the output"),
        pytest.param("shouted", {"text": "hi"}, {"value": "HI"}, id="a plain function's other value is under value"),
        pytest.param("returns_coroutine", {}, {"twice": 8}, id="a plain function may hand back a coroutine"),
        pytest.param("Counter.one", {}, {"value": 1}, id="a function inside a class is found"),
        pytest.param("gives", {"what": "a tuple"}, {"value": [1, 2]}, id="a tuple becomes a list"),
        pytest.param("gives", {"what": "nothing"}, {"value": None}, id="None is null"),
        pytest.param("gives", {"what": "yes"}, {"value": True}, id="a boolean stays one"),
        pytest.param("gives", {"what": "a number"}, {"value": 3}, id="a number"),
        pytest.param("gives", {"what": "null inside"}, {"a": None}, id="a null that was None is no lost number"),
    ],
)
def test_answers(function: str, arguments: dict[str, Any], output: Any) -> None:
    assert run(call(function, **{"with": arguments})).output == {"c": output}


@pytest.mark.parametrize(
    ("function", "arguments", "kind", "words"),
    [
        pytest.param("raises", {}, "code_error", "KeyError", id="an exception is told by its name"),
        pytest.param(
            "raises_timeout", {}, "code_error", "TimeoutError: upstream", id="the user's own TimeoutError is no time-out of the node"
        ),
        pytest.param(
            "cancels_itself", {}, "code_error", "cancelled from inside", id="a CancelledError out of the code does not cancel the play"
        ),
        pytest.param("doubled", {"y": 1}, "code_error", "unexpected keyword", id="arguments that do not fit"),
        pytest.param("not_callable", {}, "code_error", "not a function", id="not a function"),
        pytest.param("missing", {}, "code_error", "PYTHONPATH", id="not there, with a remedy"),
        pytest.param("gives", {"what": "a set"}, None, "", id="a set becomes a list"),
        pytest.param("gives", {"what": "a file"}, "invalid_output", "JSON cannot hold", id="a file is no JSON"),
        pytest.param("gives", {"what": "nan"}, "invalid_output", "NaN", id="NaN is not made null in silence"),
        pytest.param("gives", {"what": "nan inside"}, "invalid_output", "infinity", id="nor inside of something"),
        pytest.param("gives", {"what": "a lone surrogate"}, "invalid_output", "JSON cannot hold", id="text that is not UTF-8"),
        pytest.param("gives", {"what": "a circle"}, "invalid_output", "JSON cannot hold", id="a list that holds itself"),
    ],
)
def test_failures(function: str, arguments: dict[str, Any], kind: str | None, words: str) -> None:
    played = run(call(function, timeout_s=20, **{"with": arguments}))
    if kind is None:
        assert played.play.status == "success"
        return
    assert (played.play.status, played.error.kind, played.error.node_id) == ("failed", kind, "c")
    assert words in played.error.message


def test_traceback_is_kept() -> None:
    assert 'raise KeyError("the user\'s own mistake")' in run(call("raises")).error.detail


def test_async_function_that_ignores_its_time_out_has_timed_out_all_the_same() -> None:
    played = run(call("ignores_cancel", timeout_s=0.05))
    assert played.play.status == "timeout"
    assert played.run_of("c").status == "timeout"
    assert played.run_of("c").output is None


def waits_forever() -> None:
    threading.Event().wait()


def test_plain_function_that_hangs_times_out_and_does_not_hold_up_the_end_of_the_program() -> None:
    program = (
        "from tests.stage import node, run\n"
        "played = run({'nodes': [node(id='c', function='tests.nodes.test_call_node:waits_forever', timeout_s=0.05)]})\n"
        "print(played.play.status)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert ended.stdout == "timeout\n", ended.stderr
    assert ended.returncode == 0
