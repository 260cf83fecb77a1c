"""The official MCP client finds every operation as a tool, over HTTP and over stdio, and may do what its scope allows."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.serve.serving import EXPIRED, REVOKED, SECRETS, UNKNOWN, Served, bearer, served

from flowgauge.app.operations.table import OPERATIONS
from flowgauge.errors import MissingExtra
from flowgauge.model.redaction import redactor
from flowgauge.model.service import SCOPES
from flowgauge.serve.limits import Limits
from flowgauge.serve.running import Settings
from flowgauge.store import open_store

Answer = TypeVar("Answer")
Talk = Callable[[Client], Awaitable[Answer]]
ASK = """
name: ask
inputs: [{name: question, required: true}]
config: {model: mock/default, extra: {mock: {latency_ms: 0}}}
nodes:
  - {id: answer, type: ai, prompt: "Answer {{ inputs.question }}"}
"""
CASES = {"cases": [{"name": name, "inputs": {"question": name}} for name in ("one", "two")]}
MODES = [pytest.param("auto", id="newest protocol"), pytest.param("legacy", id="handshake protocol")]


def over_http(server: Served, talk: Talk[Answer], *, secret: str = "", mode: str = "auto") -> Answer:
    async def main() -> Answer:
        async with (
            httpx2.AsyncClient(headers=bearer(secret), timeout=60) as http,
            Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode) as client,
        ):
            return await talk(client)

    return asyncio.run(main())


def over_stdio(db: str, talk: Talk[Answer], *options: str, mode: str = "auto") -> Answer:
    """The program itself, started as an agent would start it."""

    async def main() -> Answer:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FLOWGAUGE_")}
        started = StdioServerParameters(command=sys.executable, args=["-m", "flowgauge", "mcp", "--db", db, *options], env=environment)
        async with Client(stdio_client(started), mode=mode) as client:
            return await talk(client)

    return asyncio.run(main())


async def called(client: Client, name: str, /, **arguments: Any) -> Any:
    """What a tool answers, as values; the client holds it to the tool's schema."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def measured(client: Client) -> tuple[list[str], Any, Any]:
    """The tools, and a benchmark made with them."""
    tools = [tool.name for tool in (await client.list_tools()).tools]
    saved = await called(client, "workflow_set", text=ASK)
    bench = await called(client, "benchmark_start", workflow_sid=saved["sid"], configs=CASES, runs=2)
    while bench["status"] == "running":
        await called(client, "play_events", bench_id=bench["bench_id"], wait_s=0.2)
        bench = await called(client, "bench_get", bench_id=bench["bench_id"])
    return tools, saved, await called(client, "benchmark_get", sid=bench["benchmark_sids"][0])


@pytest.mark.parametrize("mode", MODES)
def test_over_http_a_client_lists_the_tools_starts_a_benchmark_and_reads_its_result(server: Served, mode: str) -> None:
    tools, saved, benchmark = over_http(server, measured, mode=mode)
    assert tools == list(OPERATIONS)
    assert benchmark["workflow_version_sid"] == saved["version"]["sid"]
    assert (benchmark["num_runs"], benchmark["success_rate"], len(benchmark["runs"])) == (4, 100.0, 4)
    assert server.result("benchmark_get", sid=benchmark["sid"]) == benchmark, "the same as over JSON-RPC"


@pytest.mark.parametrize("mode", MODES)
def test_over_stdio_a_client_lists_the_tools_starts_a_benchmark_and_reads_its_result(tmp_path: Path, mode: str) -> None:
    tools, saved, benchmark = over_stdio(str(tmp_path / "store.db"), measured, mode=mode)
    assert set(OPERATIONS) - set(tools) == {name for name, row in OPERATIONS.items() if row.scope == "admin"}, "run is the default"
    assert benchmark["workflow_version_sid"] == saved["version"]["sid"]
    assert (benchmark["num_runs"], benchmark["success_rate"], len(benchmark["runs"])) == (4, 100.0, 4)


def test_over_stdio_the_scope_of_the_command_is_what_the_agent_may(tmp_path: Path) -> None:
    async def talk(client: Client) -> tuple[list[str], Any]:
        return [tool.name for tool in (await client.list_tools()).tools], await client.call_tool("workflow_set", {"text": ASK})

    tools, refused = over_stdio(str(tmp_path / "store.db"), talk, "--scope", "read")
    assert set(tools) == {name for name, row in OPERATIONS.items() if row.scope == "read"}
    assert refused.is_error
    assert "flowgauge mcp --scope run" in refused.content[0].text


def test_a_play_of_benchmark_flow_is_started_and_followed_with_tools_alone(server: Served) -> None:
    async def talk(client: Client) -> tuple[Any, Any]:
        await called(client, "workflow_set", text=ASK)
        flow = await called(client, "workflow_from_template", name="benchmark_flow")
        config = {"model": "mock/default", "extra": {"mock": {"latency_ms": 0}}}
        inputs = {"target_workflow_sid": "ask", "num_runs": 3}
        play = await called(client, "play_start", workflow_sid=flow["sid"], input_data=inputs, config=config)
        while play["status"] in ("pending", "running"):
            await asyncio.sleep(0.05)
            play = await called(client, "play_get", sid=play["sid"])
        return play, await called(client, "benchmark_report", sid=play["output"]["benchmark_sid"])

    play, report = over_http(server, talk)
    assert play["status"] == "success"
    assert report["text"] == play["output"]["report"]


# ── who may do what ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("scope", SCOPES)
def test_only_what_the_token_s_scope_allows_is_listed_and_can_be_called(guarded: Served, scope: str) -> None:
    allowed = {name for name, row in OPERATIONS.items() if SCOPES.index(row.scope) <= SCOPES.index(scope)}

    async def talk(client: Client) -> tuple[set[str], Any]:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        return listed, await client.call_tool("workflow_delete", {"sid": "nobody"})

    listed, deleted = over_http(guarded, talk, secret=SECRETS[scope])
    assert listed == allowed
    assert deleted.is_error
    words = "No workflow 'nobody' is stored" if scope == "admin" else "workflow_delete needs a token with the scope admin"
    assert words in deleted.content[0].text


LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    "secret",
    [
        pytest.param("", id="none"),
        pytest.param(UNKNOWN, id="unknown"),
        pytest.param(REVOKED, id="revoked"),
        pytest.param(EXPIRED, id="over"),
    ],
)
def test_without_a_token_that_opens_nothing_is_answered(guarded: Served, secret: str) -> None:
    reply = guarded.request("POST", "/mcp", LIST, {**HEADERS, **bearer(secret)})
    assert (reply.status, reply.error["code"]) == (401, -32001)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "OPTIONS"])
@pytest.mark.parametrize(
    "foreign",
    [pytest.param({"Host": "evil.example"}, id="another host"), pytest.param({"Origin": "http://evil.example"}, id="another origin")],
)
def test_a_foreign_host_or_origin_is_refused_on_every_method(server: Served, method: str, foreign: dict[str, str]) -> None:
    assert server.request(method, "/mcp", LIST if method in ("POST", "PUT") else None, {**HEADERS, **foreign}).status == 403


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_without_sessions_there_is_nothing_to_listen_to_or_to_end(server: Served, method: str) -> None:
    """A stream that never says anything would only hold a connection."""
    assert server.request(method, "/mcp", None, HEADERS).status == 405


# ── the tools themselves ─────────────────────────────────────────────────────


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_schemas_of_a_tool_are_schemas_and_those_of_its_operation(name: str) -> None:
    from flowgauge.serve.mcp_tools import tool

    made = tool(OPERATIONS[name])
    for schema in (made.input_schema, made.output_schema):
        assert schema is not None
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    fields = set(OPERATIONS[name].params.__struct_fields__)
    assert set(made.input_schema.get("properties", {})) == fields
    assert made.input_schema["additionalProperties"] is False
    assert made.description == OPERATIONS[name].summary
    assert made.annotations is not None
    assert made.annotations.read_only_hint == (OPERATIONS[name].scope == "read")


def test_what_goes_wrong_is_an_answer_that_a_model_can_read(server: Served) -> None:
    async def talk(client: Client) -> list[str]:
        asked: list[dict[str, Any]] = [{"nope": 1}, {"sid": 7}, {"sid": "nobody"}]
        results = [await client.call_tool("workflow_get", arguments) for arguments in asked]
        assert all(result.is_error for result in results)
        return [result.content[0].text for result in results]  # type: ignore[union-attr]

    unknown, wrong, missing = over_http(server, talk)
    assert "Parameter 'nope' of workflow_get" in unknown
    assert "Parameter 'sid' of workflow_get: it must be text, not a whole number." in wrong
    assert "No workflow 'nobody' is stored" in missing


@pytest.mark.parametrize("name", ["benchmark_gett", "rpc.discover", "x" * 5000])
def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(server: Served, name: str) -> None:
    async def talk(client: Client) -> None:
        await client.call_tool(name, {})

    with pytest.raises((MCPError, ExceptionGroup)) as caught:
        over_http(server, talk)
    error = caught.value
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MCPError)
    assert "There is no tool" in error.message


def test_what_is_no_object_stands_under_result(server: Served) -> None:
    version = server.result("workflow_set", text=ASK.replace("name: ask", "name: never-measured"))["version"]["sid"]

    async def talk(client: Client) -> Any:
        return await called(client, "benchmark_latest_for_version", workflow_version_sid=version)

    assert over_http(server, talk) == {"result": None}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(b"", 400, id="nothing"),
        pytest.param(b"{", 400, id="no JSON"),
        pytest.param(b"[]", 400, id="an empty batch"),
        pytest.param(b'{"jsonrpc": "2.0"}', 400, id="no request"),
    ],
)
def test_what_is_no_request_of_the_protocol_is_refused(server: Served, body: bytes, status: int) -> None:
    assert server.request("POST", "/mcp", body, HEADERS).status == status


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        pytest.param(b'{"x": 1}', -32600, "'jsonrpc' must be \"2.0\"", id="another object"),
        pytest.param(b"[]", -32600, "it is no object", id="a batch"),
        pytest.param(
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]}', -32600, "'params'", id="parameters by position"
        ),
        pytest.param(b'{"jsonrpc": "2.0", "id": null, "method": "tools/list"}', -32600, "'id'", id="null for an id"),
        pytest.param(b'{"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}', -32600, "'id'", id="half a number for an id"),
        pytest.param(b'{"jsonrpc": "2.0", "id": 1, "result": 3}', -32600, "'method'", id="an answer that is none"),
        pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}', -32700, "byte 0xff at position 39", id="no UTF-8"),
    ],
)
def test_what_is_no_message_is_refused_in_words_of_ours(server: Served, body: bytes, code: int, words: str) -> None:
    error = server.request("POST", "/mcp", body, HEADERS).error
    assert error["code"] == code
    assert words in error["message"]
    assert "pydantic" not in str(error)


def test_an_answer_of_a_client_is_taken(server: Served) -> None:
    assert server.request("POST", "/mcp", b'{"jsonrpc": "2.0", "id": 1, "result": {}}', HEADERS).status == 202


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(sorted(OPERATIONS)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "arguments", "sid", "_meta", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)
REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": st.just(1), "method": st.sampled_from(["tools/call", "tools/list", "initialize", "server/discover"])},
    optional={"params": JSON},
)
VERSIONS = st.sampled_from(["", "2025-06-18", "2026-07-28", "tomorrow"])


@settings(max_examples=150)
@given(
    REQUESTS.map(lambda request: json.dumps(request).encode()) | JSON.map(lambda value: json.dumps(value).encode()) | st.binary(), VERSIONS
)
def test_whatever_is_sent_the_server_neither_fails_nor_tells_where(server: Served, body: bytes, version: str) -> None:
    reply = server.request("POST", "/mcp", body, {**HEADERS, **({"MCP-Protocol-Version": version} if version else {})})
    assert reply.status in (200, 202, 400)
    assert b"Traceback" not in reply.body


def test_many_clients_at_once_each_get_their_own_answer(server: Served) -> None:
    async def one(number: int) -> str:
        async with Client(f"{server.url}/mcp") as client:
            return str((await called(client, "workflow_set", text=ASK.replace("name: ask", f"name: ask-{number}")))["name"])

    async def main() -> list[str]:
        return await asyncio.gather(*(one(number) for number in range(12)))

    assert asyncio.run(main()) == [f"ask-{number}" for number in range(12)]


def test_a_body_that_does_not_arrive_is_not_waited_for(tmp_path: Path) -> None:
    with served(Settings(db=str(tmp_path / "store.db"), port=0, limits=Limits(body_s=0.2))) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            head = f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
            connection.sendall(head.encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 408")


def test_without_the_sdk_the_rest_of_the_server_works_and_the_answer_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.streamable_http_manager", None)
    with served(Settings(db=str(tmp_path / "store.db"), port=0)) as server:
        reply = server.request("POST", "/mcp", LIST, HEADERS)
        assert reply.status == 501
        assert reply.error["data"]["remedy"] == "Run: pip install 'flowgauge[mcp]'"
        assert server.result("health")["status"] == "ok"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_over_stdio_a_signal_ends_it_although_stdin_stays_open_and_the_play_is_left_for_the_next(tmp_path: Path, number: int) -> None:
    db = str(tmp_path / "store.db")
    with subprocess.Popen([sys.executable, "-m", "flowgauge", "mcp", "--db", db], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        said(process, 1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
        saved = said(process, 2, "tools/call", name="workflow_set", arguments={"text": ASK.replace("latency_ms: 0", "latency_ms: 60000")})
        asked = {"workflow_sid": saved["structuredContent"]["sid"], "input_data": {"question": "Why?"}}
        play = said(process, 3, "tools/call", name="play_start", arguments=asked)["structuredContent"]
        process.send_signal(number)
        assert process.wait(30) == 0
    with open_store(db, redact=redactor(())) as store:
        assert [left.sid for left in store.abandoned_plays()] == [play["sid"]]


def said(process: subprocess.Popen[bytes], number: int, method: str, **params: Any) -> Any:
    """The result of one request, line by line as a client without the SDK would write it."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + b"\n")
    if method == "initialize":
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    process.stdin.flush()
    answer = msgspec.json.decode(process.stdout.readline())
    assert answer["id"] == number
    return answer["result"]


def test_the_error_of_a_server_without_the_sdk_over_stdio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flowgauge.serve.mcp_tools", None)
    from flowgauge.serve.mcp_stdio import serve_stdio

    with pytest.raises(MissingExtra, match="MCP needs a package"):
        asyncio.run(serve_stdio(None, "run"))
