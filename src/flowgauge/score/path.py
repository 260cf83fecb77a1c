"""Where a check looks: `output`, `output.items[*].price`, `nodes.classify.text`, `output["odd key"][-1]`.

In: a path as written. Out: a function of an answer that gives the value there,
Matches for a path with `[*]`, or Missing with the reason. Text that is stepped
into is read as JSON, with or without a fence around it. Refuses other roots.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from flowgauge.errors import Failed
from flowgauge.lang.path import ExpressionError, Key, step, template_failure
from flowgauge.model.bench import Answer
from flowgauge.model.workflow import Json

_ROOT = re.compile(r"output|nodes")
_STEP = re.compile(r"""\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|\[(?:(?P<index>-?\d{1,9})|(?P<every>\*)|(?P<quoted>"(?:[^"\\]|\\.)*"))\]""")
_FENCE = "```"

Step = tuple[Key | None, str]
"""A key, or None for [*]; and the path up to it, for reasons."""


class Missing(msgspec.Struct, frozen=True):
    """The path leads nowhere."""

    reason: str


class Matches(list[Json]):
    """All that a path with [*] finds."""


Find = Callable[[Answer], Json]


def compile_path(text: str) -> Find:
    """Read a path. Raises ExpressionError."""
    root = _ROOT.match(text)
    if root is None:
        raise ExpressionError(f"'{text}' is no path into a result.", 0, "Begin with output or nodes.")
    steps = _steps(text, root.end())
    if root[0] == "output":
        return (lambda answer: answer.output) if not steps else lambda answer: _follow(answer.output, steps)
    node = steps[0][0] if steps else None
    if not isinstance(node, str):
        raise ExpressionError("A path into nodes names one.", root.end(), "Write nodes.ID or nodes.ID.text.")
    return lambda answer: _follow(_node(answer, node), steps[1:])


def _steps(text: str, at: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise ExpressionError(f"'{text[at:]}' cannot stand in a path.", at, 'Write .name, [0], [-1], [*] or ["odd key"].')
        steps.append((_key(found), text[:at]))
        at = found.end()
    return tuple(steps)


def _key(found: re.Match[str]) -> Key | None:
    if found["index"] is not None:
        return int(found["index"])
    if found["quoted"] is not None:
        return re.sub(r"\\(.)", r"\1", found["quoted"][1:-1], flags=re.DOTALL)
    return found["name"]


def _node(answer: Answer, node: str) -> Json:
    if node not in answer.nodes:
        there = ", ".join(answer.nodes) or "none"
        raise template_failure(f"The target has no node '{node}'; there is {there}.")
    return answer.nodes[node]


def _follow(value: Json, steps: tuple[Step, ...]) -> Json:
    values = [value]
    for key, here in steps:
        try:
            values = [below for one in values for below in _below(one, key, here)]
        except Failed as error:
            return Missing(error.failure.message.replace("The value", here, 1))
    return Matches(values) if any(key is None for key, _ in steps) else values[0]


def _below(value: Json, key: Key | None, here: str) -> list[Json]:
    if isinstance(value, str):
        value = read_json(value, here)
    if key is not None:
        if value is None:
            raise template_failure(f"{here} is null.")
        return [step(value, key)]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    raise template_failure(f"{here} is neither an array nor an object.")


def read_json(text: str, what: str) -> Json:
    """The JSON that a text is, or holds in its first fence. Linear in its length. Raises Failed."""
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        problem: Exception = error
    opened = text.find(_FENCE)
    begin = text.find("\n", opened) if opened >= 0 else -1
    end = text.find(_FENCE, begin) if begin >= 0 else -1
    if end >= 0:
        try:
            return msgspec.json.decode(text[begin:end].encode())
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
            problem = error
    raise template_failure(f"{what} is text and not JSON: {problem}.")
