"""The table of operations as tools of the Model Context Protocol, by the official SDK.

A tool is called what its operation is called, and takes and gives what that
takes and gives. A call goes the way of a JSON-RPC call, so that scopes, limits,
times and errors are the same. Only what the caller may do is listed. Importing
this takes a second or two: whoever may do without does it late.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from flowgauge._version import __version__
from flowgauge.app.operations.operation import Operation
from flowgauge.app.operations.table import OPERATIONS
from flowgauge.lang.wording import did_you_mean
from flowgauge.serve.caller import Caller

Answer = Callable[[bytes, Caller], Awaitable[bytes | None]]
"""`Rpc.answer`: a JSON-RPC request in, its answer out."""
CallerOf = Callable[[ServerRequestContext[Any, Any]], Caller]
RESULT = "result"
"""Under this name stands a result that is no object: structured content must be one."""
LONGEST_NAME = 100
INSTRUCTIONS = (
    "Measure AI workflows and decide with the measurements. workflow_list shows what is stored; benchmark_start measures a workflow in "
    "the background, bench_get tells how far it is, benchmark_get gives what came of it; benchmark_compare and gate_run hold one "
    "benchmark against another. To measure with made-up inputs: workflow_from_template with benchmark_flow, then play_start."
)


def mcp_server(answer: Answer, caller_of: CallerOf) -> Server[Any]:
    """A server of all tools; `caller_of` tells who sent a request."""

    async def list_tools(context: ServerRequestContext[Any, Any], _params: PaginatedRequestParams | None) -> ListToolsResult:
        caller = caller_of(context)
        return ListToolsResult(tools=[tool(row) for row in OPERATIONS.values() if caller.may(row.scope)])

    async def call_tool(context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        name, caller = params.name[:LONGEST_NAME], caller_of(context)
        if name not in OPERATIONS:
            raise MCPError(INVALID_PARAMS, f"There is no tool '{name}'. {did_you_mean(name, OPERATIONS)}".rstrip())
        needed = OPERATIONS[name].scope
        if not caller.token_hash and not caller.may(needed):
            return _failed(f"{name} needs the scope {needed}; here it is {caller.scope}. Start it as: flowgauge mcp --scope {needed}")
        return await _called(answer, params, caller)

    return Server(
        "flowgauge",
        version=__version__,
        title="Flowgauge",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


@cache
def tool(operation: Operation) -> Tool:
    """An operation as clients see it."""
    return Tool(
        name=operation.name,
        description=operation.summary,
        input_schema=_rooted(operation.params),
        output_schema=_result_schema(operation),
        annotations=ToolAnnotations(
            read_only_hint=operation.scope == "read", destructive_hint=operation.scope == "admin", open_world_hint=operation.scope != "read"
        ),
    )


async def _called(answer: Answer, params: CallToolRequestParams, caller: Caller) -> CallToolResult:
    try:
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": params.name, "params": params.arguments or {}})
    except (OverflowError, RecursionError, UnicodeEncodeError) as error:
        return _failed(f"The arguments cannot be taken: {error}.")
    told = msgspec.json.decode(await answer(body, caller) or b"{}")
    if failure := told.get("error"):
        return _failed(f"{failure['message']} {failure['data'].get('remedy', '')}".rstrip())
    value = told[RESULT] if _is_object(OPERATIONS[params.name]) else {RESULT: told[RESULT]}
    return CallToolResult(content=[TextContent(text=msgspec.json.encode(value).decode())], structured_content=value)


def _failed(words: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=words)], is_error=True)


@cache
def _is_object(operation: Operation) -> bool:
    return _rooted(operation.result).get("type") == "object"


def _result_schema(operation: Operation) -> dict[str, Any]:
    schema = _rooted(operation.result)
    if _is_object(operation):
        return schema
    shared = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    return {"type": "object", "properties": {RESULT: schema}, "required": [RESULT], **shared}


def _rooted(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type, with what it refers to inside; the root is no reference, because clients ask for its type."""
    (schema,), shared = msgspec.json.schema_components((kind,), ref_template="#/$defs/{name}")
    root = dict(schema)
    if "$ref" in root:
        root = dict(shared[root["$ref"].rpartition("/")[2]])
    needed = {name: part for name, part in shared.items() if _mentioned(name, root, shared)}
    return {**root, "$defs": needed} if needed else root


def _mentioned(name: str, root: dict[str, Any], shared: dict[str, Any]) -> bool:
    wanted = msgspec.json.encode(f"#/$defs/{name}")
    return any(wanted in msgspec.json.encode(part) for part in (root, *shared.values()))
