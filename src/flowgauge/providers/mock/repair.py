"""Repair failing Python code by what its error says, changing as little as possible.

Code and the text that names its error in; better code out, or None where the
error is not one of those understood or the result would not compile.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import re
import sys
from collections.abc import Callable

_IMPORTS = {
    "Counter": "from collections import Counter",
    "defaultdict": "from collections import defaultdict",
    "deque": "from collections import deque",
    "Path": "from pathlib import Path",
    "Decimal": "from decimal import Decimal",
    "timedelta": "from datetime import timedelta",
    "sqrt": "from math import sqrt",
    "ceil": "from math import ceil",
    "floor": "from math import floor",
    "mean": "from statistics import mean",
    "median": "from statistics import median",
    "reduce": "from functools import reduce",
    "Any": "from typing import Any",
    "Optional": "from typing import Optional",
}
_OPENERS = re.compile(r"\s*(def|class|if|elif|else|for|while|try|except|finally|with|async)\b")
_CLOSES = {"(": ")", "[": "]", "{": "}"}


def repaired(code: str, error: str) -> str | None:
    """The code without the mistake that the error names."""
    for pattern, mend in _MENDS:
        found = re.search(pattern, error)
        if not found:
            continue
        better = mend(code, found)
        if better is not None and better != code and _tree(better) is not None:
            return better
    return None


def _tree(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError):
        return None


def _undefined(code: str, found: re.Match[str]) -> str | None:
    name = found[1]
    if name in _IMPORTS:
        return f"{_IMPORTS[name]}\n{code}"
    if name in sys.stdlib_module_names:
        return f"import {name}\n{code}"
    return _renamed(code, name, _names_in(code) | set(dir(builtins)))


def _names_in(code: str) -> set[str]:
    tree = _tree(code)
    if tree is None:
        return set()
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _renamed(code: str, name: str, known: set[str], prefix: str = "") -> str | None:
    close = difflib.get_close_matches(name, sorted(known - {name}), n=1, cutoff=0.6)
    return re.sub(rf"{prefix}\b{re.escape(name)}\b", f"{prefix[-1:]}{close[0]}", code) if close else None


def _attribute(code: str, found: re.Match[str]) -> str | None:
    owner = getattr(builtins, found[1], None)
    return _renamed(code, found[2], {name for name in dir(owner) if not name.startswith("_")}, r"\.") if owner else None


def _replaced(code: str, wanted: Callable[[ast.AST], str | None]) -> str | None:
    """The first expression that `wanted` has better source for, replaced in place."""
    tree = _tree(code)
    for node in ast.walk(tree) if tree else ():
        better = wanted(node)
        old = ast.get_source_segment(code, node) if better else None
        if better and old and isinstance(node, ast.expr):
            lines = code.splitlines(keepends=True)
            head = "".join(lines[: node.lineno - 1]).encode() + lines[node.lineno - 1].encode()[: node.col_offset]
            return (head + better.encode() + code.encode()[len(head) + len(old.encode()) :]).decode()
    return None


def _division(code: str, _found: re.Match[str]) -> str | None:
    def guarded(node: ast.AST) -> str | None:
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)
            and not isinstance(node.right, ast.Constant)
        ):
            return f"({ast.unparse(node)} if {ast.unparse(node.right)} else 0)"
        return None

    return _replaced(code, guarded)


def _key(code: str, found: re.Match[str]) -> str | None:
    def asked(node: ast.AST) -> str | None:
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and ast.unparse(node.slice) in {found[1], repr(found[1].strip("'\""))}
        ):
            return f"{ast.unparse(node.value)}.get({ast.unparse(node.slice)})"
        return None

    return _replaced(code, asked)


def _index(code: str, _found: re.Match[str]) -> str | None:
    def guarded(node: ast.AST) -> str | None:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice):
            owner, at = ast.unparse(node.value), ast.unparse(node.slice)
            return f"({owner}[{at}] if -len({owner}) <= {at} < len({owner}) else None)"
        return None

    return _replaced(code, guarded)


def _colon(code: str, _found: re.Match[str]) -> str | None:
    lines = code.splitlines()
    for at, line in enumerate(lines):
        if _OPENERS.match(line) and not line.split("#")[0].rstrip().endswith((":", ",", "(", "[", "{", "\\")):
            lines[at] = f"{line.rstrip()}:"
    return "\n".join(lines) + "\n"


def _unclosed(code: str, found: re.Match[str]) -> str | None:
    opened, closed = found[1], _CLOSES[found[1]]
    lines = code.splitlines()
    for at, line in enumerate(lines):
        if line.count(opened) > line.count(closed):
            trial = [*lines]
            bare = line.rstrip()
            trial[at] = f"{bare[:-1]}{closed}:" if bare.endswith(":") else f"{bare}{closed}"
            if _tree("\n".join(trial)) is not None:
                return "\n".join(trial) + "\n"
    return None


def _indent(code: str, _found: re.Match[str]) -> str | None:
    lines = code.splitlines()
    for at, line in enumerate(lines[:-1]):
        depth = len(line) - len(line.lstrip())
        below = lines[at + 1]
        if line.rstrip().endswith(":") and below.strip() and len(below) - len(below.lstrip()) <= depth:
            lines[at + 1] = " " * (depth + 4) + below.lstrip()
    return "\n".join(lines) + "\n"


def _as_text(part: ast.expr) -> str:
    literal = isinstance(part, ast.Constant) and isinstance(part.value, str)
    return ast.unparse(part) if literal else f"str({ast.unparse(part)})"


def _joined(code: str, _found: re.Match[str]) -> str | None:
    """Text and a number put together: make every part that is no literal text a text."""

    def texts(node: ast.AST) -> str | None:
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
            return None
        sides = (node.left, node.right)
        if not any(isinstance(part, ast.Constant) and isinstance(part.value, str) for side in sides for part in ast.walk(side)):
            return None
        return " + ".join(_as_text(side) for side in sides)

    return _replaced(code, texts)


_MENDS: tuple[tuple[str, Callable[[str, re.Match[str]], str | None]], ...] = (
    (r"name '(\w+)' is not defined", _undefined),
    (r"'(\w+)' object has no attribute '(\w+)'", _attribute),
    (r"ZeroDivisionError|division by zero", _division),
    (r"KeyError: (\S+)", _key),
    (r"IndexError|index out of range", _index),
    (r"can only concatenate str|unsupported operand type\(s\) for \+", _joined),
    (r"expected ':'", _colon),
    (r"'([\[({])' was never closed", _unclosed),
    (r"expected an indented block", _indent),
    (r"SyntaxError|invalid syntax", _colon),
)
