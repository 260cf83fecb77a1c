"""AgentLoom's built-in tools as nodes: http_request, shell_command, file_read, file_write.

In: a tool step. Out: the fields of a node. `config.sandbox` says what files,
commands and hosts are allowed; a step outside of it is a problem, because here
it would be refused as well.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from flowgauge.define.agentloom.state import Step
from flowgauge.define.agentloom.text import Rewriter
from flowgauge.define.shape import check_shape
from flowgauge.documents.document import Way
from flowgauge.documents.findings import Findings

_READ = "def run(path, encoding='utf-8'):\n    from pathlib import Path\n    return Path(path).read_text(encoding=encoding)\n"
_WRITE = (
    "def run(path, content, encoding='utf-8'):\n"
    "    from pathlib import Path\n"
    "    target = Path(path)\n"
    "    target.parent.mkdir(parents=True, exist_ok=True)\n"
    "    target.write_text(content, encoding=encoding)\n"
    "    return {'written': len(content), 'path': str(target)}\n"
)
_EXIT_CODES = list(range(256))


class Sandbox(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What AgentLoom's config.sandbox may say."""

    enabled: bool = False
    allowed_commands: tuple[str, ...] = ()
    allowed_paths: tuple[str, ...] = ()
    readable_paths: tuple[str, ...] = ()
    writable_paths: tuple[str, ...] = ()
    allow_network: bool = True
    allowed_domains: tuple[str, ...] = ()


def read_sandbox(value: Any, findings: Findings) -> Sandbox:
    """The sandbox; keys that have no counterpart here are problems."""
    if value is None or not check_shape(Sandbox, value, ("config", "sandbox"), findings):
        return Sandbox()
    return msgspec.convert(value, Sandbox)


class ToolStep(msgspec.Struct, frozen=True):
    """All that a tool's importer looks at."""

    step: Step
    arguments: Mapping[str, Any]
    way: Way
    rewriter: Rewriter
    sandbox: Sandbox
    findings: Findings

    def refuse(self, name: str, message: str, remedy: str) -> None:
        """A problem with one argument."""
        self.findings.add((*self.way, name) if name in self.arguments else self.way, message, remedy)

    def first_value(self, name: str) -> str | None:
        """What an argument is to begin with: its text, or the initial value of the state key that it names."""
        value = self.arguments.get(name)
        if isinstance(value, str) and value.startswith("state."):
            value = self.rewriter.state.initial.get(value.removeprefix("state."))
        return value if isinstance(value, str) and "{state." not in value else None


def _http(tool: ToolStep) -> dict[str, Any]:
    node: dict[str, Any] = {"type": "http", "method": str(tool.arguments.get("method", "GET")).upper()}
    for name in ("url", "headers", "body"):
        if tool.arguments.get(name):
            node[name] = tool.rewriter.argument(tool.arguments[name], (*tool.way, name))
    if tool.sandbox.enabled:
        _check_host(tool)
    return node


def _check_host(tool: ToolStep) -> None:
    if not tool.sandbox.allow_network:
        tool.refuse("url", "The sandbox of this workflow allows no network.", "Remove the step, or allow it.")
    domains = tool.sandbox.allowed_domains
    url = tool.first_value("url")
    host = _host(url or "")
    if domains and not any(host == domain or host.endswith(f".{domain}") for domain in domains):
        tool.refuse("url", "It cannot be told that the URL stays within allowed_domains.", "Write an allowed host into the URL.")


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _shell(tool: ToolStep) -> dict[str, Any]:
    command = tool.arguments.get("command")
    spoken = tool.first_value("command") or str(command)
    if tool.sandbox.enabled and (spoken.split() or [""])[0] not in tool.sandbox.allowed_commands:
        tool.refuse("command", "The command is not one of allowed_commands.", "Allow it in config.sandbox, or remove the step.")
    node: dict[str, Any] = {"type": "command", "argv": _argv(command, tool), "expect": _EXIT_CODES}
    if tool.arguments.get("cwd"):
        node["cwd"] = tool.arguments["cwd"]
    return node


def _argv(command: Any, tool: ToolStep) -> list[str]:
    """Values go to the shell as arguments ($1, $2, …), never as part of its program."""
    way = (*tool.way, "command")
    if not isinstance(command, str):
        return ["/bin/sh", "-c", "true"]
    if command.startswith("state."):
        return ["/bin/sh", "-c", tool.rewriter.argument(command, way)]
    values: list[str] = []
    script, rest = "", command
    while (start := rest.find("{state.")) >= 0 and (end := rest.find("}", start)) > 0:
        script += rest[:start]
        if script.count("'") % 2:
            tool.refuse("command", "A value inside single quotes cannot be carried over.", "Use double quotes around it.")
        values.append(tool.rewriter.argument(rest[start : end + 1], way))
        script += f"${{{len(values)}}}"
        rest = rest[end + 1 :]
    script += rest
    return ["/bin/sh", "-c", script.replace("{{", "{{{{"), *(["sh", *values] if values else [])]


def _file_read(tool: ToolStep) -> dict[str, Any]:
    return _file(tool, _READ, "read", "readable_paths", ("path", "encoding"))


def _file_write(tool: ToolStep) -> dict[str, Any]:
    return _file(tool, _WRITE, "write", "writable_paths", ("path", "content", "encoding"))


def _file(tool: ToolStep, code: str, permit: str, paths_key: str, names: tuple[str, ...]) -> dict[str, Any]:
    permits = _permits(tool, permit, paths_key)
    given = {name: tool.arguments[name] for name in names if name in tool.arguments}
    return {"type": "python", "code": code, "with": tool.rewriter.argument(given, tool.way), "allow": {permit: permits}}


def _permits(tool: ToolStep, permit: str, paths_key: str) -> list[str]:
    """The allowed paths of the sandbox; without one, the file (to write: its folder) that the step names."""
    if tool.sandbox.enabled:
        paths = [*getattr(tool.sandbox, paths_key), *tool.sandbox.allowed_paths]
        if paths:
            return paths
        tool.refuse("path", f"The sandbox of this workflow allows no files to {permit}.", f"Add config.sandbox.{paths_key}.")
        return []
    path = tool.first_value("path")
    if path is None or not posixpath.isabs(path):
        remedy = f"Write an absolute path, or enable config.sandbox with {paths_key}."
        tool.refuse("path", "Which file is meant cannot be told before the workflow runs.", remedy)
        return []
    return [posixpath.dirname(path) if permit == "write" else path]


TOOLS: dict[str, tuple[Callable[[ToolStep], dict[str, Any]], frozenset[str], tuple[str, ...]]] = {
    "http_request": (_http, frozenset({"url", "method", "headers", "body", "timeout"}), ("url",)),
    "shell_command": (_shell, frozenset({"command", "timeout", "cwd"}), ("command",)),
    "shell": (_shell, frozenset({"command", "timeout", "cwd"}), ("command",)),
    "file_read": (_file_read, frozenset({"path", "encoding"}), ("path",)),
    "file_write": (_file_write, frozenset({"path", "content", "encoding"}), ("path", "content")),
}
"""Tool name → its importer, the arguments it knows, and those it must have."""


def import_tool(step: Step, rewriter: Rewriter, sandbox: Sandbox, findings: Findings) -> dict[str, Any] | None:
    """The node's fields; None where the tool cannot be carried over."""
    name, arguments = step.value.get("tool_name"), step.value.get("tool_args") or {}
    if not isinstance(name, str) or name not in TOOLS:
        remedy = f"Built in are {', '.join(TOOLS)}. Write a `call` or `python` node for a tool of your own."
        findings.add((*step.way, "tool_name"), f"The tool '{name}' cannot be carried over.", remedy)
        return None
    if not isinstance(arguments, dict):
        findings.add((*step.way, "tool_args"), "Expected a mapping of names to values.", "Write `name: value`.")
        return None
    importer, known, required = TOOLS[name]
    way = (*step.way, "tool_args")
    for argument in arguments:
        if argument not in known:
            findings.add(
                (*way, argument), f"The argument '{argument}' of {name} cannot be carried over.", f"Known are {', '.join(sorted(known))}."
            )
    if missing := [argument for argument in required if argument not in arguments]:
        findings.add(way, f"{name} needs {', '.join(missing)}.", "Add it.")
        return None
    node = importer(ToolStep(step, arguments, way, rewriter, sandbox, findings))
    if isinstance(arguments.get("timeout"), (int, float)):
        node["timeout_s"] = arguments["timeout"]
    return node
