from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.stage import Played, node, on_stage, run

from flowgauge.model.ports import Tape
from flowgauge.providers.mock.profiles import Script, ScriptedCall, Turn
from flowgauge.providers.recordings.tapes import Recorder, Replayer

PROGRAM = [sys.executable, str(Path(__file__).with_name("mcp_calculator.py"))]


def script(name: str, /, **arguments: Any) -> list[Script]:
    return [Script(match="", turns=(Turn(tool_calls=(ScriptedCall(name=name, arguments=arguments),)), Turn(text="done")))]


def ask(server: dict[str, Any], **tool: Any) -> dict[str, Any]:
    return {"nodes": [node("ai", id="a", prompt="go", retry={"max": 0}, tools=[{"mcp": server, **tool}])]}


@asynccontextmanager
async def over_http() -> AsyncIterator[str]:
    """The same server behind a real port on loopback."""
    import uvicorn
    from tests.nodes.mcp_calculator import server

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        running = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error", lifespan="on"))
        task = asyncio.create_task(running.serve(sockets=[listener]))
        while not running.started:
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            running.should_exit = True
            await task


def told(played: Played) -> str:
    return played.stage.model.requests[1].messages[-1].text


def test_tools_over_stdio() -> None:
    played = run(ask({"command": PROGRAM}), answers=script("add", a=2, b=3))
    assert played.output["a"]["text"] == "done"
    assert told(played) == "sum=5"
    offered = {tool.name: tool for tool in played.stage.model.requests[0].tools}
    assert set(offered) == {"add", "divide", "wait", "variable"}
    assert offered["add"].description == "Add two numbers."
    assert offered["add"].parameters["required"] == ["a", "b"]
    assert [step.name for step in played.run_of("a").steps if step.kind == "tool"] == ["add"]


def test_tools_over_streamable_http() -> None:
    async def scenario() -> Played:
        async with over_http() as url, on_stage(answers=script("add", a=20, b=22)) as stage:
            return Played(await stage.play(ask({"url": url, "tools": ["add"]})), stage)

    played = asyncio.run(scenario())
    assert played.output["a"]["text"] == "done"
    assert told(played) == "sum=42"
    assert [tool.name for tool in played.stage.model.requests[0].tools] == ["add"], "only what is listed is offered"


def test_tool_that_fails_there_is_told_to_the_model() -> None:
    played = run(ask({"command": PROGRAM}), answers=script("divide", a=1, b=0))
    assert played.output["a"]["text"] == "done"
    assert "nobody divides by zero" in told(played)
    assert played.stage.model.requests[1].messages[-1].is_error


def test_tool_that_does_not_answer_is_given_up() -> None:
    played = run(ask({"command": PROGRAM}, timeout_s=2), answers=script("wait"))
    assert played.output["a"]["text"] == "done"
    assert "within 2 s" in told(played)


def test_environment_of_a_server_is_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALC_MODE", "exact")
    monkeypatch.setenv("OTHER_SECRET", "hidden")
    assert told(run(ask({"command": PROGRAM, "env": ["CALC_MODE"]}), answers=script("variable", name="CALC_MODE"))) == "exact"
    assert told(run(ask({"command": PROGRAM}), answers=script("variable", name="OTHER_SECRET"))) == "unset"


@pytest.mark.parametrize(
    ("server", "kind", "words"),
    [
        pytest.param({"command": ["no-such-server"]}, "connection", "no-such-server", id="a program that is not there"),
        pytest.param({"command": [*PROGRAM, "--broken"]}, "connection", "MCP server", id="a program that ends at once"),
        pytest.param({"url": "http://127.0.0.1:9/mcp"}, "connection", "127.0.0.1:9", id="nobody listens"),
        pytest.param({"command": PROGRAM, "tools": ["multiply"]}, "tool_error", "It offers: add", id="a tool that it does not have"),
    ],
)
def test_server_that_cannot_be_used(server: dict[str, Any], kind: str, words: str) -> None:
    error = run(ask(server)).error
    assert (error.kind, words in error.message) == (kind, True), error


def test_what_a_broken_server_said_is_shown() -> None:
    assert "licence has run out" in run(ask({"command": [*PROGRAM, "--broken"]})).error.detail


def test_package_that_is_not_installed_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    error = run(ask({"command": PROGRAM})).error
    assert error.kind == "tool_error"
    assert "pip install 'flowgauge[mcp]'" in error.message


def test_replay_needs_no_server(tmp_path: Path) -> None:
    answers = script("add", a=2, b=3)

    async def once(tape: Tape, program: list[str]) -> Played:
        async with on_stage(answers=answers) as stage:
            stage.services.tape = tape
            return Played(await stage.play(ask({"command": program})), stage)

    with Recorder(tmp_path / "r.jsonl") as recorder:
        recorded = asyncio.run(once(recorder, PROGRAM))
    with Replayer(tmp_path / "r.jsonl") as replayer:
        replayed = asyncio.run(once(replayer, PROGRAM))
        assert replayed.output == recorded.output
        assert not replayed.stage.model.requests
        assert replayed.play.cost_usd == recorded.play.cost_usd
    with Replayer(tmp_path / "r.jsonl") as replayer:
        assert asyncio.run(once(replayer, ["another"])).error.kind == "not_recorded"
