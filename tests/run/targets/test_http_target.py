"""A server as a target: a real one, on loopback."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.run.targets.bench_parts import bench, call, prices

from flowgauge.model.bench import Answer
from flowgauge.run.targets.table import TargetServices, make_target


async def _echo(request: web.Request) -> web.Response:
    seen = {name: request.headers.get(name) for name in ("Idempotency-Key", "Flowgauge-Config")}
    return web.json_response({"body": await request.json(), "query": dict(request.query), "path": request.path, **seen})


async def _report(_request: web.Request) -> web.Response:
    return web.json_response({"output": "yes", "model": "known", "tokens_prompt": 2, "tokens_completion": 1})


async def _text(_request: web.Request) -> web.Response:
    return web.Response(text="plain words")


async def _status(request: web.Request) -> web.Response:
    return web.Response(status=int(request.match_info["code"]), text="because", headers={"Retry-After": "2"})


async def _flood(_request: web.Request) -> web.Response:
    return web.Response(body=b"x" * 5000)


async def _cut(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


def of(path: str, inputs: dict[str, Any] | None = None, config: dict[str, Any] | None = None) -> Answer:
    async def go() -> Answer:
        app = web.Application()
        app.router.add_post("/echo{rest:.*}", _echo)
        app.router.add_post("/report", _report)
        app.router.add_post("/text", _text)
        app.router.add_post("/status/{code}", _status)
        app.router.add_post("/flood", _flood)
        app.router.add_post("/cut", _cut)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        definition = bench("http", f"http://127.0.0.1:{port}{path}", inputs, config)
        try:
            async with aiohttp.ClientSession() as session:

                async def shared() -> aiohttp.ClientSession:
                    return session

                return await call(make_target(definition, TargetServices(http=shared, price=prices)), definition)
        finally:
            await runner.cleanup()

    return asyncio.run(go())


def test_it_is_sent_the_inputs_and_told_config_and_run_id() -> None:
    answer = of("/echo", {"q": "ü"}, {"model": "m→1"})
    assert answer.status == "success"
    assert answer.output["body"] == {"q": "ü"}
    assert answer.output["Idempotency-Key"] == "run-0"
    assert answer.output["Flowgauge-Config"] == '{"model": "m\\u21921"}'
    assert answer.duration_ms > 0


def test_holes_in_the_url_are_filled_with_values_and_nothing_else() -> None:
    answer = of("/echo/{{ who }}?m={{ config.model }}", {"who": "../a/b"}, {"model": "x&y=z#"})
    assert answer.output["query"] == {"m": "x&y=z#"}
    assert answer.output["path"] == "/echo/../a/b"


def test_what_it_reports_is_taken_over() -> None:
    answer = of("/report")
    assert (answer.output, answer.cost_usd, answer.cost_source) == ("yes", 4.0, "computed")


def test_a_body_that_is_no_json_is_the_output() -> None:
    assert of("/text").output == "plain words"


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        pytest.param("/status/404", "failed", "http_status", id="a client's error"),
        pytest.param("/status/429", "failed", "rate_limited", id="too many requests"),
        pytest.param("/status/503", "failed", "provider_error", id="a server's error"),
        pytest.param("/status/408", "timeout", "timeout", id="the server's own time-out"),
        pytest.param("/flood", "failed", "invalid_output", id="too much"),
        pytest.param("/cut", "failed", "connection", id="a connection that breaks"),
    ],
)
def test_what_goes_wrong_is_a_failed_answer(path: str, status: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowgauge.run.targets.http.MAX_BYTES", 1000)
    answer = of(path)
    assert answer.error is not None
    assert (answer.status, answer.error.kind) == (status, kind)


def test_how_long_to_wait_is_kept_with_the_failure() -> None:
    answer = of("/status/429")
    assert answer.error is not None
    assert (answer.error.retry_after_s, answer.error.detail) == (2.0, "because")
