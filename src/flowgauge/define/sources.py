"""What a workflow file names beside itself is read and put into it, so that a version needs no other file.

In: nodes as the file holds them. Out: nodes with the text of `file:` in `code`
and the workflow of a path in `definition`; findings for files that are missing,
broken or contain themselves. Code is checked here, where its lines are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.define.code import find_flaw
from flowgauge.documents.document import Way, read_text
from flowgauge.documents.findings import Findings
from flowgauge.errors import BadFile
from flowgauge.lang.wording import did_you_mean
from flowgauge.nodes.table import NODES

_PATH_STARTS = ("./", "../", "/")
_PATH_ENDS = (".yaml", ".yml", ".json")

LoadOther = Callable[[Path], Mapping[str, Any]]
"""Reads and checks another workflow file; raises BadFile."""
CheckInner = Callable[[Mapping[str, Any], Way], dict[str, Any]]
"""Checks a workflow that stands inside this one, and reads what it names."""


def is_path(reference: str) -> bool:
    """Does `workflow:` name a file? Else it is the name or sid of a stored workflow."""
    return reference.startswith(_PATH_STARTS) or reference.lower().endswith(_PATH_ENDS)


class Neighbours(msgspec.Struct, frozen=True):
    """How files beside this one are reached; `folder` is None where the workflow came from no file."""

    folder: Path | None
    load_other: LoadOther
    check_inner: CheckInner


def embed_sources(node: Mapping[str, Any], way: Way, neighbours: Neighbours, findings: Findings) -> dict[str, Any]:
    """The node with its sources inside it."""
    kind = NODES[node["type"]]
    result = dict(node)
    if node["type"] == "python":
        result = _with_code(result, way, str(node.get("function", "run")), _argument_names(node), neighbours, findings)
    elif node["type"] == "workflow":
        result = _with_definition(result, way, neighbours, findings)
        _check_arguments(result, way, findings)
    elif node["type"] == "ai" and isinstance(node.get("tools"), list):
        result["tools"] = [_tool(tool, (*way, "tools", number), neighbours, findings) for number, tool in enumerate(node["tools"])]
    body = node.get(kind.body) if kind.body else None
    if isinstance(body, dict) and is_typed(body):
        result[kind.body] = embed_sources(body, (*way, kind.body), neighbours, findings)
    return result


def is_typed(node: Mapping[str, Any]) -> bool:
    """Is its type one of the table?"""
    return isinstance(node.get("type"), str) and node["type"] in NODES


def _argument_names(node: Mapping[str, Any]) -> list[str] | None:
    given = node.get("with", {})
    return list(given) if isinstance(given, dict) else None


def _tool(tool: Any, way: Way, neighbours: Neighbours, findings: Findings) -> Any:
    if not isinstance(tool, dict):
        return tool
    if isinstance(tool.get("workflow"), str):
        return _with_definition(dict(tool), way, neighbours, findings)
    return _with_code(dict(tool), way, str(tool.get("name", "")), None, neighbours, findings)


def _with_code(
    node: dict[str, Any], way: Way, function: str, arguments: list[str] | None, neighbours: Neighbours, findings: Findings
) -> dict[str, Any]:
    file, code = node.get("file"), node.get("code")
    if isinstance(file, str) and file:
        if code:
            findings.add((*way, "file"), "Both `code` and `file` are given.", "Keep one.")
            return node
        code = _read_beside(file, (*way, "file"), neighbours, findings)
        if code is None:
            return node
        node = {**{name: value for name, value in node.items() if name != "file"}, "code": code}
    if isinstance(code, str) and code:
        _check_code(code, way, file if isinstance(file, str) else "", function, arguments, findings)
    return node


def _read_beside(file: str, way: Way, neighbours: Neighbours, findings: Findings) -> str | None:
    if neighbours.folder is None:
        findings.add(way, f"'{file}' cannot be read: this workflow came from no file.", "Write the source under `code`.")
        return None
    try:
        return read_text(neighbours.folder / file)
    except BadFile as error:
        problem = error.problems[0]
        findings.add(way, f"{file}: {problem.message}", problem.remedy)
        return None


def _check_code(code: str, way: Way, file: str, function: str, arguments: list[str] | None, findings: Findings) -> None:
    flaw = find_flaw(code, function, arguments)
    if flaw is None:
        return
    if flaw.line == 0:
        findings.add((*way, "with"), flaw.message, flaw.remedy)
    elif file:
        findings.add((*way, "file"), f"{file}:{flaw.line}: {flaw.message}", flaw.remedy)
    else:
        offset = sum(len(line) for line in code.splitlines(keepends=True)[: flaw.line - 1])
        findings.add((*way, "code"), flaw.message, flaw.remedy, text=code, offset=offset)


def _with_definition(node: dict[str, Any], way: Way, neighbours: Neighbours, findings: Findings) -> dict[str, Any]:
    reference, definition = node.get("workflow"), node.get("definition")
    if isinstance(definition, dict) and definition:
        return {**node, "definition": neighbours.check_inner(definition, (*way, "definition"))}
    if not isinstance(reference, str) or not is_path(reference):
        return node
    at = (*way, "workflow")
    if neighbours.folder is None:
        findings.add(
            at, f"'{reference}' cannot be read: this workflow came from no file.", "Save it from its file, or name a stored workflow."
        )
        return node
    try:
        return {**node, "definition": dict(neighbours.load_other(neighbours.folder / reference))}
    except BadFile as error:
        for problem in error.problems:
            place = f"{reference}:{problem.line}: " if problem.line else f"{reference}: "
            findings.add(at, f"{place}{problem.where + ': ' if problem.where else ''}{problem.message}", problem.remedy)
        return node


def _check_arguments(node: Mapping[str, Any], way: Way, findings: Findings) -> None:
    """Are the inputs of the other workflow given as it declares them?"""
    definition, given = node.get("definition"), node.get("with", {})
    if not isinstance(definition, dict) or not isinstance(given, dict):
        return
    items = definition.get("inputs")
    declared = {
        item["name"]: item
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, dict) and isinstance(item.get("name"), str)
    }
    for name in given:
        if name not in declared:
            findings.add((*way, "with", name), f"The other workflow has no input '{name}'.", did_you_mean(name, declared))
    missing = [name for name, item in declared.items() if item.get("required") and "default" not in item and name not in given]
    if missing:
        findings.add((*way, "with"), f"The other workflow needs {', '.join(missing)}.", f"Add `with: {{{missing[0]}: …}}`.")
