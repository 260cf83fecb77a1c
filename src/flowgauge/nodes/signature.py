"""Reads the arguments of a python function off its source, without running it."""

from __future__ import annotations

import ast

from flowgauge.model.workflow import Json

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}


def find_function(code: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function of that name at the top of the source. Raises SyntaxError."""
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == name:
            return statement
    return None


def parameters_of(code: str, name: str) -> dict[str, Json]:
    """A JSON Schema of the function's arguments, as far as its annotations tell."""
    function = find_function(code, name)
    if function is None:
        return {"type": "object", "properties": {}}
    arguments = [*function.args.posonlyargs, *function.args.args]
    optional = len(function.args.defaults)
    required = [item.arg for item in arguments[: len(arguments) - optional]]
    for item, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        arguments.append(item)
        if default is None:
            required.append(item.arg)
    return {"type": "object", "properties": {item.arg: _schema(item.annotation) for item in arguments}, "required": required}


def _schema(annotation: ast.expr | None) -> dict[str, Json]:
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    if isinstance(annotation, ast.Name) and annotation.id in _TYPES:
        return {"type": _TYPES[annotation.id]}
    return {}
