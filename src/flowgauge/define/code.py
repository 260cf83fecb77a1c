"""Is a piece of python code whole? It must parse and hold the function, and the arguments must be its own.

In: source text. Out: complaints with the line inside the source. Nothing is run.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection

import msgspec

from flowgauge.lang.wording import did_you_mean


class Flaw(msgspec.Struct, frozen=True):
    """What is wrong; `line` counts from 1 inside the source, 0 where the arguments are meant."""

    line: int
    message: str
    remedy: str


def find_flaw(code: str, function: str, arguments: Collection[str] | None) -> Flaw | None:
    """The first flaw; `arguments` None where a model chooses them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except SyntaxError as error:
        return Flaw(error.lineno or 1, f"The python code does not compile: {error.msg}.", "Correct the code.")
    except (ValueError, RecursionError, MemoryError) as error:
        return Flaw(1, f"The python code cannot be read: {error}.", "Correct the code.")
    found = _find(tree, function)
    if found is None:
        defined = [statement.name for statement in tree.body if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))]
        return Flaw(1, f"The python code has no function '{function}'.", f"{did_you_mean(function, defined)} Add `def {function}(…):`.")
    if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)) and not found.decorator_list and arguments is not None:
        return _misfit(found, arguments)
    return None


def _find(tree: ast.Module, name: str) -> ast.stmt | None:
    """The statement at the top of the source that binds the name, the last one if there are more."""
    return next((statement for statement in reversed(tree.body) if name in _bound(statement)), None)


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)} | {
        name for node in ast.walk(statement) for name in _imported_or_defined(node)
    }


def _imported_or_defined(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return [node.name] if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []


def _misfit(function: ast.FunctionDef | ast.AsyncFunctionDef, given: Collection[str]) -> Flaw | None:
    names = [item.arg for item in [*function.args.args, *function.args.kwonlyargs]]
    positional = [*function.args.posonlyargs, *function.args.args]
    required = [item.arg for item in positional[: len(positional) - len(function.args.defaults)]]
    required += [item.arg for item, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if default is None]
    if missing := [name for name in required if name not in given]:
        return Flaw(0, f"The function '{function.name}' needs {', '.join(missing)}.", f"Add `with: {{{missing[0]}: …}}`.")
    unknown = [name for name in given if name not in names]
    if unknown and function.args.kwarg is None:
        return Flaw(0, f"The function '{function.name}' takes no argument '{unknown[0]}'.", did_you_mean(unknown[0], names))
    return None
