"""Conditions: a small expression language for `when` and `branch`.

In: text. Out: a Condition that says yes or no in a scope, or
ConditionSyntaxError with the place and what is allowed. Python's grammar is
used to read, never to run: the allow-listed nodes become closures. Sizes are
bounded, so that no condition can eat time or memory.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from flowgauge.lang.operators import ARITHMETIC, COMPARISONS, METHODS, call_len, call_method, negative
from flowgauge.lang.path import ALL_ROOTS, ExpressionError, Key, Path, Scope, step

MAX_LENGTH = 4000
MAX_DEPTH = 60
MAX_INTEGER = 2**63
ALLOWED = (
    "Allowed are paths, literals, lists, comparison, and/or/not, in, + - * / // %, len() "
    "and the string methods strip, lower, upper, startswith, endswith, split."
)

Evaluate = Callable[[Scope], Any]
_WORDS = {"true": True, "false": False, "null": None}


class ConditionSyntaxError(ExpressionError):
    """A condition that cannot be read or asks for what is not allowed."""


class Condition:
    """A parsed condition. `paths` are the values it names, each with its offset in the text."""

    __slots__ = ("_evaluate", "paths", "text")

    def __init__(self, text: str, evaluate: Evaluate, paths: tuple[Path, ...]) -> None:
        self.text = text
        self.paths = paths
        self._evaluate = evaluate

    def evaluate(self, scope: Scope) -> bool:
        """Does it hold? Raises errors.Failed where values do not fit."""
        return bool(self._evaluate(scope))

    def value(self, scope: Scope) -> Any:
        """What the expression gives before it is taken as yes or no."""
        return self._evaluate(scope)


@lru_cache(maxsize=2048)
def parse_condition(text: str, roots: frozenset[str] = ALL_ROOTS) -> Condition:
    """Read a condition; the same text is read once. `roots` are the names that a path may begin with."""
    if len(text) > MAX_LENGTH:
        raise ConditionSyntaxError(f"The condition has {len(text)} characters.", 0, f"At most {MAX_LENGTH} are allowed.")
    line = text.replace("\r", " ").replace("\n", " ")
    indent = len(line) - len(line.lstrip())
    source = line.strip()
    if not source:
        raise ConditionSyntaxError("The condition is empty.", 0, "Write a comparison such as inputs.x == 'a', or leave it out.")
    compiler = _Compiler(source, indent, roots)
    return Condition(text, compiler.compile(_parse(source, indent).body, 0), tuple(compiler.paths))


def _parse(source: str, indent: int) -> ast.Expression:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, mode="eval")
    except SyntaxError as error:
        at = indent + max((error.offset or 1) - 1, 0)
        raise ConditionSyntaxError(f"The condition cannot be read: {error.msg}.", at, ALLOWED) from None
    except (ValueError, RecursionError, MemoryError):
        raise ConditionSyntaxError("The condition cannot be read.", indent, ALLOWED) from None


class _Compiler:
    """Turns allow-listed syntax into closures and collects the paths on the way."""

    def __init__(self, source: str, indent: int, roots: frozenset[str]) -> None:
        self.source = source.encode("utf-8", "surrogatepass")
        self.indent = indent
        self.roots = roots
        self.paths: list[Path] = []

    def offset(self, node: ast.expr) -> int:
        """Syntax trees count bytes; people count characters."""
        return self.indent + len(self.source[: node.col_offset].decode("utf-8", "ignore"))

    def refuse(self, node: ast.expr, message: str, remedy: str = ALLOWED) -> ConditionSyntaxError:
        return ConditionSyntaxError(message, self.offset(node), remedy)

    def compile(self, node: ast.expr, depth: int) -> Evaluate:
        if depth > MAX_DEPTH:
            raise self.refuse(node, "The condition is nested too deeply.", f"At most {MAX_DEPTH} levels are allowed.")
        compile_kind = _KINDS.get(type(node))
        if compile_kind is None:
            raise self.refuse(node, f"{_spoken(node)} is not allowed in a condition.")
        return compile_kind(self, node, depth + 1)

    def constant(self, node: ast.Constant, _: int) -> Evaluate:
        value = node.value
        if value is not None and not isinstance(value, (str, bool, int, float)):
            raise self.refuse(node, f"A literal of type {type(value).__name__} is not allowed in a condition.")
        if type(value) is int and value >= MAX_INTEGER:
            raise self.refuse(node, "The number is too large.", "Integers of up to 63 bits are allowed.")
        return lambda _: value

    def name(self, node: ast.Name, _: int) -> Evaluate:
        if node.id in _WORDS:
            value = _WORDS[node.id]
            return lambda _: value
        return self.path(node, ())

    def path(self, root: ast.Name, keys: tuple[Key, ...]) -> Evaluate:
        if root.id not in self.roots:
            remedy = (
                f'A path begins with {", ".join(sorted(self.roots))}; text stands in quotes; write nodes["a-b"] for a name with a dash.'
            )
            raise self.refuse(root, f"Unknown name '{root.id}'.", remedy)
        path = Path(root.id, keys, self.offset(root))
        self.paths.append(path)
        return path.find

    def access(self, node: ast.Attribute | ast.Subscript, depth: int) -> Evaluate:
        """a.b, a["b"], a[0]: the longest chain from a name is one path."""
        keys: list[Key] = []
        inner: ast.expr = node
        while isinstance(inner, (ast.Attribute, ast.Subscript)):
            keys.append(inner.attr if isinstance(inner, ast.Attribute) else self.index(inner.slice))
            inner = inner.value
        way = tuple(reversed(keys))
        if isinstance(inner, ast.Name) and inner.id not in _WORDS:
            return self.path(inner, way)
        base = self.compile(inner, depth)

        def follow(scope: Scope) -> Any:
            value = base(scope)
            for key in way:
                value = None if value is None else step(value, key)
            return value

        return follow

    def index(self, node: ast.expr) -> Key:
        sign = 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            sign, node = -1, node.operand
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and sign == 1:
                return node.value
            if type(node.value) is int and node.value < MAX_INTEGER:
                return sign * node.value
        raise self.refuse(node, "An index must be a number or a quoted key.", 'Write items[0] or inputs["odd key"].')

    def boolean(self, node: ast.BoolOp, depth: int) -> Evaluate:
        terms = [self.compile(term, depth) for term in node.values]
        stops_on = isinstance(node.op, ast.Or)

        def evaluate(scope: Scope) -> Any:
            value: Any = None
            for term in terms:
                value = term(scope)
                if bool(value) is stops_on:
                    break
            return value

        return evaluate

    def unary(self, node: ast.UnaryOp, depth: int) -> Evaluate:
        operand = self.compile(node.operand, depth)
        if isinstance(node.op, ast.Not):
            return lambda scope: not operand(scope)
        if isinstance(node.op, ast.USub):
            return lambda scope: negative(operand(scope))
        raise self.refuse(node, f"{_spoken(node.op)} is not allowed in a condition.")

    def arithmetic(self, node: ast.BinOp, depth: int) -> Evaluate:
        operate = ARITHMETIC.get(type(node.op))
        if operate is None:
            raise self.refuse(node, f"{_spoken(node.op)} is not allowed in a condition.")
        left, right = self.compile(node.left, depth), self.compile(node.right, depth)
        return lambda scope: operate(left(scope), right(scope))

    def comparison(self, node: ast.Compare, depth: int) -> Evaluate:
        first = self.compile(node.left, depth)
        links = []
        for operator, operand in zip(node.ops, node.comparators, strict=True):
            compare = COMPARISONS.get(type(operator))
            if compare is None:
                raise self.refuse(operand, f"{_spoken(operator)} is not allowed in a condition.", "Compare with == and !=.")
            links.append((compare, self.compile(operand, depth)))

        def evaluate(scope: Scope) -> bool:
            left = first(scope)
            for compare, operand in links:
                right = operand(scope)
                if not compare(left, right):
                    return False
                left = right
            return True

        return evaluate

    def array(self, node: ast.List | ast.Tuple, depth: int) -> Evaluate:
        items = [self.compile(item, depth) for item in node.elts]
        return lambda scope: [item(scope) for item in items]

    def call(self, node: ast.Call, depth: int) -> Evaluate:
        if node.keywords:
            raise self.refuse(node, "Named arguments are not allowed in a condition.")
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            return self.method(node, node.func, depth)
        if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
            measured = self.compile(node.args[0], depth)
            return lambda scope: call_len(measured(scope))
        called = ast.unparse(node.func) if depth < MAX_DEPTH else "This"
        raise self.refuse(node, f"Calling '{called[:60]}' is not allowed in a condition.")

    def method(self, node: ast.Call, function: ast.Attribute, depth: int) -> Evaluate:
        name = function.attr
        least, most = METHODS[name]
        if not least <= len(node.args) <= most:
            raise self.refuse(node, f"{name}() takes {least} to {most} arguments, not {len(node.args)}.")
        subject = self.compile(function.value, depth)
        arguments: Sequence[Evaluate] = [self.compile(argument, depth) for argument in node.args]
        return lambda scope: call_method(name, subject(scope), [argument(scope) for argument in arguments])


_KINDS: dict[type[ast.expr], Callable[[_Compiler, Any, int], Evaluate]] = {
    ast.Constant: _Compiler.constant,
    ast.Name: _Compiler.name,
    ast.Attribute: _Compiler.access,
    ast.Subscript: _Compiler.access,
    ast.BoolOp: _Compiler.boolean,
    ast.UnaryOp: _Compiler.unary,
    ast.BinOp: _Compiler.arithmetic,
    ast.Compare: _Compiler.comparison,
    ast.List: _Compiler.array,
    ast.Tuple: _Compiler.array,
    ast.Call: _Compiler.call,
}

_SPOKEN = {
    "Pow": "**", "MatMult": "@", "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>",
    "Invert": "~", "UAdd": "Unary +", "Is": "'is'", "IsNot": "'is not'", "IfExp": "'if … else'", "Lambda": "lambda",
    "JoinedStr": "An f-string", "NamedExpr": ":=", "Dict": "A dictionary", "Set": "A set", "Starred": "*",
}  # fmt: skip


def _spoken(node: ast.AST) -> str:
    name = type(node).__name__
    return _SPOKEN.get(name, name)
