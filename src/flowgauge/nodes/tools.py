"""Tools that an `ai` node offers its model: python functions, workflows, MCP servers.

A tool that fails does not fail the node: the model is told what went wrong, as
it would be by any agent, and every call is a recorded step.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.exchange import Message, ToolCall, ToolSpec
from flowgauge.model.ids import content_hash
from flowgauge.model.ports import Job, Permits
from flowgauge.model.workflow import Identifier, Json, Workflow
from flowgauge.nodes.context import UNFORGIVING, Context, fail
from flowgauge.nodes.kind import Complaint
from flowgauge.nodes.python import call_sandbox
from flowgauge.nodes.signature import parameters_of
from flowgauge.nodes.together import together

_ANYTHING: dict[str, Json] = {"type": "object", "properties": {}}
DEFAULT_TIMEOUT_S = 60.0
TOLD_CHARS = 4000
"""So much of an error a model is told."""


class McpServer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where an MCP server is: a program to start, or a URL."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: Annotated[tuple[str, ...], Meta(description="Names of environment variables to pass on.")] = ()
    tools: Annotated[tuple[str, ...], Meta(description="Which of its tools to offer; empty: all.")] = ()


class Tool(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One tool, or all tools of an MCP server. Exactly one of code, file, workflow and mcp is given."""

    name: Identifier = ""
    description: str = ""
    parameters: Annotated[dict[str, Json], Meta(description="JSON Schema of its arguments; else read off the function or the inputs.")] = {}
    code: Annotated[str, Meta(description="Python source; the function has the tool's name.")] = ""
    file: Annotated[str, Meta(description="A file with the source; its text becomes `code`.")] = ""
    workflow: Annotated[str, Meta(description="A path, the name of a stored workflow, or a sid.")] = ""
    definition: Annotated[dict[str, Any], Meta(description="Filled in from the path when the file is loaded.")] = {}
    mcp: McpServer | None = None
    allow: Permits = Permits()
    timeout_s: Annotated[float, Meta(gt=0)] = DEFAULT_TIMEOUT_S
    memory_mb: Annotated[int, Meta(ge=16)] = 1024


def tool_complaints(tools: Sequence[Tool]) -> Iterable[Complaint]:
    """Each tool has one source and, unless it is a server, a name of its own."""
    names: set[str] = set()
    for number, tool in enumerate(tools):
        field = f"tools[{number}]"
        if sum(map(bool, (tool.code, tool.workflow, tool.mcp))) != 1:
            yield Complaint(field, "A tool is one of code, file, workflow or mcp.", "Give exactly one of them.")
        if tool.mcp and bool(tool.mcp.command) == bool(tool.mcp.url):
            yield Complaint(f"{field}.mcp", "An MCP server is reached by a command or by a url.", "Give exactly one of them.")
        if not tool.mcp and not tool.name:
            yield Complaint(field, "The tool has no name.", "Give it a `name`.")
        if tool.name and tool.name in names:
            yield Complaint(f"{field}.name", f"Two tools are called {tool.name}.", "Rename one.")
        names.add(tool.name)


Use = Callable[[dict[str, Json]], Awaitable[str]]


class Toolbox:
    """The tools of one attempt, ready for use."""

    def __init__(self, tools: Sequence[Tool], context: Context) -> None:
        self._tools = tools
        self._context = context
        self._uses: dict[str, Use] = {}
        self._open: contextlib.AsyncExitStack | None = None
        self.specs: tuple[ToolSpec, ...] = ()

    async def __aenter__(self) -> Toolbox:
        self._open = contextlib.AsyncExitStack()
        try:
            for tool in self._tools:
                for spec, use in await self._prepare(tool):
                    self._add(spec, use)
        except BaseException:
            await self._open.aclose()
            raise
        return self

    async def __aexit__(self, *_exc: object) -> None:
        assert self._open is not None
        await self._open.aclose()

    async def answer(self, calls: Sequence[ToolCall]) -> list[Message]:
        """What the tools say, in the order in which they were asked."""
        return await together(self._use(call) for call in calls)

    def _add(self, spec: ToolSpec, use: Use) -> None:
        if spec.name in self._uses:
            raise fail("tool_error", f"Two tools are called {spec.name}. Rename one, or list under mcp.tools which of a server's to offer.")
        self.specs = (*self.specs, spec)
        self._uses[spec.name] = use

    async def _use(self, call: ToolCall) -> Message:
        use = self._uses.get(call.name)
        try:
            if use is None:
                with self._context.step("tool", call.name, call.arguments):
                    raise fail("tool_error", f"There is no tool {call.name}. There are: {', '.join(self._uses)}.")
            return Message(role="tool", tool_call_id=call.id, text=await use(call.arguments))
        except Failed as failed:
            if failed.failure.kind in UNFORGIVING:
                raise
            told = f"{failed.failure.message} {failed.failure.detail}".strip()
            return Message(role="tool", tool_call_id=call.id, text=told[:TOLD_CHARS], is_error=True)

    async def _prepare(self, tool: Tool) -> Iterable[tuple[ToolSpec, Use]]:
        if tool.mcp:
            from flowgauge.nodes.mcp_tools import mcp_tools

            assert self._open is not None
            return await mcp_tools(tool.mcp, tool.timeout_s, self._context, self._open)
        return [self._workflow_tool(tool) if tool.workflow or tool.definition else self._code_tool(tool)]

    def _code_tool(self, tool: Tool) -> tuple[ToolSpec, Use]:
        try:
            parameters = tool.parameters or parameters_of(tool.code, tool.name)
        except SyntaxError as error:
            raise fail("code_error", f"The code of the tool {tool.name} cannot be read: {error}.") from error

        async def use(arguments: dict[str, Json]) -> str:
            job = Job(
                code=tool.code,
                function=tool.name,
                arguments=arguments,
                timeout_s=tool.timeout_s,
                memory_mb=tool.memory_mb,
                permits=tool.allow,
            )
            outcome = await call_sandbox(job, "tool", self._context)
            if outcome.failure:
                raise fail("tool_error", outcome.message)
            return as_text(outcome.value)

        return ToolSpec(name=tool.name, description=tool.description, parameters=parameters), use

    def _workflow_tool(self, tool: Tool) -> tuple[ToolSpec, Use]:
        context = self._context
        ready = context.workflow(tool.workflow, tool.name)

        async def use(arguments: dict[str, Json]) -> str:
            path = _path_of_call(tool.name, arguments, context)
            with context.step("tool", tool.name, arguments) as step:
                step.response = as_text(await within(tool, context.play.run_workflow(ready, arguments, path)))
            return str(step.response)

        parameters = tool.parameters or _inputs_schema(ready.workflow)
        return ToolSpec(name=tool.name, description=tool.description or ready.workflow.description, parameters=parameters), use


def _path_of_call(name: str, arguments: dict[str, Json], context: Context) -> str:
    """Where the nodes of a workflow that is called as a tool are stored: `agent/lookup[3f9a2c81]`.

    By what is asked, not by when: a conversation that begins anew after a crash may take another course, and must
    find only answers to the same question.
    """
    key = content_hash(msgspec.json.encode(arguments, order="sorted"))[:8]
    asked: Counter[tuple[str, str]] = context.memory.setdefault("tools_asked", Counter())
    asked[name, key] += 1
    again = f".{asked[name, key]}" if asked[name, key] > 1 else ""
    return f"{context.node_id}/{name}[{key}{again}]"


async def within(tool: Tool, work: Awaitable[Json]) -> Json:
    """The answer, if it comes in the tool's time."""
    limit = asyncio.timeout(tool.timeout_s)
    try:
        async with limit:
            return await work
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise fail("tool_error", f"{tool.name} took longer than its timeout_s {tool.timeout_s:g}.") from error


def _inputs_schema(workflow: Workflow) -> dict[str, Json]:
    if not workflow.inputs:
        return _ANYTHING
    return {
        "type": "object",
        "properties": {item.name: {"type": item.type, "description": item.description} for item in workflow.inputs},
        "required": [item.name for item in workflow.inputs if item.required],
    }


def as_text(value: Json) -> str:
    """What a model is given of a tool's answer."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
