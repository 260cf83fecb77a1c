"""Text with holes for a command line or a URL: `./agent --ask {{ question }}`.

A hole may name an input directly, or inputs.…, config.…; filters work as in
workflows. What fills one hole never becomes more than one argument, and never
anything but a value in a URL.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from flowgauge.errors import UsageError
from flowgauge.lang.filters import to_text
from flowgauge.lang.path import ExpressionError
from flowgauge.lang.template import Template, parse_template
from flowgauge.model.bench import Case, Configuration
from flowgauge.model.workflow import Json
from flowgauge.run.targets.reported import config_of

_HOLE = re.compile(r"""\{\{(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^"'{}]|\}(?!\}))*\}\}""")
_MARK = "\x00{}\x00"
_MARKED = re.compile("\x00([0-9]+)\x00")
Part = str | Template


class Holes:
    """One piece of text, ready to be filled."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = tuple(parts)

    def fill(self, scope: Mapping[str, Any], spell: Callable[[str], str] = str) -> str:
        """The text. Raises errors.Failed where a hole names what is not there."""
        return "".join([part if isinstance(part, str) else spell(to_text(part.render(scope))) for part in self._parts])


def argument_list(text: str, inputs: Iterable[str]) -> list[Holes]:
    """A command line, split as a shell would before anything is filled in."""
    marked, templates = _cut(text, inputs)
    try:
        words = shlex.split(marked)
    except ValueError as error:
        raise UsageError(f"The command cannot be split into words: {error}: {text}", remedy="Close the quotes.") from error
    if not words:
        raise UsageError("The command is empty.", remedy="Write command:PROGRAM ARGUMENT …")
    return [Holes(_parts(word, templates)) for word in words]


def url_parts(text: str, inputs: Iterable[str]) -> Holes:
    """A URL; fill it with `percent`."""
    marked, templates = _cut(text, inputs)
    return Holes(_parts(marked, templates))


def percent(text: str) -> str:
    """As a value stands in a URL."""
    return quote(text, safe="")


def scope_of(configuration: Configuration, case: Case) -> dict[str, Json]:
    """What holes may name. Gold is not among it: a target must not see what is right."""
    return {**case.inputs, "inputs": case.inputs, "config": config_of(configuration.workflow_overrides)}


def input_names(cases: Iterable[Case]) -> frozenset[str]:
    """Every input that some case has."""
    return frozenset(name for case in cases for name in case.inputs)


def _cut(text: str, inputs: Iterable[str]) -> tuple[str, list[Template]]:
    roots = frozenset(inputs) | {"inputs", "config"}
    templates: list[Template] = []

    def take(match: re.Match[str]) -> str:
        try:
            templates.append(parse_template(match[0], roots))
        except ExpressionError as error:
            raise UsageError(f"{match[0]}: {error.message}", remedy=error.remedy) from error
        return _MARK.format(len(templates) - 1)

    return _HOLE.sub(take, text.replace("\x00", "")), templates


def _parts(text: str, templates: list[Template]) -> Iterable[Part]:
    for position, piece in enumerate(_MARKED.split(text)):
        if position % 2:
            yield templates[int(piece)]
        elif piece:
            yield piece
