"""Writes `serve/methods.pyi`, the types of the client's methods, from the table of operations.

python -m tests.serve.client_stub
"""

from __future__ import annotations

import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from flowgauge.app.operations.operation import Operation
from flowgauge.app.operations.table import OPERATIONS

STUB = Path(__file__).parents[2] / "src" / "flowgauge" / "serve" / "methods.pyi"
HEAD = '"""Made from the table of operations by tests/serve/client_stub.py; do not edit."""'


def stub() -> str:
    """The whole file, formatted."""
    imports: dict[str, set[str]] = {"typing": {"Any"}}
    methods = [_method(operation, imports) for operation in OPERATIONS.values()]
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    text = "\n".join([HEAD, "", *lines, "", "class Methods:", "    def call(self, name: str, /, **params: Any) -> Any: ...", *methods, ""])
    ruff = [str(Path(sys.executable).parent / "ruff")]
    sort = [*ruff, "check", "--select", "I,F401", "--fix", "--quiet", "--stdin-filename", str(STUB), "-"]
    layout = [*ruff, "format", "--stdin-filename", str(STUB), "-"]
    for command in (sort, layout):
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def _method(operation: Operation, imports: dict[str, set[str]]) -> str:
    hints = typing.get_type_hints(operation.params)
    parameters = [
        f"{field.encode_name}: {_source(hints[field.name], imports)}{'' if field.required else ' = ...'}"
        for field in msgspec.structs.fields(operation.params)
    ]
    listed = ", ".join(["self", *(["*", *parameters] if parameters else [])])
    return f'    def {operation.name}({listed}) -> {_source(operation.result, imports)}:\n        """{operation.summary}"""'


def _source(kind: Any, imports: dict[str, set[str]]) -> str:
    """A type as it is written."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is None or kind is type(None):
        return "None"
    if kind is Any:
        return "Any"
    if kind is ...:
        return "..."
    if origin is typing.Annotated:
        return _source(arguments[0], imports)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(_source(each, imports) for each in arguments))
    if origin is Literal:
        imports["typing"].add("Literal")
        return f"Literal[{', '.join(map(repr, arguments))}]"
    name = _named(origin or kind, imports)
    return f"{name}[{', '.join(_source(each, imports) for each in arguments)}]" if arguments else name


def _named(kind: type, imports: dict[str, set[str]]) -> str:
    if kind.__module__ != "builtins":
        imports.setdefault(kind.__module__, set()).add(kind.__name__)
    return kind.__name__


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
