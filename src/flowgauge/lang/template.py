"""Templates: text with holes, `Dear {{ inputs.name | default("friend") }}`.

In: text. Out: a Template that renders in a scope, or TemplateSyntaxError with
the place. A hole names a value and filters; it never evaluates code, and what
was filled in is never rendered again. Text that is one hole and nothing else
gives the value itself, with its type. `{{{{` stands for two literal braces, and
of three the first is literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from flowgauge.errors import Failed
from flowgauge.lang.filters import FILTERS, to_text
from flowgauge.lang.path import ALL_ROOTS, ExpressionError, Key, Path, Scope

OPEN, ESCAPED = "{{", "{{{{"
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<close>\}\})
    | (?P<name>[A-Za-z_][A-Za-z0-9_-]*)
    | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<mark>[.\[\]|(),])
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_MOST_DIGITS = 18

Part = str | Callable[[Scope], Any]


class TemplateSyntaxError(ExpressionError):
    """A template that cannot be read."""


class Template:
    """A parsed template. `paths` are what it names, in order, each with its offset in the text."""

    __slots__ = ("_hole", "_parts", "paths", "text")

    def __init__(self, text: str, parts: tuple[Part, ...], paths: tuple[Path, ...]) -> None:
        self.text = text
        self.paths = paths
        self._parts = parts
        self._hole = parts[0] if len(parts) == 1 and not isinstance(parts[0], str) else None

    def render(self, scope: Scope) -> Any:
        """The value of a lone hole, else text. Raises errors.Failed where a path leads nowhere."""
        if self._hole is not None:
            return self._hole(scope)
        return "".join([part if isinstance(part, str) else to_text(part(scope)) for part in self._parts])


class _Reader:
    """Reads one hole, from just after its opening braces."""

    def __init__(self, text: str, position: int, roots: frozenset[str]) -> None:
        self.text = text
        self.start = position - len(OPEN)
        self.position = position
        self.roots = roots
        self.kind = self.word = ""
        self.at = position
        self.advance()

    def advance(self) -> None:
        """To the next word; `at` is where it begins."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position :].lstrip()
            if not rest:
                raise TemplateSyntaxError("A hole opens with {{ and never closes.", self.start, "Add }}, or write {{{{ for literal braces.")
            at = len(self.text) - len(rest)
            raise self.wrong(f"'{rest[0]}' cannot stand in a template.", at)
        self.kind = match.lastgroup or ""
        self.word = match[self.kind]
        self.at = match.start(self.kind)
        self.position = match.end()

    def wrong(self, message: str, at: int | None = None, remedy: str = "") -> TemplateSyntaxError:
        usual = 'Write a path such as {{ nodes.a.text }} or {{ inputs.x | default("") }}; {{{{ gives literal braces.'
        return TemplateSyntaxError(message, self.at if at is None else at, remedy or usual)

    def take(self, mark: str) -> bool:
        """Step over a mark if it is the next word."""
        if self.kind == "mark" and self.word == mark:
            self.advance()
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise self.wrong(f"Expected '{mark}' before '{self.word}'.")

    def hole(self) -> tuple[Callable[[Scope], Any], Path]:
        """The whole hole: a path and its filters. Leaves `position` after the closing braces."""
        root, keys, at = self.path()
        steps = []
        while self.take("|"):
            steps.append(self.filter())
        if self.kind != "close":
            raise self.wrong(f"'{self.word}' cannot stand here.", remedy="Close the hole with }} or add a filter with |.")
        path = Path(root, keys, at, any(name == "default" for name, _ in steps))
        return _evaluator(path, steps), path

    def path(self) -> tuple[str, tuple[Key, ...], int]:
        at, root = self.at, self.word
        if self.kind != "name":
            raise self.wrong("A hole must name a value." if self.kind == "close" else f"'{self.word}' is no path.")
        if root not in self.roots:
            raise self.wrong(f"Unknown name '{root}'.", remedy=f"A path begins with {', '.join(sorted(self.roots))}.")
        self.advance()
        keys: list[Key] = []
        while True:
            if self.take("."):
                keys.append(self.name())
            elif self.take("["):
                keys.append(self.index())
                self.expect("]")
            else:
                return root, tuple(keys), at

    def name(self) -> str:
        if self.kind != "name":
            raise self.wrong(f"'{self.word}' is no name.", remedy='Write [0] for an index and ["odd key"] for other keys.')
        word = self.word
        self.advance()
        return word

    def index(self) -> Key:
        if self.kind == "string" or (self.kind == "number" and re.fullmatch(r"-?\d{1,9}", self.word)):
            key: Key = self.literal()
            return key
        raise self.wrong(f"'{self.word}' is no index.", remedy='Write [0] for an index and ["odd key"] for other keys.')

    def filter(self) -> tuple[str, tuple[Any, ...]]:
        at, name = self.at, self.word
        if self.kind != "name" or name not in FILTERS:
            raise self.wrong(f"There is no filter '{name}'.", remedy=f"There are {', '.join(FILTERS)}.")
        self.advance()
        arguments: list[Any] = []
        if self.take("("):
            while not self.take(")"):
                arguments.append(self.literal())
                if not (self.kind == "mark" and self.word == ")"):
                    self.expect(",")
        least, most = FILTERS[name].arguments
        if not least <= len(arguments) <= most:
            allowed = str(least) if least == most else f"{least} to {most}"
            raise self.wrong(f"The filter '{name}' takes {allowed} arguments, not {len(arguments)}.", at, f"Write {name}{_SHAPES[most]}.")
        return name, tuple(arguments)

    def literal(self) -> Any:
        kind, word = self.kind, self.word
        if kind == "name" and word in _WORDS:
            value: Any = _WORDS[word]
        elif kind == "string":
            value = _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), word[1:-1])
        elif kind == "number" and len(word) <= _MOST_DIGITS:
            value = float(word) if set(word) & set(".eE") else int(word)
        else:
            raise self.wrong(f"'{word}' is no literal.", remedy="Write a quoted string, a number, true, false or null.")
        self.advance()
        return value


_SHAPES = {0: " without arguments", 1: "(value)"}


def _evaluator(path: Path, steps: list[tuple[str, tuple[Any, ...]]]) -> Callable[[Scope], Any]:
    find = path.find
    if not steps:
        return find
    filters = [(FILTERS[name].apply, FILTERS[name].takes_null, arguments) for name, arguments in steps]
    optional = path.optional

    def evaluate(scope: Scope) -> Any:
        try:
            value = find(scope)
        except Failed:
            if not optional:
                raise
            value = None
        for apply, takes_null, arguments in filters:
            if value is not None or takes_null:
                value = apply(value, *arguments)
        return value

    return evaluate


@lru_cache(maxsize=4096)
def parse_template(text: str, roots: frozenset[str] = ALL_ROOTS) -> Template:
    """Read a template; the same text is read once. `roots` are the names that a path may begin with."""
    parts: list[Part] = []
    paths: list[Path] = []
    literal: list[str] = []
    position = 0
    while (found := text.find(OPEN, position)) >= 0:
        literal.append(text[position:found])
        if text.startswith(ESCAPED, found):
            literal.append(OPEN)
            position = found + len(ESCAPED)
            continue
        if text.startswith("{{{", found):
            literal.append("{")
            found += 1
        reader = _Reader(text, found + len(OPEN), roots)
        evaluate, path = reader.hole()
        if before := "".join(literal):
            parts.append(before)
        literal = []
        parts.append(evaluate)
        paths.append(path)
        position = reader.position
    if rest := "".join(literal) + text[position:]:
        parts.append(rest)
    return Template(text, tuple(parts), tuple(paths))
