"""Tools that an `ai` node offers its model: python functions, workflows, MCP servers.

A tool that fails does not fail the node: the model is told what went wrong, as
it would be by any agent, and every call is a recorded step.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.exchange import Message, ToolCall, ToolSpec
from flowgauge.model.play import Step
from flowgauge.model.ports import Job, Permits
from flowgauge.model.workflow import Identifier, Json, Workflow
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.kind import Complaint
from flowgauge.nodes.signature import parameters_of

_ANYTHING: dict[str, Json] = {"type": "object", "properties": {}}
DEFAULT_TIMEOUT_S = 60.0


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
        self._open = contextlib.AsyncExitStack()
        self.specs: tuple[ToolSpec, ...] = ()

    async def __aenter__(self) -> Toolbox:
        specs: list[ToolSpec] = []
        for tool in self._tools:
            for spec, use in await self._prepare(tool):
                specs.append(spec)
                self._uses[spec.name] = use
        self.specs = tuple(specs)
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self._open.aclose()

    async def answer(self, calls: Sequence[ToolCall]) -> list[Message]:
        """What the tools say, in the order in which they were asked."""
        return list(await asyncio.gather(*(self._use(call) for call in calls)))

    async def _use(self, call: ToolCall) -> Message:
        clock = self._context.services.clock
        started_at, begun = clock.now_ms(), clock.tick_ms()
        text, error = "", ""
        use = self._uses.get(call.name)
        try:
            text = await use(call.arguments) if use else ""
            error = "" if use else f"There is no tool {call.name}. There are: {', '.join(self._uses)}."
        except Failed as failed:
            error = f"{failed.failure.message} {failed.failure.detail}".strip()
        step = Step(
            kind="tool",
            name=call.name,
            started_at=started_at,
            duration_ms=clock.tick_ms() - begun,
            request=call.arguments,
            response=text,
            error=error,
        )
        self._context.steps.append(step)
        return Message(role="tool", tool_call_id=call.id, text=error or text, is_error=bool(error))

    async def _prepare(self, tool: Tool) -> Iterable[tuple[ToolSpec, Use]]:
        if tool.mcp:
            from flowgauge.nodes.mcp_tools import mcp_tools

            return await mcp_tools(tool.mcp, self._context, self._open)
        if tool.workflow or tool.definition:
            return [self._workflow_tool(tool)]
        spec = ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters or parameters_of(tool.code, tool.name))
        return [(spec, lambda arguments: self._run_code(tool, arguments))]

    async def _run_code(self, tool: Tool, arguments: dict[str, Json]) -> str:
        job = Job(
            code=tool.code,
            function=tool.name,
            arguments=arguments,
            timeout_s=tool.timeout_s,
            memory_mb=tool.memory_mb,
            permits=tool.allow,
        )
        sandbox = await self._context.services.sandbox()
        self._context.play.note_isolation(sandbox.tier)
        outcome = await sandbox.call(job)
        if outcome.failure:
            raise fail("tool_error", outcome.message)
        return as_text(outcome.value)

    def _workflow_tool(self, tool: Tool) -> tuple[ToolSpec, Use]:
        from flowgauge.nodes.codec import workflow_from_value

        play = self._context.play
        workflow = workflow_from_value(tool.definition) if tool.definition else play.resolve(tool.workflow)
        calls = 0

        async def use(arguments: dict[str, Json]) -> str:
            nonlocal calls
            calls += 1
            return as_text(await play.run_workflow(workflow, arguments, f"{self._context.node_id}/{tool.name}[{calls}]"))

        parameters = tool.parameters or _inputs_schema(workflow)
        return ToolSpec(name=tool.name, description=tool.description or workflow.description, parameters=parameters), use


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
