from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from tests.stage import Played, StillClock, node, on_stage


class Server:
    """A real server on loopback; `seen` is what it was sent."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.failures_left = 0
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.text()
        self.seen.append({"method": request.method, "query": dict(request.query), "headers": dict(request.headers), "body": body})
        match request.path:
            case "/json":
                return web.json_response({"ok": True, "asked": body})
            case "/limited" if self.failures_left:
                self.failures_left -= 1
                return web.Response(status=429, headers={"Retry-After": "7"})
            case "/latin":
                return web.Response(body="grüße".encode("latin-1"), headers={"Content-Type": "text/plain; charset=latin-1"})
            case "/odd-charset":
                return web.Response(body=b"plain", headers={"Content-Type": "text/plain; charset=klingon"})
            case "/status":
                return web.Response(status=int(request.query["code"]), text="because")
            case "/big":
                return web.Response(text="x" * 200_000)
            case "/hang":
                await asyncio.sleep(600)
            case "/drop":
                assert request.transport is not None
                request.transport.close()
        return web.Response(text="fine")


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()


def ask(path: str, *, failures: int = 0, clock: StillClock | None = None, **fields: Any) -> tuple[Played, Server]:
    async def scenario() -> tuple[Played, Server]:
        async with serving() as server, on_stage(clock=clock) as stage:
            server.failures_left = failures
            fields.setdefault("retry", {"max": 0})
            workflow = {"inputs": [{"name": "base"}], "nodes": [node("http", id="h", url="{{ inputs.base }}" + path, **fields)]}
            return Played(await stage.play(workflow, {"base": server.url}), stage), server

    return asyncio.run(scenario())


def test_answer_with_json() -> None:
    played, server = ask("/json", method="POST", body={"a": [1, "{{ inputs.base }}"]}, query={"n": 3, "yes": True}, headers={"X-Own": "1"})
    output = played.output["h"]
    assert output["status"] == 200
    assert output["json"]["ok"] is True
    assert output["headers"]["content-type"].startswith("application/json")
    seen = server.seen[0]
    assert seen["query"] == {"n": "3", "yes": "true"}
    assert seen["headers"]["X-Own"] == "1"
    assert seen["headers"]["Content-Type"] == "application/json"
    assert server.url in seen["body"]


def test_text_body_is_sent_as_it_is() -> None:
    played, server = ask("/json", method="PUT", body="raw text")
    assert (server.seen[0]["method"], server.seen[0]["body"]) == ("PUT", "raw text")
    assert played.play.status == "success"


@pytest.mark.parametrize(("path", "text"), [("/latin", "grüße"), ("/odd-charset", "plain")])
def test_charset_of_the_answer(path: str, text: str) -> None:
    assert ask(path)[0].output["h"]["text"] == text


def test_token_comes_from_the_environment_and_is_in_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cr3t-value")
    played, server = ask("/json", bearer_env="MY_TOKEN")
    assert server.seen[0]["headers"]["Authorization"] == "Bearer s3cr3t-value"
    assert "s3cr3t" not in str(played.stage.journal.runs)


@pytest.mark.parametrize(
    ("path", "fields", "kind", "words"),
    [
        pytest.param("/status?code=404", {}, "http_status", "status 404", id="the request's fault"),
        pytest.param("/status?code=503", {}, "provider_error", "status 503", id="the server's fault"),
        pytest.param("/status?code=200", {"expect": [201]}, "http_status", "status 200", id="a success that was not expected"),
        pytest.param("/big", {"max_bytes": 1000}, "invalid_output", "max_bytes", id="too much"),
        pytest.param("/hang", {"timeout_s": 0.1}, "timeout", "0.1", id="no answer in time"),
        pytest.param("/drop", {}, "connection", "http://127", id="the connection breaks"),
        pytest.param("/json", {"bearer_env": "NOT_SET_ANYWHERE"}, "provider_rejected", "NOT_SET_ANYWHERE", id="the token is missing"),
        pytest.param("/json", {"headers": {"X": "a\r\nEvil: 1"}}, "template", "cannot be sent", id="a line break in a header"),
    ],
)
def test_failures(path: str, fields: dict[str, Any], kind: str, words: str) -> None:
    played, _ = ask(path, **fields)
    assert played.error.kind == kind
    assert words in played.error.message


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "http://", "not a url"])
def test_what_is_no_http_url_is_refused(url: str) -> None:
    async def scenario() -> Any:
        async with on_stage() as stage:
            return (await stage.play({"nodes": [node("http", id="h", url=url)]})).error

    error = asyncio.run(scenario())
    assert error.kind == "template"
    assert url in error.message


def test_nobody_listens() -> None:
    async def scenario() -> Any:
        async with on_stage() as stage:
            return (await stage.play({"nodes": [node("http", id="h", url="http://127.0.0.1:9", retry={"max": 0})]})).error

    assert asyncio.run(scenario()).kind == "connection"


def test_status_that_is_expected_is_no_failure() -> None:
    assert ask("/status?code=404", expect=[404])[0].output["h"]["text"] == "because"


def test_retry_after_is_the_least_that_is_waited() -> None:
    clock = StillClock()
    played, server = ask("/limited", failures=2, clock=clock, retry={"max": 2, "backoff_s": 0.5})
    assert played.play.status == "success"
    assert clock.sleeps == [7.0, 7.0]
    assert len(server.seen) == 3
    assert [run.status for run in played.stage.journal.runs] == ["failed", "failed", "success"]
    assert played.run_of("h", 2).backoff_ms == 7000.0
