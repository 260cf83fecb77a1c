"""AgentLoom's templates and expressions, rewritten: `{state.x[0].y}` and `state.x == 'a'`.

In: text of a step. Out: text of a node, or None with the problem noted.
"""

from __future__ import annotations

import ast
import re
from string import Formatter
from typing import Any

from flowgauge.define.agentloom.state import Source, State, Step
from flowgauge.documents.document import Way
from flowgauge.lang.condition import parse_condition
from flowgauge.lang.filters import to_json
from flowgauge.lang.path import ExpressionError, Key

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w.\[\]-]*)\}")
_PART = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")


class Rewriter:
    """Rewrites the text of one step."""

    def __init__(self, state: State, step: Step | None) -> None:
        self.state = state
        self.step = step

    def prompt(self, text: str, way: Way) -> str:
        """A prompt: Python's format syntax, `{{` for a literal brace."""
        pieces: list[str] = []
        try:
            for literal, field, form, conversion in Formatter().parse(text):
                pieces.append(escape(literal))
                if field is not None:
                    pieces.append(self._field(field, form or "", conversion or "", way))
        except ValueError as error:
            self.state.findings.add(way, f"The template cannot be read: {error}.", "Write {{ and }} for literal braces.")
        return "".join(pieces)

    def argument(self, value: Any, way: Way) -> Any:
        """A tool's argument: `state.x` alone, or text with `{state.x}` in it."""
        if isinstance(value, dict) and set(value) == {"value", "template"} and value["template"] is False:
            return escape(value["value"]) if isinstance(value["value"], str) else value["value"]
        if isinstance(value, dict):
            return {key: self.argument(entry, (*way, key)) for key, entry in value.items()}
        if isinstance(value, list):
            return [self.argument(entry, (*way, index)) for index, entry in enumerate(value)]
        if not isinstance(value, str):
            return value
        if value.startswith("state."):
            return self.hole(keys_of(value.removeprefix("state.")), way)
        return "".join(self._placeholder(piece, number, way) for number, piece in enumerate(_PLACEHOLDER.split(value)))

    def expression(self, text: str, way: Way) -> str:
        """A router's expression, held to what conditions allow."""
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.state.findings.add(way, "The expression cannot be read.", "Write a comparison such as state.x == 'a'.")
            return "true"
        raw = text.strip().encode()
        for start, end, keys in sorted(_chains(tree.body), reverse=True):
            source = self.state.source(keys, self.step, way) if keys else None
            raw = raw[:start] + _as_operand(source).encode() + raw[end:]
        condition = raw.decode()
        try:
            parse_condition(condition)
        except ExpressionError as error:
            self.state.findings.add(way, f"The expression '{text.strip()}' cannot be carried over: {error.message}", error.remedy)
            return "true"
        return condition

    def hole(self, keys: tuple[Key, ...], way: Way) -> str:
        """A value as a template."""
        source = self.state.source(keys, self.step, way)
        if source is None:
            return ""
        if isinstance(source.default, (str, int, float)):
            return f"{{{{ {source.paths[0]} | default({to_json(source.default)}) }}}}"
        if source.default is not None:  # an object or array cannot be written into a template
            self.state.findings.warn(way, f"The initial value of state.{keys[0]} is not used where no step wrote it.")
        return "".join(f"{{{{ {path} }}}}" for path in source.paths)

    def _field(self, field: str, form: str, conversion: str, way: Way) -> str:
        keys = keys_of(field)
        if keys[:1] == ("state",):
            keys = keys[1:]
        elif not keys or not self.state.knows(str(keys[0])):
            shown = field + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            return escape("{" + shown + "}")
        if form or conversion:
            self.state.findings.add(way, f"The format of {{{field}}} cannot be carried over.", "Remove what follows : or !.")
        if not keys:
            self.state.findings.add(way, "The state as a whole cannot be carried over.", "Name the keys that are meant.")
            return ""
        return self.hole(keys, way)

    def _placeholder(self, piece: str, number: int, way: Way) -> str:
        """Pieces of odd number are names between braces."""
        return escape(piece) if number % 2 == 0 else self._field(piece, "", "", way)


def escape(literal: str) -> str:
    """Literal text of a template."""
    return literal.replace("{{", "{{{{")


def keys_of(path: str) -> tuple[Key, ...]:
    """`x[0].y` as keys."""
    keys: list[Key] = []
    for name, index in _PART.findall(path):
        text = name or index.strip("'\"")
        keys.append(int(text) if index and re.fullmatch(r"-?\d{1,9}", index) else text)
    return tuple(keys)


def _as_operand(source: Source | None) -> str:
    if source is None:
        return "null"
    default = [to_json(source.default)] if isinstance(source.default, (str, int, float)) else []
    terms = [*source.paths, *default]
    return terms[0] if len(terms) == 1 else f"({' or '.join(terms)})"


def _chains(node: ast.AST, called: bool = False) -> list[tuple[int, int, tuple[Key, ...]]]:
    """Every `state.…` of an expression: where it stands, and its keys. A method that is called is no key."""
    keys: list[Key] = []
    inner = node
    if called and isinstance(inner, ast.Attribute):
        inner = inner.value
    whole = inner
    while isinstance(inner, (ast.Attribute, ast.Subscript)):
        key = inner.attr if isinstance(inner, ast.Attribute) else _literal(inner.slice)
        if key is None:
            break
        keys.append(key)
        inner = inner.value
    if isinstance(inner, ast.Name) and inner.id == "state" and keys and isinstance(whole, ast.expr):
        return [(whole.col_offset, whole.end_col_offset or 0, tuple(reversed(keys)))]
    found: list[tuple[int, int, tuple[Key, ...]]] = []
    for child in ast.iter_child_nodes(node):
        found += _chains(child, called=isinstance(node, ast.Call) and child is node.func)
    return found


def _literal(node: ast.expr) -> Key | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None
