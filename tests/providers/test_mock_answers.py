"""Offline answers make sense: choices, code, repairs, tools, sentences."""

from __future__ import annotations

import re
from typing import Any

import pytest

from flowgauge.model.exchange import Message, ModelRequest, ToolCall, ToolSpec
from flowgauge.providers.mock.answers import Answer, built_in
from flowgauge.providers.mock.dice import Dice


def answer(text: str, *, system: str = "", **request: Any) -> Answer:
    said = [Message(role="system", text=system)] if system else []
    messages = (*said, Message(role="user", text=text), *request.pop("after", ()))
    return built_in(ModelRequest(provider="mock", model="default", messages=messages, **request), Dice(b"seed"))


def function_of(text: str) -> Any:
    code = re.fullmatch(r"```python\n(.*)\n```", text, re.DOTALL)
    assert code, text
    names: dict[str, Any] = {}
    exec(code[1], names)
    return names["run"]


@pytest.mark.parametrize(
    ("prompt", "system", "chosen"),
    [
        ("billing, technical or general? I was charged twice", "", "billing"),
        ("billing, technical or general? The app shows an error", "Answer with one word.", "technical"),
        ("billing, technical or general? Hello there", "", "general"),
        ("Is this positive, negative or neutral? I love it", "", "positive"),
        ("Answer with one of: red, green, blue\nGrass is green", "", "green"),
        ("My parcel never arrived", "Classify as billing, shipping, or technical.", "shipping"),
        ("Does it hold? Say yes or no. All of it is wrong", "", "no"),
    ],
)
def test_a_choice_is_made_by_what_the_prompt_says(prompt: str, system: str, chosen: str) -> None:
    assert answer(prompt, system=system).text == chosen


def test_a_prompt_without_choices_gets_a_sentence_with_its_words() -> None:
    text = answer("Write a friendly answer: my parcel never arrived at the harbour").text
    assert any(word in text for word in ("friendly", "parcel", "never", "arrived", "harbour"))


@pytest.mark.parametrize(
    ("task", "arguments", "result"),
    [
        ("Write a Python function that adds two numbers", {"a": 2, "b": 3}, 5),
        ("Write a Python function: def run(numbers: list) -> dict that gives the average", {"numbers": [1, 2, 3]}, {"result": 2.0}),
        ("In Python, write code with def run(text: str) -> str to make it upper case", {"text": "abc"}, "ABC"),
        ("Write a python function def run(n: int) -> list for the fibonacci series", {"n": 6}, [0, 1, 1, 2, 3, 5]),
        ("Python function def run(word) that checks for a palindrome", {"word": "Racecar"}, True),
        ("Python function def run(alpha, beta) -> dict that frobnicates", {"alpha": 1, "beta": 2}, {"alpha": 1, "beta": 2}),
    ],
)
def test_a_python_task_gets_a_function_that_works(task: str, arguments: dict[str, Any], result: Any) -> None:
    assert function_of(answer(task).text)(**arguments) == result


BROKEN = [
    pytest.param("def run(x):\n    return math.floor(x)\n", "NameError: name 'math' is not defined", {"x": 2.5}, 2, id="import missing"),
    pytest.param("def run(total):\n    return totl + 1\n", "NameError: name 'totl' is not defined", {"total": 1}, 2, id="misspelt name"),
    pytest.param("def run(a, b):\n    return a / b\n", "ZeroDivisionError: division by zero", {"a": 1, "b": 0}, 0, id="division by zero"),
    pytest.param("def run(d):\n    return d['k']\n", "KeyError: 'k'", {"d": {}}, None, id="missing key"),
    pytest.param("def run(xs):\n    return xs[0]\n", "IndexError: list index out of range", {"xs": []}, None, id="empty list"),
    pytest.param(
        "def run(s):\n    return s.uper()\n", "AttributeError: 'str' object has no attribute 'uper'", {"s": "a"}, "A", id="misspelt method"
    ),
    pytest.param(
        "def run(n):\n    return 'n=' + n\n",
        'TypeError: can only concatenate str (not "int") to str',
        {"n": 3},
        "n=3",
        id="text and number",
    ),
    pytest.param("def run(x)\n    return x\n", "SyntaxError: expected ':'", {"x": 1}, 1, id="colon missing"),
    pytest.param("def run(x):\n    return max(x, 2\n", "SyntaxError: '(' was never closed", {"x": 1}, 2, id="bracket open"),
    pytest.param("def run(x):\nreturn x\n", "IndentationError: expected an indented block", {"x": 1}, 1, id="indent missing"),
    pytest.param("def run(é, b):\n    return 'é' + str(é / b)\n", "ZeroDivisionError", {"é": 1, "b": 0}, "é0", id="beyond ASCII"),
]


@pytest.mark.parametrize(("code", "error", "arguments", "result"), BROKEN)
def test_failing_code_is_repaired_as_little_as_needed(code: str, error: str, arguments: dict[str, Any], result: Any) -> None:
    text = answer(f"Repair this code:\n```python\n{code}```\nIt failed:\n{error}").text
    assert function_of(text)(**arguments) == result


def test_failing_code_without_a_fence_is_found() -> None:
    text = answer("Repair this code:\ndef run(a, b):\n    return a / b\n\nIt failed: ZeroDivisionError").text
    assert function_of(text)(a=1, b=0) == 0


def test_an_error_that_is_not_understood_gets_a_working_function_of_the_same_signature() -> None:
    text = answer(
        "Fix it:\n```python\ndef run(items: list) -> dict:\n    return frob(items)\n```\nRuntimeError: strange. It should give the sum."
    ).text
    assert function_of(text)(items=[1, 2]) == {"result": 3}


TOOLS = (
    ToolSpec(name="send_mail", description="Send an email", parameters={"type": "object", "properties": {"to": {"type": "string"}}}),
    ToolSpec(
        name="get_weather",
        description="Weather of a city",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    ),
)


def test_the_tool_that_fits_the_prompt_is_called_then_its_result_is_told() -> None:
    call = answer("How is the weather in Oslo?", tools=TOOLS).tool_calls[0]
    assert (call.name, call.arguments) == ("get_weather", {"city": "Oslo"})
    after = (Message(role="assistant", tool_calls=(call,)), Message(role="tool", tool_call_id=call.id, text="rain, 9 degrees"))
    told = answer("How is the weather in Oslo?", tools=TOOLS, after=after)
    assert not told.tool_calls
    assert "rain, 9 degrees" in told.text


def test_a_new_question_after_an_old_result_calls_a_tool_again() -> None:
    old = ToolCall(id="1", name="get_weather", arguments={"city": "Oslo"})
    after = (
        Message(role="assistant", tool_calls=(old,)),
        Message(role="tool", tool_call_id="1", text="rain"),
        Message(role="assistant", text="It rains."),
        Message(role="user", text="And the weather in Rome?"),
    )
    assert answer("How is the weather in Oslo?", tools=TOOLS, after=after).tool_calls[0].arguments == {"city": "Rome"}
