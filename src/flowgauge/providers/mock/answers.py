"""What the mock says where no script does: an answer that fits what was asked.

A request and dice in, text or tool calls out. JSON for a schema, a call for a
tool that nobody has called yet, code for a task in Python, one of the offered
options, else a sentence with words of the prompt. Reads no clock, keeps no state.
"""

from __future__ import annotations

import re

import msgspec

from flowgauge.model.exchange import Message, ModelRequest, ToolCall, ToolSpec
from flowgauge.providers.mock.choices import choose, offered
from flowgauge.providers.mock.code import mended, wants_code, wants_repair, written
from flowgauge.providers.mock.dice import Dice
from flowgauge.providers.mock.schema import conforming
from flowgauge.providers.mock.values import keywords, sentence


class Answer(msgspec.Struct, frozen=True):
    """What the mock says, before latency, faults and counting."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


def last_user_text(request: ModelRequest) -> str:
    """What the user said last."""
    return next((message.text for message in reversed(request.messages) if message.role == "user"), "")


def system_text(request: ModelRequest) -> str:
    """All instructions."""
    return "\n".join(message.text for message in request.messages if message.role == "system")


def built_in(request: ModelRequest, dice: Dice) -> Answer:
    """The first kind of answer that fits the request."""
    asked = last_user_text(request)
    results = _results(request.messages)
    if request.tools and not results:
        return Answer(tool_calls=(_call(request.tools, asked, dice),))
    if request.schema is not None:
        return Answer(msgspec.json.encode(conforming(request.schema, asked, dice)).decode())
    if results:
        return Answer(_told(results, asked))
    return Answer(_said(asked, system_text(request), dice))


def _said(asked: str, system: str, dice: Dice) -> str:
    if wants_repair(asked):
        return mended(asked)
    if wants_code(asked) or (wants_code(system) and len(asked) > 0):
        return written(asked)
    for offering, rest in ((asked, ""), (system, asked)):
        options, without = offered(offering)
        if options:
            return choose(options, f"{without} {rest}", dice)
    return sentence(asked or system, dice)


def _results(messages: tuple[Message, ...]) -> list[str]:
    """What tools said since the user spoke."""
    told: list[str] = []
    for message in reversed(messages):
        if message.role == "user":
            break
        if message.role == "tool":
            told.append(message.text)
    return told[::-1]


def _call(tools: tuple[ToolSpec, ...], asked: str, dice: Dice) -> ToolCall:
    """The tool whose name and description share most words with the prompt; the first of equals."""
    said = set(keywords(asked))

    def shared(tool: ToolSpec) -> int:
        return len(said & set(keywords(f"{re.sub('[_-]+', ' ', tool.name)} {tool.description}")))

    chosen = max(tools, key=shared)
    arguments = conforming(chosen.parameters, asked, dice)
    return ToolCall(id=f"call_{dice.word():016x}", name=chosen.name, arguments=arguments if isinstance(arguments, dict) else {})


def _told(results: list[str], asked: str) -> str:
    topic = " and ".join(keywords(asked)[:2]) or "that"
    return f"About {topic}: {' '.join(result.strip()[:400] for result in results)}"
